# SPDX-License-Identifier: Apache-2.0
"""DALI's enumerations, with its numbers; torchdali.types exports them."""

from __future__ import annotations

import enum
import threading
import warnings

__all__ = ["DALIDataType", "DALIImageType", "DALIInterpType", "EvalMode", "PipelineAPIType"]

_NUMPY_CHARACTERS = "BHIQbhiqefd?"  # by the value of DALIDataType


class _Enum(enum.IntEnum):
    """Shows the name where a plain IntEnum shows the number."""

    # Functions of our own: an IntEnum with the __str__ of Enum formats as its number in 3.10.
    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class DALIDataType(_Enum):
    """Type of a tensor's elements, or of an argument."""

    __module__ = "torchdali.types"

    NO_TYPE = -1
    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    UINT64 = 3
    INT8 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    FLOAT16 = 8
    FLOAT = 9
    FLOAT64 = 10
    BOOL = 11
    STRING = 12
    _BOOL_VEC = 13
    _INT32_VEC = 14
    _STRING_VEC = 15
    _FLOAT_VEC = 16
    FEATURE = 17
    _FEATURE_VEC = 18
    _FEATURE_DICT = 19
    IMAGE_TYPE = 20
    DATA_TYPE = 21
    INTERP_TYPE = 22
    TENSOR_LAYOUT = 23
    PYTHON_OBJECT = 24
    _TENSOR_LAYOUT_VEC = 25
    _DATA_TYPE_VEC = 26
    _INT64_VEC = 27

    def __call__(self) -> str:
        """Returns the character that NumPy has for the type, such as "=f"; deprecated.

        The `dtype` of a tensor was a method once, so programs say ``tensor.dtype()``.
        """
        if not 0 <= self < len(_NUMPY_CHARACTERS):
            raise TypeError(f"{self} is not callable")
        warnings.warn("`dtype` is a property, drop the ()", DeprecationWarning, stacklevel=2)
        return f"={_NUMPY_CHARACTERS[self]}"


class DALIImageType(_Enum):
    """Color space and order of channels."""

    __module__ = "torchdali.types"

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class DALIInterpType(_Enum):
    """Filter of a resampling."""

    __module__ = "torchdali.types"

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5


class PipelineAPIType(enum.Enum):
    """Which family of methods a pipeline is driven by; they are not to be mixed."""

    __module__ = "torchdali.types"

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


class EvalMode(enum.Enum):
    """When DALI's dynamic mode evaluates a call: as a context manager, for the current thread.

    The modes `deferred` and `eager` wait until a result is read; the others do not. Results are
    the same.
    """

    __module__ = "torchdali.types"

    deferred = 1
    eager = 2
    sync_cpu = 3
    sync_full = 4
    default = 2

    def __enter__(self) -> EvalMode:
        _modes.entered.append(self)
        return self

    def __exit__(self, exception_type: object, exception: object, traceback: object) -> None:
        _modes.entered.pop()

    @staticmethod
    def current() -> EvalMode:
        """Returns the mode of the current thread."""
        return _modes.entered[-1] if _modes.entered else EvalMode.default


class _Modes(threading.local):
    def __init__(self) -> None:
        self.entered: list[EvalMode] = []


_modes = _Modes()
