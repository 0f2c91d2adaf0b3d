# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on data nodes: each operation is recorded as one operator; the engine fuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torchdali._common.enums import DALIDataType
from torchdali._common.location import SourceLocation, find_user_location
from torchdali._engine.scalar import ScalarConstant
from torchdali._engine.schema import operator_schema
from torchdali._graph import record
from torchdali.data_node import DataNode, language
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["apply"]

_INTEGERS = range(-(1 << 63), 1 << 64)
# Element types under the names that the engine gives them.
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


def _operand(value: Any, location: SourceLocation | None) -> DataNode | str:
    """Returns an operand as a data node, or a number as the engine reads it: "2.5:float32"."""
    if isinstance(value, DataNode):
        return value
    is_array = isinstance(value, (np.generic, np.ndarray, torch.Tensor))
    if isinstance(value, (bool, int, float, ScalarConstant)) or (is_array and value.ndim == 0):
        constant = ScalarConstant(value)
        number = constant.value
        if isinstance(number, int) and number not in _INTEGERS:
            raise _make(
                ArgumentError, f"the number {number} does not fit 64 bits", location=location
            )
        text = int(number) if isinstance(number, bool) else number
        return f"{text}:{_TYPE_NAMES[constant.dtype]}"
    node = language.constant(value)
    if node is None:
        raise _make(
            ArgumentTypeError,
            "an operand of an expression is a DataNode, a number, a list of numbers or an array, "
            f"got {type(value).__name__}",
            location=location,
        )
    return node


def apply(operation: str, *operands: Any) -> DataNode:
    """Records one operation of an expression.

    Args:
        operation: DALI's name for it, such as "add" or "sqrt".
        operands: data nodes, of which there is at least one; Python's numbers (BOOL, INT32 or wider
            where they need it, FLOAT), ScalarConstants and scalars of NumPy and torch with their
            types; lists and arrays, which become constant nodes.

    Raises:
        ArgumentTypeError: an operand cannot be one, or all are constants.
        ArgumentError: an integer that does not fit 64 bits.
    """
    location = find_user_location()
    inputs: list[DataNode] = []
    words = [operation]
    for value in operands:
        operand = _operand(value, location)
        if isinstance(operand, str):
            words.append(operand)
        else:
            words.append(f"&{len(inputs)}")
            inputs.append(operand)
    if not inputs:
        raise _make(
            ArgumentTypeError,
            f"an expression has at least one DataNode, got {', '.join(map(repr, operands))}",
            location=location,
            fix="compute what is constant in Python",
        )
    made = record.create(
        operator_schema("arithmetic"), inputs, {"steps": [" ".join(words)]}, location=location
    )
    assert isinstance(made, DataNode)
    return made
