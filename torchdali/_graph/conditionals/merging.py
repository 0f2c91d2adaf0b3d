# SPDX-License-Identifier: Apache-2.0
"""The two branches of a condition become one: variables, containers and data nodes are merged."""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import FrameType
from typing import Any

from torchdali._common.location import SourceLocation, find_user_location
from torchdali._engine.schema import operator_schema
from torchdali._graph import record
from torchdali._graph.conditionals.expressions import RETURNED
from torchdali._graph.constant import constant_node, is_constant
from torchdali._graph.scope import Scope, check_guards, same_node
from torchdali.data_node import DataNode, Guards
from torchdali.errors import (
    ArgumentTypeError,
    PipelineError,
    TorchdaliError,
    UnsupportedError,
    _make,
)

__all__ = ["RETURNED", "Merge", "Undefined", "Values", "make_predicate"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), enum.Enum)


class _Unbound(enum.Enum):
    UNBOUND = 0


_UNBOUND = _Unbound.UNBOUND


class Undefined:
    """Stands in for the value of a variable that has none; `error` makes what its use raises."""

    __slots__ = ("error",)

    def __init__(self, error: Callable[[], Exception]) -> None:
        self.error = error


class _Unassigned(Undefined):
    """Of a variable that had no value before a condition, as Python sees it."""


def _unassigned(name: str) -> Undefined:
    return _Unassigned(lambda: UnboundLocalError(f"variable '{name}' has no value here"))


def make_predicate(
    value: DataNode, expression: str, *, negate: bool = False, numbers: bool = True
) -> DataNode:
    """Returns the truth value of a scalar as a BOOL scalar, checked when the pipeline runs."""
    args = {"expression": expression, "negate": negate, "numbers": numbers}
    if value.device != "cpu":
        raise _make(
            UnsupportedError,
            f"`{expression}` takes a DataNode on the CPU, and {value!r} is on the GPU",
            location=find_user_location(),
            fix="pass .cpu() of it",
        )
    node = record.create(operator_schema("conditional.predicate"), [value], args)
    assert isinstance(node, DataNode)
    return node


class Merge:
    """Where samples part by a predicate, and come together again.

    Attributes:
        guards: of the samples before the branch.
        true_guards: of the samples for which the predicate holds.
        false_guards: of the others.
    """

    def __init__(self, scope: Scope, predicate: DataNode) -> None:
        self.predicate = predicate
        self.guards = scope.guards
        self.true_guards = (*self.guards, (predicate, True))
        self.false_guards = (*self.guards, (predicate, False))
        self._scope = scope

    def constant(self, value: Any) -> DataNode:
        """Returns a constant as a node, which all samples have: it costs less than a guard."""
        guards, self._scope.guards = self._scope.guards, ()
        try:
            return constant_node(value)
        finally:
            self._scope.guards = guards

    def node(self, if_true: DataNode, if_false: DataNode) -> DataNode:
        """Returns the node that has either value. To be called with the guards set to its own."""
        check_guards(if_true, self.true_guards)
        check_guards(if_false, self.false_guards)
        branches = [(if_true, self.true_guards), (if_false, self.false_guards)]
        if "gpu" in (if_true.device, if_false.device):
            branches = [(self._on_gpu(*branch), branch[1]) for branch in branches]
        inputs = [*(node for node, _ in branches), self.predicate]
        merged = record.create(operator_schema("conditional.merge"), inputs, {})
        assert isinstance(merged, DataNode)
        return merged

    def _on_gpu(self, node: DataNode, guards: Guards) -> DataNode:
        """Returns a value of a branch on the GPU, copied for the samples that take the branch."""
        if node.device == "gpu":
            return node
        outside, self._scope.guards = self._scope.guards, guards
        try:
            return record.transfer(node, "gpu", find_user_location())
        finally:
            self._scope.guards = outside

    def value(self, what: str, a: Any, b: Any) -> Any:
        """Returns the value that is `a` if the predicate holds, else `b`.

        Raises:
            ArgumentTypeError: they have no common structure, or are no data.
        """
        if a is b or (_is_node(a) and _is_node(b) and same_node(a, b)):
            return a
        if type(a) is type(b):
            if isinstance(a, dict) and list(a) == list(b):
                return type(a)((key, self.value(f"{what}[{key!r}]", a[key], b[key])) for key in a)
            if isinstance(a, (list, tuple)) and len(a) == len(b):
                pairs = enumerate(zip(a, b, strict=True))
                items = [self.value(f"{what}[{i}]", x, y) for i, (x, y) in pairs]
                return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
            if isinstance(a, _PLAIN) and a == b:
                return a
        if not _is_data(a) or not _is_data(b):
            raise _make(
                ArgumentTypeError,
                f"{what} is {_described(a)} in one branch of a condition on a DataNode and "
                f"{_described(b)} in the other; both have one structure and hold data",
                location=find_user_location(),
                fix="give it DataNodes, numbers or arrays in both branches, or lists, tuples or "
                "dicts of them with the same length and keys",
            )
        return self.node(
            a if _is_node(a) else self.constant(a), b if _is_node(b) else self.constant(b)
        )

    def variables(
        self, if_true: dict[Any, Any], if_false: dict[Any, Any], location: SourceLocation | None
    ) -> dict[Any, Any]:
        """Returns the values of variables after the branches, given those at their ends."""
        returns = if_true.get(RETURNED), if_false.get(RETURNED)
        merged = {}
        for key, a in if_true.items():
            b = if_false[key]
            if not isinstance(key, str):
                merged[key] = self._in_place(key, a, b, location)
            elif key == RETURNED:
                merged[key] = self._returned(a, b, location)
            elif key.startswith("_torchdali_"):
                merged[key] = _jump(a, b, location)
            elif all(returns):
                merged[key] = _unassigned(key)  # nothing follows that could use it
            else:
                merged[key] = self._variable(key, a, b, location)
        return merged

    def _variable(self, name: str, a: Any, b: Any, location: SourceLocation | None) -> Any:
        """Returns the merged value of a variable; its use raises if there is none."""
        if a is _UNBOUND and b is _UNBOUND:
            return _unassigned(name)
        for value in (a, b):
            if isinstance(value, Undefined):
                return value  # a condition inside the branch left it so
        if a is _UNBOUND or b is _UNBOUND:
            return Undefined(lambda: _one_sided(name, a is _UNBOUND, location))
        try:
            return self.value(f"`{name}`", a, b)
        except ArgumentTypeError as error:
            kept = error.with_traceback(None)
            return Undefined(lambda: kept)

    def _in_place(self, key: Any, a: Any, b: Any, location: SourceLocation | None) -> Any:
        what = f"`{key.what}`"
        if a is _UNBOUND or b is _UNBOUND:
            if a is b:
                return a
            raise _one_sided(key.what, a is _UNBOUND, location)
        return self.value(what, a, b)

    def _returned(self, a: Any, b: Any, location: SourceLocation | None) -> Any:
        if a is None and b is None:
            return None
        if a is None or b is None:
            raise _make(
                PipelineError,
                "one branch of a condition on a DataNode returns and the other does not",
                location=location,
                fix="return in both branches, and not inside a loop, `with` or `try`",
            )
        return type(a)(self.value("the returned value", a.value, b.value))


