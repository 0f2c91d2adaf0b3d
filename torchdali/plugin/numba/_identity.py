# SPDX-License-Identifier: Apache-2.0
"""When two functions are the same to a compiler: what decides whether one is compiled again.

Compiled code holds the values of globals and of enclosing functions as they were. So they belong to
what a function is, and a function that every call of a definition makes again is the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

__all__ = ["fingerprint"]

_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


class _Identity:
    """Equal to itself alone; keeps the object, whose address is then no other's."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _value(value: Any) -> Any:
    if type(value) in _SIMPLE:
        return type(value), repr(value)  # tells 0.0 from -0.0; NaN is equal to itself
    if type(value) is tuple:
        return tuple(map(_value, value))
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        data = hashlib.sha256(value.tobytes()).digest()
        return value.dtype.str, value.shape, data
    return _Identity(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _cell(cell: Any) -> Any:
    try:
        return _value(cell.cell_contents)
    except ValueError:  # not assigned yet
        return None


def fingerprint(function: FunctionType) -> Any:
    """Returns a key that is equal for functions that compile to the same code."""
    code, names = function.__code__, function.__globals__
    return (
        code,
        code.co_filename,
        tuple(map(_cell, function.__closure__ or ())),
        _value(function.__defaults__),
        tuple((n, _value(names[n])) for n in sorted(set(_names(code))) if n in names),
    )
