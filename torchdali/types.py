# SPDX-License-Identifier: Apache-2.0
"""DALI's enumerations and their counterparts in NumPy and torch, constants, layouts, infos."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from torchdali._enums import (
    DALIDataType,
    DALIImageType,
    DALIInterpType,
    EvalMode,
    PipelineAPIType,
)
from torchdali._infos import BatchInfo, CUDAStream, SampleInfo, TensorLayout

if TYPE_CHECKING:  # they record nodes, so they live above, and put themselves here
    from torchdali._constants import Constant, ConstantNode

__all__ = [
    "ANY_DATA",
    "BGR",
    "BOOL",
    "CPU_ONLY_DEVICE_ID",
    "DATA_TYPE",
    "FEATURE",
    "FLOAT",
    "FLOAT16",
    "FLOAT64",
    "GRAY",
    "IMAGE_TYPE",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "INTERP_CUBIC",
    "INTERP_GAUSSIAN",
    "INTERP_LANCZOS3",
    "INTERP_LINEAR",
    "INTERP_NN",
    "INTERP_TRIANGULAR",
    "INTERP_TYPE",
    "NCHW",
    "NFCHW",
    "NFHWC",
    "NHWC",
    "NO_TYPE",
    "PYTHON_OBJECT",
    "RGB",
    "SAME",
    "STRING",
    "TENSOR_LAYOUT",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "BatchInfo",
    "CUDAStream",
    "Constant",
    "ConstantNode",
    "DALIDataType",
    "DALIImageType",
    "DALIInterpType",
    "EvalMode",
    "PipelineAPIType",
    "SampleInfo",
    "ScalarConstant",
    "TensorLayout",
    "YCbCr",
    "dali_type_converters",
    "to_dali_type",
    "to_numpy_type",
    "to_torch_type",
]


NO_TYPE = DALIDataType.NO_TYPE
UINT8 = DALIDataType.UINT8
UINT16 = DALIDataType.UINT16
UINT32 = DALIDataType.UINT32
UINT64 = DALIDataType.UINT64
INT8 = DALIDataType.INT8
INT16 = DALIDataType.INT16
INT32 = DALIDataType.INT32
INT64 = DALIDataType.INT64
FLOAT16 = DALIDataType.FLOAT16
FLOAT = DALIDataType.FLOAT
FLOAT64 = DALIDataType.FLOAT64
BOOL = DALIDataType.BOOL
STRING = DALIDataType.STRING
FEATURE = DALIDataType.FEATURE
IMAGE_TYPE = DALIDataType.IMAGE_TYPE
DATA_TYPE = DALIDataType.DATA_TYPE
INTERP_TYPE = DALIDataType.INTERP_TYPE
TENSOR_LAYOUT = DALIDataType.TENSOR_LAYOUT
PYTHON_OBJECT = DALIDataType.PYTHON_OBJECT

RGB = DALIImageType.RGB
BGR = DALIImageType.BGR
GRAY = DALIImageType.GRAY
YCbCr = DALIImageType.YCbCr
ANY_DATA = DALIImageType.ANY_DATA

INTERP_NN = DALIInterpType.INTERP_NN
INTERP_LINEAR = DALIInterpType.INTERP_LINEAR
INTERP_CUBIC = DALIInterpType.INTERP_CUBIC
INTERP_LANCZOS3 = DALIInterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR = DALIInterpType.INTERP_TRIANGULAR
INTERP_GAUSSIAN = DALIInterpType.INTERP_GAUSSIAN

# Layouts under DALI's old names, which count the batch; a layout does not.
NHWC, NCHW, NFHWC, NFCHW, SAME = "HWC", "CHW", "FHWC", "FCHW", ""

CPU_ONLY_DEVICE_ID = -99999

_TORCH: dict[DALIDataType, torch.dtype] = {
    UINT8: torch.uint8,
    UINT16: torch.uint16,
    UINT32: torch.uint32,
    UINT64: torch.uint64,
    INT8: torch.int8,
    INT16: torch.int16,
    INT32: torch.int32,
    INT64: torch.int64,
    FLOAT16: torch.float16,
    FLOAT: torch.float32,
    FLOAT64: torch.float64,
    BOOL: torch.bool,
}
_NUMPY: dict[DALIDataType, type[Any]] = {
    UINT8: np.uint8,
    UINT16: np.uint16,
    UINT32: np.uint32,
    UINT64: np.uint64,
    INT8: np.int8,
    INT16: np.int16,
    INT32: np.int32,
    INT64: np.int64,
    FLOAT16: np.float16,
    FLOAT: np.float32,
    FLOAT64: np.float64,
    BOOL: np.bool_,
}
_FROM_TORCH = {dtype: dali for dali, dtype in _TORCH.items()}
_FROM_NUMPY = {np.dtype(dtype): dali for dali, dtype in _NUMPY.items()}


def to_numpy_type(dali_type: DALIDataType) -> type[Any]:
    """Returns the NumPy scalar type, such as ``np.float32`` for FLOAT.

    Raises:
        KeyError: `dali_type` is not the type of a tensor's elements.
    """
    return _NUMPY[dali_type]


def to_torch_type(dali_type: DALIDataType) -> torch.dtype:
    """Returns the torch dtype, such as ``torch.float32`` for FLOAT.

    Raises:
        KeyError: `dali_type` is not the type of a tensor's elements.
    """
    return _TORCH[dali_type]


#: Functions that to_dali_type() asks about types that it does not know itself, in order. Each
#: returns the DALIDataType, or raises TypeError; add one to teach it a framework.
dali_type_converters: list[Callable[[Any], DALIDataType]] = []

# C's names, as DALI reads them; NumPy's depend on the platform, and its "float" is double.
_FROM_NAME = {
    **{np.dtype(dtype).name: dali for dali, dtype in _NUMPY.items()},
    "boolean": BOOL,
    "sbyte": INT8,
    "byte": UINT8,
    "ubyte": UINT8,
    "short": INT16,
    "ushort": UINT16,
    "long": INT64,
    "ulong": UINT64,
    "half": FLOAT16,
    "float": FLOAT,
    "double": FLOAT64,
}


def _find_type(framework_type: Any) -> DALIDataType | None:
    if isinstance(framework_type, DALIDataType):
        return framework_type
    if isinstance(framework_type, torch.dtype):
        return _FROM_TORCH.get(framework_type)
    if isinstance(framework_type, str):
        return _FROM_NAME.get(framework_type.rpartition(".")[2])
    # bool is one thing everywhere; int and float are 32 bits wide in DALI, 64 in NumPy and torch.
    if framework_type is bool or (
        isinstance(framework_type, type) and issubclass(framework_type, np.generic)
    ):
        return _FROM_NUMPY.get(np.dtype(framework_type))
    return _FROM_NUMPY.get(framework_type) if isinstance(framework_type, np.dtype) else None


def to_dali_type(framework_type: Any) -> DALIDataType:
    """Returns the DALI type of a NumPy or torch type, or of its name.

    Args:
        framework_type: a ``torch.dtype``, ``np.dtype``, NumPy scalar type, ``bool``, or a name such
            as "uint8" or "torch.uint8"; names of C ("float", "double", "long") are those of DALI:
            FLOAT, FLOAT64, INT64.

    Raises:
        TypeError: DALI has no such type, and none of `dali_type_converters` knows it.
    """
    found = _find_type(framework_type)
    if found is not None:
        return found
    for convert in dali_type_converters:
        try:
            return convert(framework_type)
        except TypeError:
            continue
    hint = "; float and int mean different widths in DALI and NumPy, say which"
    raise TypeError(
        f"{framework_type!r} has no counterpart in DALIDataType"
        f"{hint if framework_type in (int, float) else ''}"
    )


_FLOATS = frozenset({FLOAT16, FLOAT, FLOAT64})
_INTS = frozenset({INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64})


def _smallest(value: bool | float) -> DALIDataType:
    """Returns the type of a Python number: BOOL, FLOAT, INT32 or where that is too small, wider."""
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
        value: bool, int, float, or a scalar of NumPy or torch.
        dtype: element type, to which `value` is converted as by Python's ``int()``; None: that of a
            NumPy or torch scalar, otherwise BOOL, FLOAT, or INT32 (INT64 and UINT64 for numbers
            that need it).

    Attributes:
        value: the number, a bool, int or float as `dtype` says.
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
        if dtype is not BOOL and dtype not in _INTS and dtype not in _FLOATS:
            raise TypeError(f"a ScalarConstant holds a number, which {dtype} is not")
        self.dtype = dtype
        self.shape: list[int] = []
        kind = builtins.bool if dtype is BOOL else int if dtype in _INTS else float
        self.value = kind(value)

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


def __getattr__(name: str) -> Any:
    # What makes nodes is loaded when it is first asked for, and then puts itself here.
    if name in ("Constant", "ConstantNode"):
        return getattr(importlib.import_module("torchdali._constants"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
