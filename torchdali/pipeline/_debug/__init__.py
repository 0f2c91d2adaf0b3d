# SPDX-License-Identifier: Apache-2.0
"""The pipeline that pipeline_def(debug=True) makes: how it differs from one that is planned.

Its definition is called again in every run, and operators run as they are called (executor.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from torchdali.data_node import DataNode
from torchdali.errors import ArgumentTypeError, PipelineError, UnsupportedError, _make
from torchdali.pipeline._debug.executor import EagerExecutor
from torchdali.pipeline._inspect import InspectedPipeline
from torchdali.tensors import TensorListCPU, TensorListGPU

__all__ = ["DebuggedPipeline"]


class DebuggedPipeline(InspectedPipeline):
    """The part of Pipeline that is different in debug mode.

    Args:
        define: calls the user's function and returns its outputs, nodes or batches.
        **options: of Pipeline.
    """

    _executor: EagerExecutor | None

    def __init__(
        self,
        define: Callable[[], Sequence[DataNode | TensorListCPU | TensorListGPU]],
        **options: Any,
    ) -> None:
        if options.get("checkpoint") is not None:
            raise _make(UnsupportedError, "Pipeline: debug mode cannot go on from a `checkpoint`")
        super().__init__(**options)
        self._definition = define
        self._depth = 1  # a definition that prints must not run ahead

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Prepares the pipeline; the definition is called in run()."""
        if define_graph is not None:
            self._refuse("build(define_graph=...)")
        if self._executor is not None:
            return
        self._check_buildable()
        self._checks_outputs = self._options.declares_outputs
        self._executor = EagerExecutor(
            self._definition,
            self._scope,
            weakref.ref(self),
            batch_size=self.batch_size,
            seed=self._base_seed(),
            device_id=self._options.device_id,
            stream_priority=self._options.default_cuda_stream_priority,
            num_threads=self.num_threads,
            set_affinity=self._options.set_affinity,
        )
        self._nodes, self._names = self._executor.nodes, self._executor.names

    def _know(self) -> None:
        """Calls the definition where no run has shown its operators; run() takes the result."""
        self.build()
        assert self._executor is not None
        if not self._executor.known:
            self._fill(1)

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        self._know()
        assert self._executor is not None
        return self._executor.num_outputs

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Returns the facts about a reader, or a dict of them by name."""
        self._know()
        return super().reader_meta(name)

    def feed_input(
        self,
        data_node: DataNode | str,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Hands one batch to an external source; a run takes one."""
        self.build()
        assert self._executor is not None
        self._inputs_by_name = self._executor.inputs
        name = data_node.name if isinstance(data_node, DataNode) else data_node
        if not self._executor.known and name not in self._inputs_by_name:
            self._executor.feed_early(name, data, layout)
            return
        super().feed_input(name, data, layout, cuda_stream, use_copy_kernel)

    def input_feed_count(self, input_name: str) -> int:
        """Returns how many batches an external source can take in before the first run(): one."""
        if self._executor is not None and self._executor.known:
            self._inputs_by_name = self._executor.inputs
            return super().input_feed_count(input_name)
        return self._depth

    def set_outputs(self, *_output_data_nodes: Any) -> None:
        """Not in debug mode: the outputs are what the function returns."""
        self._refuse("set_outputs()")

    def add_sink(self, edge: DataNode) -> None:
        """Does nothing: all operators that the function calls run.

        Raises:
            ArgumentTypeError: `edge` is no DataNode.
        """
        if not isinstance(edge, DataNode):
            raise _make(ArgumentTypeError, f"add_sink() takes a DataNode, got {edge!r}")

    def executor_statistics(self) -> dict[str, Any]:
        """Returns no figures: operators are not planned together."""
        return {}

    def plan(self) -> NoReturn:
        """Not in debug mode: operators are not planned together."""
        self._refuse("plan()")

    def __enter__(self) -> NoReturn:
        """Not in debug mode: operators run only inside the function."""
        self._refuse("`with pipeline:`")

    def _refuse(self, what: str) -> NoReturn:
        raise _make(
            PipelineError,
            f"Pipeline: {what} does not go with debug mode, which works with the pipeline_def "
            "decorator only",
            fix="leave out debug=True, or say it in the function under pipeline_def",
        )


def _unavailable(name: str) -> Callable[..., NoReturn]:
    def method(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise _make(
            UnsupportedError,
            f"Pipeline: {name}() in debug mode: there is no graph, the definition is called in "
            "every run",
            fix="leave out debug=True",
        )

    method.__doc__ = "Not in debug mode: raises UnsupportedError."
    method.__name__ = name
    return method


for _name in (
    "serialize",
    "deserialize_and_build",
    "checkpoint",
    "save_graph_to_dot_file",
    "stats",
):
    setattr(DebuggedPipeline, _name, _unavailable(_name))
