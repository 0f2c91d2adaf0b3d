# SPDX-License-Identifier: Apache-2.0
"""The steps of expressions: what arithmetic on data nodes records, and its form as text.

Text is for documents and ``repr()``: ``"sub &0 127.5:float32"`` is an operation under DALI's name,
input 0, and a constant with its type; ``%0`` is the result of step 0. The engine takes the tuples.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchdali._common.enums import DALIDataType

__all__ = ["INTEGERS", "Operand", "Step", "constant_operand", "input_operand", "parse_step"]

# The range of constants.
INTEGERS = range(-(1 << 63), 1 << 64)

# The engine's names of element types.
_TYPE_NAMES = {
    DALIDataType.UINT8: "uint8",
    DALIDataType.UINT16: "uint16",
    DALIDataType.UINT32: "uint32",
    DALIDataType.UINT64: "uint64",
    DALIDataType.INT8: "int8",
    DALIDataType.INT16: "int16",
    DALIDataType.INT32: "int32",
    DALIDataType.INT64: "int64",
    DALIDataType.FLOAT16: "float16",
    DALIDataType.FLOAT: "float32",
    DALIDataType.FLOAT64: "float64",
    DALIDataType.BOOL: "bool",
}
_TYPES = {name: dtype for dtype, name in _TYPE_NAMES.items()}
_FLOATS = {DALIDataType.FLOAT16, DALIDataType.FLOAT, DALIDataType.FLOAT64}
_SIGNS = {"input": "&", "step": "%"}
_INDEX = re.compile(r"([&%])([0-9]{1,6})", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


class Operand(NamedTuple):
    """An operand of a step.

    Attributes:
        kind: "input", "step" (the result of an earlier one) or "constant".
        value: the index of the input or step, or the number.
        dtype: the type of a constant, a number of DALIDataType.
    """

    kind: str
    value: int | float
    dtype: int = -1

    def __str__(self) -> str:
        if self.kind == "constant":
            return f"{self.value}:{_TYPE_NAMES[DALIDataType(self.dtype)]}"
        return f"{_SIGNS[self.kind]}{self.value}"


class Step(NamedTuple):
    """One operation of an expression.

    Attributes:
        operation: DALI's name for it, such as "add".
        operands: as many as the operation takes.
    """

    operation: str
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        return " ".join([self.operation, *map(str, self.operands)])

    def __repr__(self) -> str:
        return repr(str(self))


def input_operand(index: int) -> Operand:
    """Returns input `index` as an operand."""
    return Operand("input", index)


def constant_operand(value: bool | float, dtype: DALIDataType) -> Operand:
    """Returns a number as an operand.

    Raises:
        ValueError: an integer does not fit 64 bits.
    """
    number = int(value) if isinstance(value, int) else value  # of booleans and enumerators
    if isinstance(number, int) and number not in INTEGERS:
        raise ValueError(f"the number {number} does not fit 64 bits")
    return Operand("constant", number, int(dtype))


def parse_step(text: str) -> Step:
    """Returns the step that `text` describes.

    Raises:
        ValueError: it describes none. The engine checks whether inputs, steps and operations exist.
    """
    operation, *words = text.split(" ")
    return Step(operation, tuple(map(_parse_operand, words)))


def _parse_operand(word: str) -> Operand:
    if index := _INDEX.fullmatch(word):
        sign, digits = index.groups()
        return Operand("input" if sign == "&" else "step", int(digits))
    number, _, name = word.partition(":")
    if name not in _TYPES:
        raise ValueError(f'"{word}" is no operand')
    dtype = _TYPES[name]
    if dtype in _FLOATS:
        return constant_operand(float(number), dtype)
    if not _INTEGER.fullmatch(number):
        raise ValueError(f'"{number}" is no integer')
    return constant_operand(int(number), dtype)
