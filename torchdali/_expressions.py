# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on data nodes: each operation is recorded as one operator; the engine fuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torchdali import graph
from torchdali._schema import operator_schema
from torchdali._source_location import SourceLocation, find_user_location
from torchdali.data_node import DataNode, language
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.types import BOOL, FLOAT, INT32, DALIDataType, ScalarConstant, to_dali_type

__all__ = ["apply"]

_INT32 = range(-(1 << 31), 1 << 31)
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


def _constant(value: bool | float, dtype: DALIDataType) -> str:
    """Returns a constant as the engine reads it: "2.5:float32"."""
    name = _TYPE_NAMES[dtype]
    return f"{float(value) if name.startswith('float') else int(value)}:{name}"


def _operand(value: Any, location: SourceLocation | None) -> DataNode | str:
    """Returns an operand as a data node, or as a constant of the engine's."""
    if isinstance(value, DataNode):
        return value
    if isinstance(value, ScalarConstant):
        return _constant(value.value, value.dtype)
    if isinstance(value, (np.generic, np.ndarray, torch.Tensor)) and value.ndim == 0:
        return _constant(value.item(), to_dali_type(value.dtype))
    if isinstance(value, bool):
        return _constant(value, BOOL)
    if isinstance(value, int):
        if value not in _INT32:
            raise _make(
                ArgumentError,
                f"the number {value} does not fit INT32, which numbers in expressions are",
                location=location,
                fix="say which type it has, with types.Constant(value, types.INT64)",
            )
        return _constant(value, INT32)
    if isinstance(value, float):
        return _constant(value, FLOAT)
    raise _make(
        ArgumentTypeError,
        f"an operand of an expression is a DataNode or a number, got {type(value).__name__}",
        location=location,
    )


def apply(operation: str, *operands: Any) -> DataNode:
    """Records one operation of an expression.

    Args:
        operation: DALI's name for it, such as "add" or "sqrt".
        operands: data nodes, of which there is at least one; Python and NumPy numbers,
            ScalarConstants, arrays and lists.

    Raises:
        ArgumentTypeError: an operand cannot be one, or all are constants.
        ArgumentError: an integer that does not fit INT32.
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
    made = graph.create(
        operator_schema("arithmetic"), inputs, {"steps": [" ".join(words)]}, location=location
    )
    assert isinstance(made, DataNode)
    return made


language.arithmetic = apply
