# SPDX-License-Identifier: Apache-2.0
"""The pipeline that is being defined (Scope), and the stack of those that are current."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, cast

from torchdali.data_node import DataNode, Guards, OpNode
from torchdali.errors import OutOfRangeError, PipelineError, _make

__all__ = [
    "Runner",
    "Scope",
    "auto_name",
    "check_guards",
    "check_predicate",
    "current_owner",
    "current_scope",
    "foreign",
    "free_names",
    "open_scopes",
    "pop_scope",
    "push_scope",
    "same_node",
]

free_names = itertools.count()


class Runner(Protocol):
    """Runs operators as they are recorded; how a pipeline in debug mode takes part here."""

    def adopt(self, value: Any, *, argument: bool) -> Any:
        """Returns a node for data that was passed instead of one, as an input or an argument."""

    def run(self, node: OpNode) -> tuple[DataNode, ...]:
        """Runs an operator and returns its outputs."""


class Scope:
    """What a pipeline collects while it is current: names and operators that must run.

    Operators know the scope by its token, never the pipeline, so that no cycle keeps one alive.
    """

    __slots__ = ("defaults", "guards", "names", "runner", "sinks", "token")

    def __init__(self) -> None:
        self.token: object | None = object()  # None: its operators may be used anywhere
        self.names = itertools.count()
        self.sinks: list[OpNode] = []
        self.guards: Guards = ()  # of the operators made now
        self.runner: Runner | None = None  # set while operators are to run at once
        # Values of arguments, for operators that have these and are not given them.
        self.defaults: Mapping[str, Any] = {}


class _Stack(threading.local):
    """The pipelines that are current in this thread, innermost last, with their scopes."""

    def __init__(self) -> None:
        self.entries: list[tuple[Scope, Any]] = []


_stack = _Stack()


def push_scope(scope: Scope, owner: Any) -> None:
    """Makes `scope` the current one of this thread."""
    _stack.entries.append((scope, owner))


def pop_scope() -> None:
    """Makes the scope before the current one current again.

    Raises:
        OutOfRangeError: there is none.
    """
    if not _stack.entries:
        raise _make(OutOfRangeError, "Pipeline.pop_current: no pipeline is current")
    _stack.entries.pop()


def open_scopes() -> list[tuple[Scope, Any]]:
    """Returns the stack of this thread that push_scope() and pop_scope() change."""
    return _stack.entries


def current_owner() -> Any:
    """Returns the pipeline that is current in this thread, or None."""
    return _stack.entries[-1][1] if _stack.entries else None


def current_scope() -> Scope | None:
    """Returns what the current pipeline of this thread collects, or None."""
    return _stack.entries[-1][0] if _stack.entries else None


def auto_name(class_name: str, numbers: Iterator[int]) -> str:
    """Returns a name for an operator that the user did not name."""
    return f"__{class_name}_{next(numbers)}"


def same_node(a: DataNode, b: DataNode) -> bool:
    """Returns whether two data nodes are one output of one operator."""
    return a.source is b.source and a.index == b.index


def check_guards(node: DataNode, guards: Guards) -> None:
    """Raises PipelineError if not all samples with these guards have a value of `node`."""
    own = node.source.guards if node.source else ()
    if len(own) <= len(guards) and all(
        same_node(a, b) and holds is also
        for (a, holds), (b, also) in zip(own, guards, strict=False)
    ):
        return
    assert node.source is not None
    raise _make(
        PipelineError,
        f"{node!r} is used outside the branch that created it, where not all samples have it",
        operator=node.source.schema.fn_name,
        location=node.source.location,
        fix="assign it to a variable in both branches, and use that variable",
    )


def check_predicate(node: DataNode) -> None:
    """Raises PipelineError unless a node is known to have a truth value for each sample."""
    if node.source is None or node.source.schema.name != "conditional.predicate":
        raise _make(PipelineError, f"{node!r} decides about samples, but is no predicate")


def foreign(source: OpNode) -> PipelineError:
    """Returns the error for a node that belongs to another pipeline."""
    return cast(
        PipelineError,
        _make(
            PipelineError,
            f"`{source.name}` belongs to another pipeline",
            operator=source.schema.fn_name,
            location=source.location,
            fix="make the operator in the pipeline that uses it",
        ),
    )