def _jump(a: Any, b: Any, location: SourceLocation | None) -> Any:
    if a == b:
        return a
    raise _make(
        UnsupportedError,
        f"`{a or b}` depends on a DataNode: the loop runs while the pipeline is defined, once "
        "for all samples",
        location=location,
        fix="compute in a branch of the `if` what is to be left out for some samples",
    )


def _one_sided(name: str, missing_if_true: bool, location: SourceLocation | None) -> TorchdaliError:
    branch = "if" if missing_if_true else "else"
    return _make(
        PipelineError,
        f"`{name}` has a value after one branch of a condition on a DataNode only",
        location=location,
        fix=f"assign it before the condition, or in the `{branch}` branch as well",
    )


def _is_node(value: Any) -> bool:
    return isinstance(value, DataNode)


def _is_data(value: Any) -> bool:
    return _is_node(value) or (is_constant(value) and not isinstance(value, (list, tuple)))


def _described(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(map(repr, value)) or 'nothing'}"
    return "a DataNode" if _is_node(value) else f"{type(value).__name__} ({str(value)[:40]!r})"


class _Place:
    """An attribute or a container that a branch changes in place."""

    def __init__(self, holder: Any, name: str | None, what: str) -> None:
        self.holder, self.name, self.what = holder, name, what

    def read(self) -> Any:
        if self.name is not None:
            return getattr(self.holder, self.name, _UNBOUND)
        return type(self.holder)(self.holder)

    def write(self, value: Any) -> None:
        if self.name is None:
            self.holder.clear()
            (self.holder.update if isinstance(self.holder, dict) else self.holder.extend)(value)
        elif value is not _UNBOUND:
            setattr(self.holder, self.name, value)
        elif self.name in getattr(self.holder, "__dict__", ()):
            delattr(self.holder, self.name)


class Values:
    """What the branches of a condition assign: its values before, and after each of them."""

    def __init__(
        self,
        frame: FrameType,
        names: tuple[str, ...],
        globals_: tuple[str, ...],
        attributes: tuple[tuple[str, ...], ...],
        items: tuple[tuple[str, ...], ...],
    ) -> None:
        self._names, self._globals = names, globals_
        self._places = []
        for path in attributes:
            holder = _resolve(frame, path[:-1])
            if holder is not _UNBOUND:
                self._places.append(_Place(holder, path[-1], ".".join(path)))
        for path in items:
            holder = _resolve(frame, path)
            if type(holder) in (list, dict):
                self._places.append(_Place(holder, None, ".".join(path)))
        self._initial = self.read(frame)

    def read(self, frame: FrameType) -> dict[Any, Any]:
        """Returns the values now, by name and by place."""
        local, global_ = frame.f_locals, frame.f_globals
        values: dict[Any, Any] = {}
        for name in self._names:
            value = (global_ if name in self._globals else local).get(name, _UNBOUND)
            values[name] = _UNBOUND if isinstance(value, _Unassigned) else value
        values.update((place, place.read()) for place in self._places)
        return values

    def restore(self) -> tuple[Any, ...]:
        """Puts places back to the values before the branches; returns those of the variables."""
        return self.write(self._initial)

    def write(self, values: dict[Any, Any]) -> tuple[Any, ...]:
        """Puts values into the places; returns those of the variables."""
        for place in self._places:
            place.write(values[place])
        found = ((name, values[name]) for name in self._names)
        return tuple(_unassigned(name) if value is _UNBOUND else value for name, value in found)


def _resolve(frame: FrameType, path: tuple[str, ...]) -> Any:
    value = frame.f_locals.get(path[0], frame.f_globals.get(path[0], _UNBOUND))
    for name in path[1:]:
        value = _UNBOUND if value is _UNBOUND else getattr(value, name, _UNBOUND)
    return value
