# SPDX-License-Identifier: Apache-2.0
"""What of Numba is needed to call compiled code from the engine. Imports Numba.

A function that Numba has compiled is called as ``int32 f(result*, error**, arguments...)``: it
returns 0 or a code, and `error` has the exception, if one was raised. So the engine needs no
interpreter to call one, and an exception is not lost, as it is in a ``cfunc``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.callconv import excinfo_ptr_t, int32_t
from numba.core.types.containers import List
from numba.extending import intrinsic

__all__ = ["List", "address", "array_type", "compiled_address", "frozen", "reraise"]


@intrinsic  # type: ignore[untyped-decorator]
def address(_context: Any, _number: Any) -> Any:
    """Returns a number as a pointer."""

    def generate(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def frozen(_context: Any, array: Any) -> Any:
    """Returns the array as one that cannot be written to; a function that does fails to compile."""

    def generate(_target: Any, _builder: Any, _signature: Any, args: Any) -> Any:
        return args[0]

    return array.copy(readonly=True)(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def _return_error(_context: Any, _code: Any, _error: Any) -> Any:
    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        convention = target.call_conv
        code = builder.trunc(args[0], int32_t)
        pointer = builder.inttoptr(args[1], excinfo_ptr_t)
        builder.store(pointer, convention._get_excinfo_argument(builder.function))
        with builder.if_then(builder.icmp_signed("!=", code, int32_t(0))):
            convention._return_errcode_raw(builder, code)
        return target.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@numba.njit(["void(int64, int64)"])  # type: ignore[untyped-decorator]
def reraise(code: int, error: int) -> None:
    """Raises the exception that compiled code ended with, from what it left; frees that."""
    _return_error(code, error)


def array_type(dtype: str, ndim: int, *, writable: bool) -> Any:
    """Returns Numba's type of an array in C order."""
    return types.Array(numba.from_dtype(np.dtype(dtype)), ndim, "C", readonly=not writable)


def compiled_address(dispatcher: Any, arguments: Sequence[Any]) -> int:
    """Compiles for the types and returns the address of the code, which `dispatcher` keeps."""
    dispatcher.compile(tuple(arguments))
    result = dispatcher.overloads[tuple(arguments)]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))
