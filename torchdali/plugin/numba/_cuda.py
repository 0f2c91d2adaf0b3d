# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba.cuda on a stream: what numba_function does where a pipeline has GPU stages.

Samples are whatever has ``__cuda_array_interface__`` or DLPack. The setup function runs on the
host. With NUMBA_ENABLE_CUDASIM=1 kernels run in Numba's simulator, on NumPy arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from torchdali._source_location import SourceLocation
from torchdali.errors import ArgumentError, PipelineError, _make
from torchdali.plugin.numba._compile import (
    OWNER,
    Code,
    compile_setup,
    exception_text,
    function_text,
    plain_function,
)
from torchdali.plugin.numba._wrappers import Array

__all__ = ["CudaKernel", "call_setup"]

Shape = tuple[int, ...]


def call_setup(
    code: Code,
    outs_ndim: Sequence[int],
    in_shapes: Sequence[Sequence[Shape]],
    location: SourceLocation | None,
) -> list[list[Shape]]:
    """Returns the shapes that a setup function gives.

    Args:
        code: from compile_setup().
        outs_ndim: dimensions of the outputs.
        in_shapes: for each input, of all samples.
        location: of the user's call.

    Raises:
        PipelineError: the function raises.
        ArgumentError: it gives a negative extent.
    """
    count = len(in_shapes[0])
    ins = np.array([e for of_input in in_shapes for s in of_input for e in s] or [0], np.int64)
    outs = np.zeros(max(count * sum(outs_ndim), 1), np.int64)
    error = ctypes.c_void_p()
    result = ctypes.c_int64()
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    function = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, number, number, number)
    status = function(code.address)(
        ctypes.addressof(result),
        ctypes.addressof(error),
        outs.ctypes.data,
        ins.ctypes.data,
        count,
    )
    if status not in (0, -2):  # as in csrc/ops/numba_function.cpp
        raised = exception_text(status, error.value)
        raise _make(
            PipelineError, f"{code.text} raised {raised}", operator=OWNER, location=location
        )
    shapes: list[list[Shape]] = []
    begin = 0
    for output, ndim in enumerate(outs_ndim):
        shapes.append([])
        for sample in range(count):
            shape = tuple(int(e) for e in outs[begin : begin + ndim])
            begin += ndim
            if min(shape, default=0) < 0:
                raise _make(
                    ArgumentError,
                    f"{code.text} gives output {output} the shape {list(shape)}, with a negative "
                    "extent",
                    operator=OWNER,
                    sample=sample,
                    batch_size=count,
                    location=location,
                )
            shapes[-1].append(shape)
    return shapes


def _on_device(cuda: Any, value: Any) -> Any:
    """Returns the same memory as Numba's device array; NumPy's in the simulator."""
    if not hasattr(cuda, "as_cuda_array"):
        return np.asarray(value)
    if not hasattr(value, "__cuda_array_interface__"):
        value = torch.utils.dlpack.from_dlpack(value)
    return cuda.as_cuda_array(value, sync=False)


class CudaKernel:
    """A kernel of numba.cuda, launched once for each sample.

    Args:
        run_fn: ``run_fn(out0, ..., in0, ...)``, a kernel; it must not write to its inputs.
        outs: the outputs.
        ins: the inputs.
        blocks: 3 numbers, the grid.
        threads_per_block: 3 numbers.
        setup_fn: as on the CPU; runs on the host.
        location: of the user's call.

    Raises:
        ArgumentError: a function does not compile, or the grid is missing.
    """

    def __init__(
        self,
        run_fn: Any,
        outs: Sequence[Array],
        ins: Sequence[Array],
        *,
        blocks: Sequence[int] | None,
        threads_per_block: Sequence[int] | None,
        setup_fn: Any = None,
        location: SourceLocation | None = None,
    ) -> None:
        from numba import cuda

        if blocks is None or threads_per_block is None:
            raise _make(
                ArgumentError,
                'device="gpu" needs `blocks` and `threads_per_block`, 3 numbers each',
                operator=OWNER,
                location=location,
            )
        self._cuda = cuda
        self._grid = tuple(blocks), tuple(threads_per_block)
        self._outs, self._ins, self._location = tuple(outs), tuple(ins), location
        function = plain_function(run_fn, "run_fn", location)
        self._text = function_text(function)
        self._setup: Code | None = None
        if setup_fn is not None:
            outs_ndim, ins_ndim = ([array.ndim for array in arrays] for arrays in (outs, ins))
            self._setup = compile_setup(setup_fn, outs_ndim, ins_ndim, location)
        own = hasattr(run_fn, "py_func") and hasattr(run_fn, "__getitem__")  # cuda.jit was there
        self._kernel = run_fn if own else cuda.jit(function)

    def output_shapes(self, in_shapes: Sequence[Sequence[Shape]]) -> list[list[Shape]]:
        """Returns for each output the shapes of all samples.

        Args:
            in_shapes: for each input, of all samples.
        """
        if self._setup is None:
            return [list(of_input) for of_input in in_shapes]
        ndims = [array.ndim for array in self._outs]
        return call_setup(self._setup, ndims, in_shapes, self._location)

    def _check(self, what: str, array: Array, index: int, sample: int, value: Any) -> None:
        dtype = np.dtype(getattr(np, array.dtype)).name
        got = str(value.dtype).removeprefix("torch.")
        if (got, len(value.shape)) != (dtype, array.ndim):
            raise _make(
                ArgumentError,
                f"{what} {index} of {self._text} is {got} with {len(value.shape)} dimensions, "
                f"declared as {dtype} with {array.ndim}",
                operator=OWNER,
                sample=sample,
                location=self._location,
            )

    def launch(
        self, outputs: Sequence[Sequence[Any]], inputs: Sequence[Sequence[Any]], stream: int
    ) -> None:
        """Queues the kernel for each sample on a stream, and waits for nothing.

        Args:
            outputs: for each output, the memory of all samples; C order.
            inputs: for each input, all samples; C order.
            stream: handle of the stream (``torch.cuda.Stream.cuda_stream``).
        """
        cuda = self._cuda
        queue = cuda.external_stream(stream) if hasattr(cuda, "external_stream") else 0
        launched = self._kernel[(*self._grid, queue)]
        for sample in range(len(inputs[0])):
            arguments = []
            for what, arrays, values in (
                ("output", self._outs, outputs),
                ("input", self._ins, inputs),
            ):
                for index, array in enumerate(arrays):
                    value = values[index][sample]
                    self._check(what, array, index, sample, value)
                    arguments.append(_on_device(cuda, value))
            if all(a.size for a in arguments[: len(self._outs)]):  # a grid of nothing is an error
                launched(*arguments)
