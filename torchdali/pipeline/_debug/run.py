# SPDX-License-Identifier: Apache-2.0
"""The run of a pipeline in debug mode, and what it can report."""

from __future__ import annotations

from typing import Any, NoReturn

from torchdali._sources.input import Input
from torchdali._sources.inputs import Inputs
from torchdali._sources.turn import Fed
from torchdali.data_node import DataNode
from torchdali.errors import PipelineError, UnsupportedError, _make
from torchdali.pipeline._debug.executor import EagerExecutor
from torchdali.pipeline._feeding import Feeding, check_fed
from torchdali.pipeline._inspection import Inspection
from torchdali.pipeline._options import Options
from torchdali.pipeline._run import Run

__all__ = ["DebugInspection", "DebugRun", "no_graph"]


class DebugRun(Run):
    """Calls the definition for each iteration. Does not prefetch, since the definition may print.

    The operators, outputs and external sources are known after the first iteration.

    Args:
        executor: calls the definition.
        options: of the pipeline.
        seed: of random operators.
    """

    follows_epoch_plans = False

    def __init__(self, executor: EagerExecutor, options: Options, seed: int) -> None:
        super().__init__(
            executor,
            Inputs(),  # the executor asks the sources itself
            nodes=executor.calls.nodes,
            names=executor.calls.names,
            num_outputs=0,
            batch_size=options.batch_size or 1,
            seed=seed,
            depth=1,
            check_outputs=options.check_outputs if options.declares_outputs else None,
        )
        self._eager = executor
        self.feeding = DebugFeeding(executor)

    def ensure_traced(self) -> None:
        """Runs the first iteration if necessary; next() returns its outputs."""
        if not self._eager.calls.is_traced:
            self.fill(1)

    @property
    def num_outputs(self) -> int:
        """See Run."""
        self.ensure_traced()
        return self._eager.num_outputs

    @property
    def trace_owners(self) -> list[int]:
        """See Run: a profile does not distinguish the engines of single operators."""
        return []

    def _begin_epoch(self, due: int = 0) -> None:
        self._eager.next_epoch = self._epoch + 1
        super()._begin_epoch(due)


class DebugFeeding(Feeding):
    """Feeds the external sources that the definition calls."""

    def __init__(self, executor: EagerExecutor) -> None:
        super().__init__(executor, Inputs(), executor.calls.names, 1)
        self._eager = executor

    @property
    def inputs(self) -> Inputs:
        """See Feeding."""
        by_name = self._eager.inputs
        return Inputs(tuple(dict.fromkeys(by_name.values())), by_name)

    def feed_input(
        self,
        data_node: DataNode | str,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """See Feeding. Before the first iteration, a name may become known later."""
        name = data_node.name if isinstance(data_node, DataNode) else data_node
        if not self._eager.calls.is_traced and self.inputs.find(name) is None:
            check_fed(layout, cuda_stream, use_copy_kernel)
            self._eager.feed_early(name, data, layout, cuda_stream)
        else:
            super().feed_input(data_node, data, layout, cuda_stream, use_copy_kernel)

    def input_feed_count(self, input_name: str) -> int:
        """See Feeding."""
        return super().input_feed_count(input_name) if self._eager.calls.is_traced else self._depth

    def mark(self) -> Any:
        """See Feeding."""
        return super().mark(), self._eager.fed_early

    def fed_since(self, mark: Any) -> list[tuple[Input, Fed]]:
        """See Feeding."""
        return super().fed_since(mark[0])

    def undo(self, mark: Any) -> None:
        """See Feeding."""
        super().undo(mark)
        if not self._eager.calls.is_traced:
            self._eager.fed_early = mark[1]


class DebugInspection(Inspection):
    """Reports readers and operators; there is no plan.

    Args:
        run: of the pipeline.
    """

    def __init__(self, run: DebugRun) -> None:
        super().__init__(run, (), 1)
        self._debug_run = run

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """See Inspection."""
        self._debug_run.ensure_traced()
        return super().reader_meta(name)

    def executor_statistics(self) -> dict[str, Any]:
        """Returns no figures: operators are not planned together."""
        return {}

    def stats(self, reset: bool = False) -> NoReturn:
        """Raises an error: each operator has its own engine."""
        del reset
        raise no_graph("stats")

    def save_graph_to_dot_file(self, *_: Any, **__: Any) -> NoReturn:
        """Raises an error: there is no graph."""
        raise no_graph("save_graph_to_dot_file")

    def plan(self) -> NoReturn:
        """Raises an error: operators are not planned together."""
        raise _make(
            PipelineError,
            "Pipeline: plan() is not possible in debug mode, where the operators that the function "
            "under pipeline_def calls run one by one",
            fix="leave out debug=True",
        )


def no_graph(method: str) -> Exception:
    """Returns the error of a method of Pipeline that describes or stores the graph."""
    return _make(
        UnsupportedError,
        f"Pipeline: {method}() in debug mode: there is no graph, the definition is called in "
        "every run",
        fix="leave out debug=True",
    )
