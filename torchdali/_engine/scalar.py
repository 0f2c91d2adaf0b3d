# SPDX-License-Identifier: Apache-2.0
"""ScalarConstant: a number with an element type."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from torchdali._common.enums import DALIDataType, DALIImageType, DALIInterpType
from torchdali._engine.dtypes import (
    BOOL,
    DATA_TYPE,
    FLOAT,
    FLOAT16,
    FLOAT64,
    IMAGE_TYPE,
    INT8,
    INT16,
    INT32,
    INT64,
    INTERP_TYPE,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    to_dali_type,
)

__all__ = ["ScalarConstant"]

_FLOATS = frozenset({FLOAT16, FLOAT, FLOAT64})
_INTS = frozenset({INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64})
_ENUMS: dict[type, DALIDataType] = {
    DALIDataType: DATA_TYPE,
    DALIImageType: IMAGE_TYPE,
    DALIInterpType: INTERP_TYPE,
}


def _smallest(value: bool | float) -> DALIDataType:
    """Returns the type of a Python number or enumerator; an integer is INT32 if that holds it."""
    if type(value) in _ENUMS:
        return _ENUMS[type(value)]
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return FLOAT
    if -(1 << 31) <= value < 1 << 31:
        return INT32
    return INT64 if value < 1 << 63 else UINT64


def _convert_as(dtype: DALIDataType) -> Callable[[ScalarConstant], ScalarConstant]:
    def convert(self: ScalarConstant) -> ScalarConstant:
        return ScalarConstant(self.value, dtype)

    convert.__doc__ = f"Returns the number as {dtype.name}."
    return convert


class ScalarConstant:
    """One number with an element type, as an operand of expressions on data nodes.

    To be made by ``types.Constant``. Where a node is needed (inputs of operators, outputs of the
    pipeline) it becomes one that gives a scalar for each sample.

    Args:
        value: bool, int, float, an enumerator such as ``types.INTERP_NN``, or a scalar of NumPy or
            torch.
        dtype: element type, to which `value` is converted as by Python's ``int()``; None: that of a
            NumPy or torch scalar, DATA_TYPE, IMAGE_TYPE or INTERP_TYPE of enumerators, otherwise
            BOOL, FLOAT, or INT32 (INT64 and UINT64 for numbers that need it).

    Attributes:
        value: the number, a bool, int or float as `dtype` says, or the enumerator.
        dtype: the element type.
        shape: an empty list, as arrays of no dimension have it.

    Raises:
        TypeError: `value` is no number, or `dtype` is not the type of a number.
    """

    __slots__ = ("dtype", "shape", "value")
    value: builtins.bool | int | float

    def __init__(self, value: Any, dtype: DALIDataType | None = None) -> None:
        if isinstance(value, ScalarConstant):
            value, dtype = value.value, value.dtype if dtype is None else dtype
        own = getattr(value, "dtype", None)
        if own is not None and getattr(value, "ndim", 0) == 0:
            value, dtype = value.item(), to_dali_type(own) if dtype is None else dtype
        if not isinstance(value, (builtins.bool, int, float)):
            raise TypeError(f"a ScalarConstant holds bool, int or float, got {value!r}")
        dtype = _smallest(value) if dtype is None else to_dali_type(dtype)
        self.dtype = dtype
        self.shape: list[int] = []
        if _ENUMS.get(type(value)) is dtype:
            self.value = value
            return
        if dtype is not BOOL and dtype not in _INTS and dtype not in _FLOATS:
            raise TypeError(f"a ScalarConstant holds a number, which {dtype} is not")
        kind = builtins.bool if dtype is BOOL else int if dtype in _INTS else float
        self.value = kind(value)

    @property
    def element_type(self) -> DALIDataType:
        """The type of the number in a tensor: INT32 for enumerators, otherwise `dtype`."""
        return INT32 if self.dtype in _ENUMS.values() else self.dtype

    def __eq__(self, other: object) -> Any:
        if isinstance(other, ScalarConstant):
            return self.value == other.value and self.dtype == other.dtype
        return NotImplemented  # a DataNode makes an operator of it

    def __hash__(self) -> int:
        return hash((self.value, self.dtype))

    def __bool__(self) -> builtins.bool:
        return builtins.bool(self._exact("bool"))

    def __int__(self) -> int:
        return int(self._exact("int"))

    def __float__(self) -> float:
        if self.dtype in _FLOATS:
            return float(self.value)
        raise TypeError(f"{self} is no float; convert it with float32() first")

    def _exact(self, wanted: str) -> builtins.bool | int | float:
        if self.dtype in _FLOATS:
            raise TypeError(f"{self} is a float; convert it with bool() or int32() before {wanted}")
        return self.value

    def __str__(self) -> str:
        return f"{self.value}:{self.dtype}"

    def __repr__(self) -> str:
        return f"{self.value}"

    bool = _convert_as(BOOL)
    int8 = _convert_as(INT8)
    int16 = _convert_as(INT16)
    int32 = _convert_as(INT32)
    int64 = _convert_as(INT64)
    uint8 = _convert_as(UINT8)
    uint16 = _convert_as(UINT16)
    uint32 = _convert_as(UINT32)
    uint64 = _convert_as(UINT64)
    float16 = _convert_as(FLOAT16)
    float32 = _convert_as(FLOAT)
    float64 = _convert_as(FLOAT64)
