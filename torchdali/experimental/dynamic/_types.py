# SPDX-License-Identifier: Apache-2.0
"""Element types of the dynamic mode."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable
from typing import Any

from torchdali.errors import ArgumentTypeError, UnsupportedError, _make
from torchdali.types import DALIDataType, to_dali_type

__all__ = [
    "DType",
    "DataType",
    "ImageType",
    "InterpType",
    "bfloat16",
    "bool",
    "dtype",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "set_conversion",
    "type_id",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class DType:
    """An element type. Calling it converts: ``ndd.float32(x)``.

    Args:
        kind: of its values.
        bits: of an element.
        exponent_bits: of a floating-point type.
        significand_bits: likewise.
        bytes: of an element; by default as many as the bits need.
        type_id: DALI's number; None: no operator takes the type.
        name: such as "float32".
        docs: a description.
    """

    class Kind(enum.Enum):
        """What the values of a type are."""

        signed = 1
        unsigned = 2
        float = 3
        bool = 4
        enum = 5

    def __init__(
        self,
        kind: DType.Kind,
        bits: int,
        exponent_bits: int | None = None,
        significand_bits: int | None = None,
        bytes: int | None = None,
        type_id: DALIDataType | None = None,
        name: str | None = None,
        docs: str | None = None,
    ) -> None:
        self.kind, self.bits, self.type_id = kind, bits, type_id
        self.exponent_bits, self.significand_bits = exponent_bits, significand_bits
        self.bytes = (bits + 7) // 8 if bytes is None else bytes
        self.name = name or f"{kind.name}{bits}"
        self.__doc__ = docs or f"The element type {self.name}."

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns data with this element type; see `tensor`, and `cast` for data with a type."""
        return _convert[0](self, *args, **kwargs)

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return (self.kind, self.name, self.type_id) == (other.kind, other.name, other.type_id)
        try:
            return self is _find(other)
        except ArgumentTypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.type_id)

    def __repr__(self) -> str:
        return self.name

    @staticmethod
    def from_type_id(type_id: DALIDataType) -> DType:
        """Returns the type with DALI's number."""
        return _find(type_id)

    @staticmethod
    def from_fw_type(numpy_type: Any) -> DType:
        """Returns the type that a type of NumPy or torch is."""
        return _find(numpy_type)

    @staticmethod
    def parse(name: str) -> DType:
        """Returns the type with a name."""
        return _find(name)


_convert: list[Any] = []  # what conversions call


def set_conversion(convert: Callable[[DType, Any], Any]) -> None:
    """Sets what a DType calls to convert data."""
    _convert[:] = [convert]


def _number(kind: DType.Kind, name: str, dali: DALIDataType, *floating: int) -> DType:
    bits = int("".join(filter(str.isdigit, name)) or 8)
    exponent, significand = floating or (None, None)
    return DType(kind, bits, exponent, significand, None, dali, name)


_SIGNED, _UNSIGNED, _FLOAT = DType.Kind.signed, DType.Kind.unsigned, DType.Kind.float
int8 = _number(_SIGNED, "int8", DALIDataType.INT8)
int16 = _number(_SIGNED, "int16", DALIDataType.INT16)
int32 = _number(_SIGNED, "int32", DALIDataType.INT32)
int64 = _number(_SIGNED, "int64", DALIDataType.INT64)
uint8 = _number(_UNSIGNED, "uint8", DALIDataType.UINT8)
uint16 = _number(_UNSIGNED, "uint16", DALIDataType.UINT16)
uint32 = _number(_UNSIGNED, "uint32", DALIDataType.UINT32)
uint64 = _number(_UNSIGNED, "uint64", DALIDataType.UINT64)
float16 = _number(_FLOAT, "float16", DALIDataType.FLOAT16, 5, 10)
float32 = _number(_FLOAT, "float32", DALIDataType.FLOAT, 8, 23)
float64 = _number(_FLOAT, "float64", DALIDataType.FLOAT64, 11, 52)
bool = _number(DType.Kind.bool, "bool", DALIDataType.BOOL)
bfloat16 = DType(_FLOAT, 16, 8, 7, name="bfloat16", docs="No operator takes it.")
_ENUM = DType.Kind.enum
DataType = DType(_ENUM, 32, type_id=DALIDataType.DATA_TYPE, name="DataType")
ImageType = DType(_ENUM, 32, type_id=DALIDataType.IMAGE_TYPE, name="ImageType")
InterpType = DType(_ENUM, 32, type_id=DALIDataType.INTERP_TYPE, name="InterpType")

_ALL = (
    *(int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64),
    *(bool, bfloat16, DataType, ImageType, InterpType),
)
_BY_TYPE = {one.type_id: one for one in _ALL if one.type_id is not None}
_BY_NAME = {one.name: one for one in _ALL}


def _find(value: Any) -> DType:
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    try:
        return _BY_TYPE[to_dali_type(value)]
    except (TypeError, KeyError) as error:
        raise _make(ArgumentTypeError, f"{value!r} is no element type: {error}") from None


def dtype(*args: Any) -> DType:
    """Returns the type that a DALIDataType, a type of NumPy or torch, or a name stands for.

    Raises:
        ArgumentTypeError: there is no such type.
    """
    if len(args) != 1:
        raise _make(ArgumentTypeError, f"dtype takes one argument, got {len(args)}")
    return _find(args[0])


def type_id(dtype: Any) -> DALIDataType:
    """Returns DALI's number of a type.

    Raises:
        ArgumentTypeError: there is no such type.
        UnsupportedError: no operator takes it.
    """
    found = _find(dtype)
    if found.type_id is None:
        raise _make(UnsupportedError, f"no operator takes elements of type {found.name}")
    return found.type_id
