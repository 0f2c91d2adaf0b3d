# SPDX-License-Identifier: Apache-2.0
"""From a plan to a run: the GPU, the engine and the external sources."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdali._common.bad_samples import lets_samples_fail
from torchdali._common.location import user_stack_level
from torchdali._engine.extension import _C
from torchdali._sources.divided_input import DividedInput
from torchdali._sources.group import SourceGroup
from torchdali._sources.input import Input
from torchdali._sources.inputs import Inputs
from torchdali._sources.parallel_input import ParallelInput
from torchdali.data_node import OpNode
from torchdali.pipeline._compile import Plan
from torchdali.pipeline._device import make_device
from torchdali.pipeline._options import Options
from torchdali.pipeline._processes import WorkerProcesses
from torchdali.pipeline._run import Run

__all__ = ["build_run"]


def build_run(
    plan: Plan,
    options: Options,
    seed: int,
    processes: WorkerProcesses,
    iter_setup: weakref.WeakMethod[Callable[[], None]] | None,
    *,
    guess_layouts: bool = True,
) -> Run:
    """Returns a run of a plan, with its threads started.

    Args:
        plan: the operators that run.
        options: of the pipeline, with batch_size and num_threads.
        seed: that the plan was made for.
        processes: the worker processes, started.
        iter_setup: method of the pipeline that prepares an iteration; None: there is none.
        guess_layouts: whether data without a layout has the default layout of an operator.

    Raises:
        TorchdaliError: the operators cannot run.
    """
    assert options.batch_size is not None
    assert options.threads is not None
    device = make_device(plan.nodes, options.device_id, options.default_cuda_stream_priority)
    executor = _C.Executor(
        processes.engine_nodes(plan),
        plan.outputs,
        batch_size=options.batch_size,
        num_threads=options.threads,
        set_affinity=options.set_affinity,
        memory_stats=options.enable_memory_stats,
        device=None if device is None else device.engine,
        gpu_depth=options.gpu_queue_size if options.exec_separated else 0,
        guess_layouts=guess_layouts,
        on_error=options.on_error or "raise",
    )
    nodes, names = plan.merged(executor.kept, executor.merged_into)
    try:
        inputs = _make_inputs(executor, nodes, names, options, processes, device)
    except BaseException:
        executor.close()
        raise
    return Run(
        executor,
        inputs,
        nodes=nodes,
        names=names,
        num_outputs=len(plan.outputs),
        batch_size=options.batch_size,
        seed=seed,
        depth=options.iterations_in_flight,
        iter_setup=iter_setup,
        check_outputs=options.check_outputs if options.declares_outputs else None,
        lets_samples_fail=lets_samples_fail(options.on_error)
        or any(lets_samples_fail(node.on_error) for node in nodes),
    )


def _make_inputs(
    executor: Any,
    nodes: Sequence[OpNode],
    names: Mapping[int, str],
    options: Options,
    processes: WorkerProcesses,
    device: Any,
) -> Inputs:
    """Returns the external sources: one for all operators that share a SourceGroup."""
    assert options.batch_size is not None
    groups: dict[int, list[OpNode]] = {}
    for node in nodes:
        if isinstance(node.group, SourceGroup):
            groups.setdefault(id(node.group), []).append(node)
        elif node.schema.external:
            groups[id(node)] = [node]
    sources: list[Input] = []
    by_name: dict[str, Input] = {}
    for members in groups.values():
        if members[0].group is None:
            name = names[members[0].ordinal]
            by_name[name] = DividedInput(name, members[0], options.batch_size, executor.divide)
            sources.append(by_name[name])
            continue
        group: SourceGroup = members[0].group
        entries: list[tuple[str, OpNode] | None] = [None] * (group.num_outputs or 1)
        for node in members:
            entries[node.group_index] = (names[node.ordinal], node)
        unused = [i for i, entry in enumerate(entries) if entry is None]
        if unused:
            warnings.warn(
                f"fn.external_source: nothing uses outputs {unused} of {len(entries)}; their "
                f"data is dropped\n  defined at {group.location}",
                stacklevel=user_stack_level(),
            )
        queue = processes.queue_of(group)
        if queue is None:
            may_fail = lets_samples_fail(members[0].on_error, options.on_error)
            source = Input(group, entries, options.batch_size, device, may_fail)
        else:
            source = ParallelInput(group, entries, options.batch_size, *queue)
        sources.append(source)
        by_name.update((name, source) for name, _ in filter(None, entries))
    return Inputs(sources, by_name)
