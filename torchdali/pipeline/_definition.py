# SPDX-License-Identifier: Apache-2.0
"""Definition: the operators and outputs of a pipeline, as the user wrote them."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable
from typing import Any

from torchdali._graph.draw import Picture
from torchdali._graph.pytree import Structure, has_nodes
from torchdali._graph.scope import Scope, check_guards, pop_scope, push_scope
from torchdali.data_node import DataNode, language
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    _make,
)
from torchdali.pipeline._build import build_run
from torchdali.pipeline._compile import Plan, make_plan, reachable
from torchdali.pipeline._inspection import Inspection
from torchdali.pipeline._options import Options
from torchdali.pipeline._processes import WorkerProcesses
from torchdali.pipeline._run import Run

__all__ = ["Definition", "as_output"]

_Define = Callable[[], Any]


class Definition:
    """What a pipeline consists of, before and after it is built.

    Attributes:
        scope: collects the operators that are made while the pipeline is current.
        outputs: of the pipeline; None until they are defined.
        structure: how the function under pipeline_def returned its outputs; None elsewhere.
        make_again: makes another pipeline of the same definition, with other options as keywords;
            None if the definition is not under pipeline_def.
        drawn_seed: the seed of a pipeline that was not given one; None until it is drawn.
        guesses_layouts: whether data without a layout has the default layout of an operator.
        is_built: whether it is too late to change the definition.
    """

    def __init__(self) -> None:
        self.scope = Scope()
        self.outputs: list[DataNode] | None = None
        self.structure: Structure | None = None
        self.make_again: Callable[..., Any] | None = None
        self.drawn_seed: int | None = None
        self.guesses_layouts = True
        self.is_built = False
        self._plan: tuple[int, Plan] | None = None  # with its seed

    # -- the user's calls

    def enter(self, owner: Any) -> None:
        """Makes a pipeline current: operators that are made now belong to this definition."""
        push_scope(self.scope, owner)

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Sets the outputs of the pipeline: data nodes, or constants (numbers, lists, arrays).

        Without outputs, the pipeline runs only for its sinks: operators with side effects, with
        `preserve`, and those of add_sink(). Then run() returns an empty tuple.

        Raises:
            ArgumentTypeError: something is neither; or there are neither outputs nor sinks.
            PipelineError: the pipeline is built already.
        """
        self._check_not_built("set_outputs")
        self._plan = None
        if not output_data_nodes and not self.scope.sinks:
            raise _make(
                ArgumentTypeError,
                "Pipeline: the definition returns no outputs",
                fix="return the data nodes that are the outputs of the pipeline",
            )
        self.outputs = [as_output(i, output) for i, output in enumerate(output_data_nodes)]
        for node in self.outputs:
            check_guards(node, ())

    def add_sink(self, edge: DataNode) -> None:
        """Keeps an operator running although no output needs it."""
        if not isinstance(edge, DataNode) or edge.source is None:
            raise _make(ArgumentTypeError, f"add_sink() takes a DataNode, got {edge!r}")
        self._check_not_built("add_sink")
        self._plan = None
        self.scope.sinks.append(edge.source)

    def _check_not_built(self, method: str) -> None:
        if self.is_built:
            raise _make(PipelineError, f"Pipeline: {method}() after the pipeline was built")

    def define(self, owner: Any, define_graph: _Define | None) -> None:
        """Defines the outputs if that was not done.

        Args:
            owner: the pipeline.
            define_graph: returns the outputs; None: define_graph() of the pipeline.
        """
        if self.outputs is not None:
            if define_graph is not None:
                raise _make(
                    PipelineError, "Pipeline: both `define_graph` and outputs that were set before"
                )
            return
        sinks = list(self.scope.sinks)
        try:
            self.enter(owner)
            try:
                made = (define_graph or owner.define_graph)()
            finally:
                pop_scope()
            self.set_outputs(*_as_outputs(made))
        except BaseException:
            self.scope.sinks[:] = sinks  # a second attempt makes its own
            raise

    def require_graph(self, method: str) -> None:
        """Raises UnsupportedError for a method that needs a graph, in debug mode."""

    # -- from the definition to a run

    def seed(self, options: Options) -> int:
        """Returns the seed that was given, or one that is drawn once."""
        if options.seed is not None:
            return options.seed
        if self.drawn_seed is None:
            self.drawn_seed = secrets.randbits(64)
        return self.drawn_seed

    def plan(self, seed: int) -> Plan:
        """Returns the plan of the operators for a seed; it is made once."""
        assert self.outputs is not None
        if self._plan is None or self._plan[0] != seed:
            self._plan = seed, make_plan(self.outputs, self.scope, seed)
        return self._plan[1]

    def start(
        self,
        owner: Any,
        options: Options,
        seed: int,
        processes: WorkerProcesses,
        iter_setup: weakref.WeakMethod[Callable[[], None]] | None,
    ) -> Run:
        """Returns the run of a definition whose outputs are defined.

        Args:
            owner: the pipeline.
            options: of the pipeline.
            seed: of the random operators without a seed of their own.
            processes: the worker processes; started if necessary.
            iter_setup: method of the pipeline that prepares an iteration; None: there is none.
        """
        del owner
        assert self.outputs is not None
        options.check_num_outputs(len(self.outputs))
        plan = self.plan(seed)
        processes.start(plan, options)
        return build_run(
            plan, options, seed, processes, iter_setup, guess_layouts=self.guesses_layouts
        )

    def inspect(self, run: Run, options: Options) -> Inspection:
        """Returns what describes a run of this definition."""
        return Inspection(run, self.outputs or [], options.threads or 1)

    def picture(self) -> Picture:
        """Returns the graph that was defined so far."""
        outputs = self.outputs or []
        nodes = reachable([n.source for n in outputs if n.source] + self.scope.sinks)
        return Picture(nodes, {node.ordinal: node.name for node in nodes}, outputs)

    def close(self) -> None:
        """Drops the operators."""
        self.outputs, self.make_again, self._plan = None, None, None
        self.scope.sinks.clear()


def as_output(index: int, output: Any) -> DataNode:
    """Returns an output of the pipeline as a node; a constant becomes one."""
    if isinstance(output, DataNode):
        if output.source is None:
            raise _make(ArgumentError, f"output {index}: {output!r} was made by no operator")
        return output
    if has_nodes(output):
        raise _make(
            ArgumentTypeError,
            f"output {index} is a {type(output).__name__}, an output is a DataNode",
            fix="return the outputs as one flat tuple; put * before an operator with several",
        )
    node = language.constant(output)
    if node is None:
        raise _make(
            ArgumentTypeError,
            f"output {index} is a {type(output).__name__}, an output is a DataNode or a constant "
            "(a number, an array, a list of numbers)",
        )
    return node


def _as_outputs(made: Any) -> list[Any]:
    """Returns what a definition returned as a list."""
    if made is None:
        return []
    return list(made) if isinstance(made, (list, tuple)) else [made]
