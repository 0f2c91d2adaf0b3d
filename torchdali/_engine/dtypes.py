# SPDX-License-Identifier: Apache-2.0
"""DALI's constants, and its element types as types of NumPy and torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from torchdali._common.enums import DALIDataType, DALIImageType, DALIInterpType

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
    "FROM_TORCH",
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
FROM_TORCH = {dtype: dali for dali, dtype in _TORCH.items()}
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
        return FROM_TORCH.get(framework_type)
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
