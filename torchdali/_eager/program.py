# SPDX-License-Identifier: Apache-2.0
"""A graph of operators that runs in the thread that calls it, on tensors that are passed."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from torchdali._eager import devices, settings
from torchdali._engine.extension import _C
from torchdali._engine.schema import operator_schema
from torchdali._graph.scope import Scope, pop_scope, push_scope
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import UnsupportedError, _make
from torchdali.pipeline._compile import engine_node, reachable

__all__ = [
    "Program",
    "derive_seeds",
    "draw_seed",
    "placeholder",
    "recording",
    "release_unused_memory",
]

# Nothing of the CPU's operators is sized by it.
_MOST_SAMPLES = 1 << 30
# The result of a call is often alive until the next one ends.
_KEPT_STORAGES = 2
# Devices, which stand for streams, whose engines a program keeps.
_MOST_DEVICES = 16
_NO_SEEDS = (0,)  # of operators that draw nothing


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.drawn = torch.empty((), dtype=torch.int64)  # the last seed


_of_thread = _OfThread()

_programs: weakref.WeakSet[Program] = weakref.WeakSet()


def release_unused_memory() -> None:
    """Frees what calls have kept for the next calls: engines, with their threads' scratch memory.

    Results that the program holds stay. Later calls are slower once.
    """
    for program in list(_programs):
        program.forget_engines()


os.register_at_fork(after_in_child=release_unused_memory)  # the process has none of the engines


def placeholder(name: str, on_gpu: bool = False) -> DataNode:
    """Returns a node for data that is passed to each run of a program.

    Args:
        name: of the data.
        on_gpu: whether it will be on the GPU that the program runs on.
    """
    source = OpNode(
        schema=operator_schema("external_source"),
        name=name,
        named=True,
        inputs=(),
        arg_inputs={},
        args={},
        seed=None,
        device="gpu" if on_gpu else "cpu",
        preserve=False,
        num_outputs=1,
        location=None,
        scope=None,
    )
    return source.outputs[0]


def draw_seed(generator: torch.Generator | None = None) -> int:
    """Returns a seed drawn from a generator; None: the one that torch.manual_seed() sets.

    Raises:
        UnsupportedError: the generator is on a GPU, for which the CPU would have to wait.
    """
    if generator is not None and generator.device.type != "cpu":
        raise _make(
            UnsupportedError,
            f"seeds are drawn on the CPU, and the generator is on {generator.device}",
            fix="pass a torch.Generator() of the CPU",
        )
    return int(_of_thread.drawn.random_(generator=generator))


def derive_seeds(seed: int, count: int) -> list[int]:
    """Returns the seeds that the random operators of a pipeline with this seed have.

    Args:
        seed: of the pipeline.
        count: of the operators that draw random values.
    """
    return [_C.derive_seed(seed & 0xFFFFFFFFFFFFFFFF, stream) for stream in range(count)]


@contextlib.contextmanager
def recording() -> Iterator[None]:
    """Has operators recorded, inside a `with` statement, that may be used in any program."""
    scope = Scope()
    scope.token = None
    push_scope(scope, None)
    try:
        yield
    finally:
        pop_scope()


class Program:
    """A graph that was compiled. Several threads may run it at the same time.

    Args:
        inputs: placeholders, in the order in which run() takes the data.
        outputs: what is computed from them; at least one, no placeholder.

    Attributes:
        num_random: how many operators draw random values; each takes one seed of a run.
        uses_gpu: whether data or an operator is on a GPU.
    """

    def __init__(self, inputs: Sequence[DataNode], outputs: Sequence[DataNode]) -> None:
        nodes = reachable([node.source for node in outputs if node.source is not None])
        position = {node.ordinal: i for i, node in enumerate(nodes)}

        def edge(node: DataNode) -> tuple[int, int]:
            assert node.source is not None
            return position[node.source.ordinal], node.index

        self.uses_gpu = any(node.device == "gpu" for node in nodes)
        self.num_random = 0
        self._nodes = []
        for i, node in enumerate(nodes):
            self._nodes.append(
                engine_node(
                    node,
                    node.name if node.named else f"__{node.schema.class_name}_{i}",
                    self.num_random if node.schema.random else 0,  # which seed of the run
                    [edge(parent) for parent in node.inputs],
                    {name: edge(parent) for name, parent in node.arg_inputs.items()},
                    [(edge(predicate), value) for predicate, value in node.guards],
                )
            )
            self.num_random += node.schema.random
        self._outputs = [edge(node) for node in outputs]
        # What the outputs do not depend on is not passed on.
        self._names = [
            node.name if node.source is not None and node.source.ordinal in position else None
            for node in inputs
        ]
        # By device, None for the CPU alone: engines that no thread uses now.
        self._idle: dict[Any, list[Any]] = {}
        # By device: threads, and an engine that uses them.
        self._on_threads: dict[Any, tuple[Any, Any]] = {}
        _programs.add(self)

    def forget_engines(self) -> None:
        """Forgets the engines that no thread uses; in a forked process those of the parent."""
        self._idle, self._on_threads = {}, {}

    def run(
        self,
        inputs: Sequence[tuple[Any, str]],
        *,
        batch_size: int = 1,
        seeds: Sequence[int] = (),
        gpu: int = devices.CPU,
    ) -> list[tuple[Any, str]]:
        """Returns (data, layout) of each output.

        The data is a tensor whose first axis is the samples, or a list of tensors if their shapes
        differ.

        Args:
            inputs: (list of tensors, layout) for each placeholder.
            batch_size: number of samples.
            seeds: `num_random` of them.
            gpu: that it runs on, if it uses one: that of the data of placeholders on a GPU.
        """
        if batch_size > 1 and settings.get_num_threads() > 1:
            return self._run_on_threads(self._fed(inputs), batch_size, seeds or _NO_SEEDS, gpu)
        return self._run_here(self._fed(inputs), batch_size, seeds or _NO_SEEDS, False, gpu)

    def run_sample(
        self,
        inputs: Sequence[tuple[torch.Tensor, str]],
        seeds: Sequence[int] = (),
        gpu: int = devices.CPU,
    ) -> list[tuple[torch.Tensor, str]]:
        """Returns (tensor, layout) of each output for one sample.

        Args:
            inputs: (tensor, layout) for each placeholder.
            seeds: `num_random` of them.
            gpu: see run().
        """
        names = self._names
        if len(names) == 1 and names[0] is not None:
            fed = [(names[0], *inputs[0])]
        else:
            fed = self._fed(inputs)
        return self._run_here(fed, 1, seeds or _NO_SEEDS, True, gpu)

    def run_plain(self, tensor: torch.Tensor, layout: str) -> torch.Tensor:
        """Returns the only output, for one sample; of a program with one input and no seeds."""
        engines = self._idle.get(None)
        if not engines or self._names[0] is None:
            return self.run_sample([(tensor, layout)])[0][0]
        try:
            engine = engines.pop()
        except IndexError:  # another thread was faster
            return self.run_sample([(tensor, layout)])[0][0]
        try:
            made: torch.Tensor = engine.run_plain(self._names[0], tensor, layout)
            return made
        finally:
            engines.append(engine)

    def _fed(self, inputs: Sequence[tuple[Any, str]]) -> list[tuple[str, Any, str]]:
        return [
            (name, data, layout)
            for name, (data, layout) in zip(self._names, inputs, strict=True)
            if name is not None
        ]

    def _run_here(
        self, fed: Any, batch_size: int, seeds: Sequence[int], single: bool, gpu: int
    ) -> list[tuple[Any, str]]:
        device = devices.engine_device(gpu) if self.uses_gpu else None
        idle = self._idle.get(device)
        if idle is None:
            self._keep_few(self._idle)
            idle = self._idle.setdefault(device, [])
        try:
            engine = idle.pop()
        except IndexError:
            engine = self._make(device=device, num_threads=1, inline_only=True)
        try:
            made: list[tuple[Any, str]] = engine.run(fed, batch_size, seeds, single)
            return made
        finally:
            idle.append(engine)

    def _run_on_threads(
        self, fed: Any, batch_size: int, seeds: Sequence[int], gpu: int
    ) -> list[tuple[Any, str]]:
        device = devices.engine_device(gpu) if self.uses_gpu else None
        threads = settings.threads()
        with threads.lock:
            known = self._on_threads.get(device)
            if known is None or known[0] is not threads:
                self._keep_few(self._on_threads)
                engine = self._make(
                    device=device, num_threads=threads.count, workers=threads.engine
                )
                known = self._on_threads[device] = threads, engine
            made: list[tuple[Any, str]] = known[1].run(fed, batch_size, seeds, False)
            return made

    def _keep_few(self, engines: dict[Any, Any]) -> None:
        """Forgets engines of streams, which a program may make again and again."""
        if len(engines) >= _MOST_DEVICES:
            engines.clear()

    def _make(self, **options: Any) -> Any:
        return _C.Executor(
            self._nodes,
            self._outputs,
            batch_size=_MOST_SAMPLES,
            kept_storages=_KEPT_STORAGES,
            keeps_more=False,
            **options,
        )
