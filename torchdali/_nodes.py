# SPDX-License-Identifier: Apache-2.0
"""One use of an operator (OpNode), and the pipeline that is being defined (Scope)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

from torchdali._schema import OperatorSchema
from torchdali._source_location import SourceLocation
from torchdali.data_node import DataNode
from torchdali.errors import OutOfRangeError, PipelineError, _make

__all__ = [
    "Guards",
    "OpNode",
    "Runner",
    "Scope",
    "auto_name",
    "check_guards",
    "check_predicate",
    "current_owner",
    "current_scope",
    "foreign",
    "free_names",
    "pop_scope",
    "push_scope",
    "same_node",
]

# Inputs exist before the operators that use them, so this order is topological.
_ordinals = itertools.count()
free_names = itertools.count()


class Runner(Protocol):
    """Runs operators as they are recorded; how a pipeline in debug mode takes part here."""

    def adopt(self, value: Any, *, argument: bool) -> Any:
        """Returns data that stands where a node belongs (or an `argument`'s) as a node."""

    def run(self, node: OpNode) -> tuple[DataNode, ...]:
        """Runs an operator and returns its outputs."""


# Predicates and the values that they have for the samples in hand, outermost first.
Guards: TypeAlias = tuple[tuple[DataNode, bool], ...]


class Scope:
    """What a pipeline collects while it is current: names and operators that must run.

    Operators know the scope by its token, never the pipeline, so that no cycle keeps one alive.
    """

    __slots__ = ("guards", "names", "runner", "sinks", "token")

    def __init__(self) -> None:
        self.token = object()
        self.names = itertools.count()
        self.sinks: list[OpNode] = []
        self.guards: Guards = ()  # of the operators made now
        self.runner: Runner | None = None  # set while operators are to run at once


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


def current_owner() -> Any:
    """Returns the pipeline that is current in this thread, or None."""
    return _stack.entries[-1][1] if _stack.entries else None


def current_scope() -> Scope | None:
    """Returns what the current pipeline of this thread collects, or None."""
    return _stack.entries[-1][0] if _stack.entries else None


@dataclass(frozen=True, eq=False)
class OpNode:
    """One use of an operator, as the user wrote it.

    Attributes:
        schema: what the operator is.
        name: in its pipeline; the user's, or made up.
        named: whether the user gave the name.
        inputs: what its positional inputs are.
        arg_inputs: arguments that are data nodes.
        args: arguments that are constants, as plain values.
        seed: the user's; None: derived from the pipeline's.
        device: "cpu", "gpu" or "mixed".
        preserve: runs although nothing uses its outputs.
        num_outputs: how many data nodes it makes.
        location: the user's line.
        scope: token of the pipeline it belongs to; None where it may be used in any.
        provisional: the name was made up outside a pipeline, and is settled at build.
        ordinal: its place in the order of creation.
        guards: (predicate, value) pairs, outermost first: a sample for which one of them does not
            hold is not processed. Predicates are boolean scalars.
        group: what ties nodes together that get their data from one Python source.
        group_index: which output of the group it is.
    """

    schema: OperatorSchema
    name: str
    named: bool
    inputs: tuple[DataNode, ...]
    arg_inputs: Mapping[str, DataNode]
    args: Mapping[str, Any]
    seed: int | None
    device: str
    preserve: bool
    num_outputs: int
    location: SourceLocation | None
    scope: object | None
    provisional: bool = False
    ordinal: int = field(default_factory=_ordinals.__next__)
    guards: Guards = ()
    group: Any = None
    group_index: int = 0

    @property
    def parents(self) -> tuple[DataNode, ...]:
        """All data nodes that it depends on."""
        return (*self.inputs, *self.arg_inputs.values(), *(node for node, _ in self.guards))

    @property
    def outputs(self) -> tuple[DataNode, ...]:
        """The data nodes that it makes."""
        device = "cpu" if self.device == "cpu" else "gpu"
        declares = self.schema.name in ("constant", "external_source")
        layout = self.args.get("layout") if declares else None
        return tuple(
            DataNode(
                f"{self.name}[{i}]" if self.num_outputs > 1 else self.name,
                device,
                self,
                i,
                layout=layout,
            )
            for i in range(self.num_outputs)
        )

    def __repr__(self) -> str:
        inputs = [node.name for node in self.inputs]
        constants = {**self.args, **({} if self.seed is None else {"seed": self.seed})}
        inputs += [f"{name}={_shown(value)}" for name, value in constants.items()]
        inputs += [f"{name}={node.name}" for name, node in self.arg_inputs.items()]
        where = f"  # {self.location.short()}" if self.location else ""
        return f"{self.name} = {self.schema.fn_name}({', '.join(inputs)}){where}"


def _shown(value: Any) -> str:
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else repr(value)


def auto_name(class_name: str, numbers: Iterator[int]) -> str:
    """Returns a name for an operator that the user did not name."""
    return f"__{class_name}_{next(numbers)}"


def same_node(a: DataNode, b: DataNode) -> bool:
    """Tells whether two data nodes are one output of one operator."""
    return a.source is b.source and a.index == b.index


def check_guards(node: DataNode, guards: Guards) -> None:
    """Raises PipelineError where not all samples with these guards have a value of `node`."""
    own = node.source.guards if node.source else ()
    if len(own) <= len(guards) and all(
        same_node(a, b) and holds is also
        for (a, holds), (b, also) in zip(own, guards, strict=False)
    ):
        return
    assert node.source is not None
    raise _make(
        PipelineError,
        f"{node!r} is used outside the branch of the condition that it was made in, where not all "
        "samples have it",
        operator=node.source.schema.fn_name,
        location=node.source.location,
        fix="assign it to a variable in both branches, and use that variable",
    )


def check_predicate(node: DataNode) -> None:
    """Raises PipelineError where a node is not known to give a truth value for each sample."""
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
