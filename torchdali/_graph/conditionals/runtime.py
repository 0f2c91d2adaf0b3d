# SPDX-License-Identifier: Apache-2.0
"""What rewritten code calls: conditions that are data nodes trace both branches and merge them.

Where no data node is involved everything here does what Python does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from torchdali._common.location import find_user_location
from torchdali._graph.conditionals import source
from torchdali._graph.conditionals.merging import Merge, Undefined, Values, make_predicate
from torchdali._graph.scope import Scope, current_scope
from torchdali.data_node import DataNode, Guards
from torchdali.errors import ArgumentTypeError, UnsupportedError, _make

__all__ = [
    "Branches",
    "Choice",
    "Logical",
    "Returned",
    "back",
    "call",
    "mark",
    "not_",
    "use",
]


def call(function: Any) -> Any:
    """Returns what to call in place of `function`."""
    return source.converted(function, sys.modules[__name__])


def use(value: Any) -> Any:
    """Returns the value of a variable; raises if a condition left it without one."""
    if isinstance(value, Undefined):
        raise value.error()
    return value


def not_(value: Any) -> Any:
    """Returns `not value`."""
    if isinstance(value, DataNode):
        return make_predicate(value, "not", negate=True)
    return not value


class Returned:
    """What a branch returned."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def mark() -> tuple[Scope, Guards] | None:
    """Returns in which branch the code is."""
    scope = current_scope()
    return None if scope is None else (scope, scope.guards)


def back(to: tuple[Scope, Guards] | None) -> None:
    """Leaves branches that an exception has ended."""
    if to is not None:
        to[0].guards = to[1]


def _scope(what: str) -> Scope:
    scope = current_scope()
    if scope is None:
        raise _make(
            UnsupportedError,
            f"`{what}` on a DataNode needs a pipeline to be current",
            location=find_user_location(),
            fix="call the function inside the pipeline's definition",
        )
    return scope


class Branches:
    """State of an if/elif/else; iterating makes one pass for each branch that samples may take.

    A test that is no data node decides as in Python. One that is a data node is true in its pass,
    and false in those that follow. After the last pass the variables are merged.

    Attributes:
        traced: a test was a data node.
        again: the pass is not the first.
        before: the variables as they were before the first pass.
        merged: the variables after the last pass.
    """

    __slots__ = (
        "_globals",
        "_guards",
        "_merges",
        "_names",
        "_open",
        "_paths",
        "_scope",
        "_tested",
        "_values",
        "again",
        "before",
        "merged",
        "traced",
    )

    def __init__(
        self,
        names: tuple[str, ...],
        globals_: tuple[str, ...],
        attributes: tuple[tuple[str, ...], ...],
        items: tuple[tuple[str, ...], ...],
    ) -> None:
        self.traced = self.again = False
        self.before: tuple[Any, ...] = ()
        self.merged: tuple[Any, ...] = ()
        self._names, self._globals, self._paths = names, globals_, (attributes, items)
        self._tested = 0
        self._open: DataNode | None = None  # the predicate that is true in this pass
        self._merges: list[tuple[Merge, dict[Any, Any]]] = []

    def __iter__(self) -> Iterator[None]:
        try:
            while True:
                yield None
                if self._open is None:
                    break
                self._next(sys._getframe(1))
            if self.traced:
                self._finish(sys._getframe(1))
        finally:
            if self.traced:
                self._scope.guards = self._guards

    def pending(self, position: int) -> bool:
        """Returns whether a test of the chain has yet to be evaluated."""
        return position >= self._tested

    def test(self, value: Any) -> Any:
        """Takes the value of the next test; returns whether the branch is to run."""
        self._tested += 1
        if not isinstance(value, DataNode):
            return value
        if not self.traced:
            self._scope = _scope("if")
            self._guards = self._scope.guards
            self._values = Values(sys._getframe(1), self._names, self._globals, *self._paths)
            self.traced = True
        self._open = make_predicate(value, "if")
        self._merges.append((Merge(self._scope, self._open), {}))
        self._scope.guards = self._merges[-1][0].true_guards
        return True

    def suspends(self, value: Any) -> Any:
        """Returns what is yielded or awaited; raises inside a branch."""
        if self.traced:
            raise _make(
                UnsupportedError,
                "`yield` and `await` cannot be used in a branch of a condition on a DataNode",
                location=find_user_location(),
                fix="move them after the `if`",
            )
        return value

    def _next(self, frame: FrameType) -> None:
        """Goes on to the samples for which the predicate of this pass is false."""
        merge, values = self._merges[-1]
        values.update(self._values.read(frame))
        self._scope.guards = merge.false_guards
        self._open = None
        self.again = True
        self.before = self._values.restore()

    def _finish(self, frame: FrameType) -> None:
        values = self._values.read(frame)
        location = find_user_location()
        for merge, if_true in reversed(self._merges):
            self._scope.guards = merge.guards
            values = merge.variables(if_true, values, location)
        self.merged = self._values.write(values)


