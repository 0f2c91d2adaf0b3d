# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba.cuda on the stream of a pipeline: what numba_function does on the GPU.

With NUMBA_ENABLE_CUDASIM=1 kernels run in Numba's simulator, on the memory of a pipeline that
emulates a GPU (docs/design/gpu.md).
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchdali._common.location import SourceLocation
from torchdali._engine.extension import _C
from torchdali.errors import ArgumentError, UnsupportedError, _make
from torchdali.plugin.numba._compile import (
    OWNER,
    Code,
    _cached,
    _key,
    _numba,
    function_text,
    plain_function,
)
from torchdali.plugin.numba._wrappers import Array

__all__ = ["cuda_kernel"]

_Grid = tuple[tuple[int, ...], tuple[int, ...]]
_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int32, _POINTER, _POINTER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER
)


class _Memory:
    """An array at an address, as NumPy or Numba take it."""

    def __init__(self, address: int, array: Array, shape: tuple[int, ...], name: str) -> None:
        dtype = np.dtype(getattr(np, array.dtype))
        interface = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (address if math.prod(shape) else 0, False),
            "strides": None,
            "version": 3,
        }
        setattr(self, name, interface)


class _Kernel:
    """A kernel of numba.cuda, launched once for each sample."""

    def __init__(self, run_fn: Any, arrays: Sequence[Array], num_outputs: int, grid: _Grid) -> None:
        import numba
        from numba import cuda

        self._cuda, self._arrays, self._num_outputs, self._grid = cuda, arrays, num_outputs, grid
        self._simulated = bool(numba.config.ENABLE_CUDASIM)
        own = hasattr(run_fn, "py_func") and hasattr(run_fn, "__getitem__")  # cuda.jit was there
        self._kernel = run_fn if own else cuda.jit(run_fn)
        self.sample = -1  # in hand

    def launch(
        self, addresses: Sequence[int], extents: Sequence[int], count: int, stream: int, gpu: int
    ) -> None:
        """Queues the kernel for each sample, and waits for nothing.

        Args:
            addresses: of the outputs and inputs of the first sample, then of the next.
            extents: of all these, one after the other.
            count: of samples.
            stream: handle of the stream.
            gpu: its number; -1: emulated on the host.

        Raises:
            UnsupportedError: Numba cannot read the memory.
        """
        self.sample = -1
        if self._simulated != (gpu < 0):
            raise _make(
                UnsupportedError,
                "Numba simulates CUDA (NUMBA_ENABLE_CUDASIM), and the pipeline runs on a GPU"
                if self._simulated
                else "the pipeline emulates a GPU (TORCHDALI_EMULATE_GPU), and Numba would use one",
                fix="set both NUMBA_ENABLE_CUDASIM=1 and TORCHDALI_EMULATE_GPU=1, or none of them",
            )
        with contextlib.ExitStack() as stack:
            queue: Any = 0
            if gpu >= 0:
                stack.enter_context(self._cuda.gpus[gpu])
                queue = self._cuda.external_stream(stream)
            launched = self._kernel[(*self._grid, queue)]
            places, rest = iter(addresses), iter(extents)
            for self.sample in range(count):
                arguments = []
                for array in self._arrays:
                    shape = tuple(itertools.islice(rest, array.ndim))
                    arguments.append(self._array(next(places) or 0, array, shape))
                if all(a.size for a in arguments[: self._num_outputs]):
                    launched(*arguments)

    def _array(self, address: int, array: Array, shape: tuple[int, ...]) -> Any:
        if not self._simulated:
            memory = _Memory(address, array, shape, "__cuda_array_interface__")
            return self._cuda.as_cuda_array(memory, sync=False)
        if not math.prod(shape):
            return np.empty(shape, getattr(np, array.dtype))
        return np.asarray(_Memory(address, array, shape, "__array_interface__"))

    def callback(self) -> Any:
        """Returns a function that the engine calls; csrc/ops/numba_function.cpp."""
        per_sample = sum(array.ndim for array in self._arrays)

        @_LAUNCH  # type: ignore[untyped-decorator]
        def launch(
            data: int, shapes: int, count: int, stream: int | None, gpu: int, text: int, size: int
        ) -> int:
            try:
                addresses = (_POINTER * (len(self._arrays) * count)).from_address(data)
                extents = (_NUMBER * (per_sample * count)).from_address(shapes) if shapes else ()
                # Arrays of ctypes are sequences, which its types do not say.
                self.launch(addresses, extents, count, stream or 0, gpu)  # type: ignore[arg-type]
            except BaseException as error:
                lines = traceback.format_exception_only(error)
                message = "".join(lines).strip().encode("utf-8", "backslashreplace")[: size - 1]
                message = message.decode("utf-8", "ignore").encode()  # no half of a letter
                ctypes.memmove(text, message + b"\0", len(message) + 1)
                return self.sample + 1 if self.sample >= 0 else -1
            return 0

        return launch


def cuda_kernel(
    run_fn: Any,
    arrays: Sequence[Array],
    num_outputs: int,
    *,
    blocks: Sequence[int] | None,
    threads_per_block: Sequence[int] | None,
    location: SourceLocation | None,
) -> Code:
    """Returns what launches ``run_fn(out0, ..., in0, ...)`` for the samples of a batch.

    Numba compiles the kernel at its first launch.

    Args:
        run_fn: a kernel, or a function that numba.cuda.jit can make one of; it must not write to
            its inputs.
        arrays: its arguments, outputs first.
        num_outputs: how many of them are outputs.
        blocks: 3 numbers, the grid.
        threads_per_block: 3 numbers.
        location: of the user's call.

    Raises:
        ArgumentError: the grid is missing.
        ArgumentTypeError: `run_fn` is no function.
        UnsupportedError: there is no Numba.
    """
    function = plain_function(run_fn, "run_fn", location)
    if blocks is None or threads_per_block is None:
        raise _make(
            ArgumentError,
            'device="gpu" needs `blocks` and `threads_per_block`, 3 numbers each',
            operator=OWNER,
            location=location,
        )
    grid = tuple(blocks), tuple(threads_per_block)

    def make() -> Code:
        _numba()
        callback = _Kernel(run_fn, arrays, num_outputs, grid).callback()
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        text = function_text(function)
        return Code(address, _C.code(address, callback, text), text)

    return _cached(("cuda", grid, num_outputs, tuple(arrays), _key(run_fn, function)), make)
