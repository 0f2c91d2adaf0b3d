# SPDX-License-Identifier: Apache-2.0
"""Python's operators on Tensor and Batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Operations", "connect"]

_apply: list[Callable[..., Any]] = []


def connect(apply: Callable[..., Any]) -> None:
    """Sets what operators call: a function of DALI's name of an operation, and its operands."""
    _apply[:] = [apply]


def _binary(operation: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _apply[0](operation, self, other)


def _reflected(operation: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _apply[0](operation, other, self)


def _unary(operation: str) -> Callable[[Any], Any]:
    return lambda self: _apply[0](operation, self)


class Operations:
    """Arithmetic, comparison and bitwise operators; they work element by element."""

    __slots__ = ()
    __array_ufunc__ = None  # so that `array + tensor` is an operation of the tensor

    __add__ = _binary("add")
    __radd__ = _reflected("add")
    __sub__ = _binary("sub")
    __rsub__ = _reflected("sub")
    __mul__ = _binary("mul")
    __rmul__ = _reflected("mul")
    __truediv__ = _binary("fdiv")
    __rtruediv__ = _reflected("fdiv")
    __floordiv__ = _binary("div")
    __rfloordiv__ = _reflected("div")
    __mod__ = _binary("mod")
    __rmod__ = _reflected("mod")
    __pow__ = _binary("pow")
    __rpow__ = _reflected("pow")
    __lshift__ = _binary("shl")
    __rlshift__ = _reflected("shl")
    __rshift__ = _binary("shr")
    __rrshift__ = _reflected("shr")
    __and__ = _binary("bitand")
    __rand__ = _reflected("bitand")
    __or__ = _binary("bitor")
    __ror__ = _reflected("bitor")
    __xor__ = _binary("bitxor")
    __rxor__ = _reflected("bitxor")
    __lt__ = _binary("lt")
    __le__ = _binary("leq")
    __gt__ = _binary("gt")
    __ge__ = _binary("geq")
    __neg__ = _unary("minus")
    __invert__ = _unary("bitnot")
    __abs__ = _unary("abs")

    def __pos__(self) -> Any:
        return self

    def __eq__(self, other: object) -> Any:
        return _apply[0]("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _apply[0]("neq", self, other)

    __hash__ = object.__hash__