class Logical:
    """State of `and` or `or`.

    Attributes:
        left: value of the expression if the right side is not evaluated.
        goes_on: whether the right side is evaluated.
    """

    __slots__ = ("_kind", "_merge", "_scope", "goes_on", "left")

    def __init__(self, kind: str, left: Any) -> None:
        self._kind, self.left = kind, left
        self._merge: Merge | None = None
        if not isinstance(left, DataNode):
            self.goes_on = bool(left) == (kind == "and")
            return
        self._scope = _scope(kind)
        self._merge = Merge(self._scope, make_predicate(left, kind, numbers=False))
        takes_true = kind == "and"
        self._scope.guards = self._merge.true_guards if takes_true else self._merge.false_guards
        self.goes_on = True

    def right(self, value: Any) -> Any:
        """Takes the right side; returns the value of the expression."""
        merge = self._merge
        if merge is None:
            return value
        if not isinstance(value, DataNode):
            if not isinstance(value, bool) and type(value).__name__ != "bool_":
                raise _make(
                    ArgumentTypeError,
                    f"`{self._kind}` takes bool on both sides, got {type(value).__name__}",
                    location=find_user_location(),
                )
            value = merge.constant(bool(value))
        right = make_predicate(value, self._kind, numbers=False)
        self._scope.guards = merge.guards
        if self._kind == "and":
            return merge.node(right, merge.predicate)
        return merge.node(merge.predicate, right)

    def lazily(self, right: Callable[[], Any]) -> Any:
        """Returns the value of the expression, in places that do not allow `:=`."""
        return self.right(right()) if self.goes_on else self.left


class Choice:
    """State of `a if p else b`."""

    __slots__ = ("_merge", "_scope", "_taken")

    def __init__(self, test: Any) -> None:
        self._merge: Merge | None = None
        if isinstance(test, DataNode):
            self._scope = _scope("if")
            self._merge = Merge(self._scope, make_predicate(test, "if"))
        else:
            self._taken = bool(test)

    def if_true(self) -> bool:
        """Returns whether to evaluate the first arm."""
        if self._merge is None:
            return self._taken
        self._scope.guards = self._merge.true_guards
        return True

    def if_false(self) -> bool:
        """Returns whether to evaluate the second arm."""
        if self._merge is None:
            return not self._taken
        self._scope.guards = self._merge.false_guards
        return True

    def merged(self, if_true: Any, if_false: Any) -> Any:
        """Takes the arms that were evaluated; returns the value of the expression."""
        if self._merge is None:
            return if_true if self._taken else if_false
        self._scope.guards = self._merge.guards
        return self._merge.value("the expression", if_true, if_false)

    def lazily(self, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
        """Returns the value of the expression, in places that do not allow `:=`."""
        a = if_true() if self.if_true() else None
        return self.merged(a, if_false() if self.if_false() else None)
