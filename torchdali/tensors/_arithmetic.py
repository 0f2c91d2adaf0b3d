# SPDX-License-Identifier: Apache-2.0
"""Operators such as ``batch + 1`` on batches, which DALI's eager mode turns on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchdali.errors import ArgumentTypeError, _make

__all__ = ["Arithmetic", "arithmetic_of_batches"]


class _Switch:
    """What operators on batches call.

    Attributes:
        apply: called with DALI's name of an operation and its operands; None: they are off.
    """

    def __init__(self) -> None:
        self.apply: Callable[..., Any] | None = None


arithmetic_of_batches = _Switch()


def _apply(operation: str, *operands: Any) -> Any:
    if arithmetic_of_batches.apply is None:
        types = " and ".join(type(one).__name__ for one in operands)
        raise _make(
            ArgumentTypeError,
            f"arithmetic on batches ({operation} of {types}) is off",
            fix="turn it on with torchdali.experimental.eager.arithmetic(), or use torch tensors",
        )
    return arithmetic_of_batches.apply(operation, *operands)


def _binary(operation: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _apply(operation, self, other)


def _reflected(operation: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _apply(operation, other, self)


class Arithmetic:
    """Base of batches. `==` and `!=` compare identities while the operators are off."""

    __slots__ = ()

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("fdiv"), _reflected("fdiv")
    __floordiv__, __rfloordiv__ = _binary("div"), _reflected("div")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __and__, __rand__ = _binary("bitand"), _reflected("bitand")
    __or__, __ror__ = _binary("bitor"), _reflected("bitor")
    __xor__, __rxor__ = _binary("bitxor"), _reflected("bitxor")
    __lt__, __le__ = _binary("lt"), _binary("leq")
    __gt__, __ge__ = _binary("gt"), _binary("geq")

    def __neg__(self) -> Any:
        return _apply("minus", self)

    def __eq__(self, other: object) -> Any:
        on = arithmetic_of_batches.apply is not None
        return _apply("eq", self, other) if on else NotImplemented

    def __ne__(self, other: object) -> Any:
        on = arithmetic_of_batches.apply is not None
        return _apply("neq", self, other) if on else NotImplemented

    __hash__ = object.__hash__
