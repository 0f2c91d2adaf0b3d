# SPDX-License-Identifier: Apache-2.0
"""What the engine asks Python for: around calls of fn.python_function, and of outputs."""

from __future__ import annotations

import contextlib
import functools
import importlib
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._common import location
from torchdali._common.raised import describe_raised
from torchdali._common.sample import SampleContext
from torchdali.tensors._input import as_tensor

__all__: list[str] = []


def _generator_states(gpu: int) -> tuple[Any, ...]:
    """Returns the states of the global generators, with that of a GPU; -1: of none."""
    numpy = np.random.get_state()  # noqa: NPY002
    on_gpu = (gpu, torch.cuda.get_rng_state(gpu)) if gpu >= 0 else None
    return random.getstate(), numpy, torch.default_generator.get_state(), on_gpu


def _restore_generators(states: tuple[Any, ...]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    torch.default_generator.set_state(states[2])
    if states[3] is not None:
        gpu, state = states[3]
        torch.cuda.set_rng_state(state, gpu)


def _seed_generators(seed: int, gpu: int) -> None:
    SampleContext(seed, 0, 0).seed_global_generators()
    if gpu >= 0:
        torch.cuda.default_generators[gpu].manual_seed(seed)


@functools.cache
def _cupy() -> Any:
    """Returns CuPy, or None if it is not installed."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def _device_array(tensor: torch.Tensor) -> Any:
    """Returns a tensor on the GPU as DALI's python_function has it: as an array of CuPy's.

    It shares the memory and keeps it. Without CuPy it is the tensor itself.
    """
    cupy = _cupy() if tensor.is_cuda else None  # the emulation's is on the CPU
    return tensor if cupy is None else cupy.asarray(tensor)


def _use_on_current_stream(tensors: Sequence[torch.Tensor]) -> None:
    """Tells torch's allocator that the current stream uses the memory of tensors."""
    for tensor in tensors:
        if tensor.is_cuda:  # the emulation's is not
            tensor.record_stream(torch.cuda.current_stream(tensor.device))


def _enter_cupy_stream(handle: int, gpu: int) -> contextlib.ExitStack:
    """Makes a stream CuPy's current one, until what is returned is closed."""
    stack = contextlib.ExitStack()
    cupy = _cupy()
    if cupy is not None:
        stack.enter_context(cupy.cuda.Device(gpu))
        stack.enter_context(cupy.cuda.ExternalStream(handle, gpu))
    return stack


def _plain_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor whose values are those in its memory: dense, without a negative bit."""
    return tensor.to_dense().resolve_neg().resolve_conj()


def _to_capsule(tensor: torch.Tensor) -> Any:
    return torch.utils.dlpack.to_dlpack(tensor)  # type: ignore[attr-defined]  # not in its __all__


def _watch_tensor(tensor: torch.Tensor) -> Callable[[], bool]:
    """Returns a function that tells whether the tensor is unchanged since now."""
    data = tensor.reshape(-1).view(torch.uint8)  # bytes, so that NaN is equal to itself
    before = data.clone()
    return lambda: torch.equal(data, before)


def _as_tensor(data: Any, gpu: int) -> torch.Tensor:
    """Returns what a function returned that is no tensor, as one.

    Args:
        data: all that external_source takes.
        gpu: the GPU that it must be on; -1: the CPU.
    """
    if gpu < 0:
        return as_tensor(data)[0]
    layout = getattr(data, "__cuda_array_interface__", {})
    if any(stride < 0 for stride in layout.get("strides") or ()):  # torch has none
        data = data.copy()
    return as_tensor(data, device="cuda", device_id=gpu)[0]


def _describe_function(function: Callable[..., Any]) -> str:
    """Returns "function `augment` (train.py:12)"."""
    function = getattr(function, "user_function", function)  # of a ProcessFunction
    inner: Any = function
    while hasattr(inner, "func") and not hasattr(inner, "__qualname__"):  # functools.partial
        inner = inner.func
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    code = getattr(inner, "__code__", None)
    if code is None:  # a method has its function's; an object with __call__ its class's
        code = getattr(getattr(type(inner), "__call__", None), "__code__", None)  # noqa: B004
    where = ""
    if code is not None:
        line = location.SourceLocation(code.co_filename, code.co_firstlineno, name)
        where = f" ({line.short()})"
    return f"function `{name.replace('<locals>.', '')}`{where}"


def _describe_exception(
    function: Callable[..., Any], error: BaseException
) -> tuple[str, BaseException | None, int]:
    """Returns the first line of an error about what was raised, what that was, and the sample.

    The sample is -1 if the caller knows it.
    """
    in_worker = getattr(error, "in_worker", None)
    if in_worker is not None:
        text, cause, sample = in_worker
        return f"{_describe_function(function)} {text}", cause, sample
    return f"{_describe_function(function)} raised {describe_raised(error)}", error, -1


# Types of the same size that torch indexes.
_INDEXABLE = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def _select_rows(data: Any, rows: Sequence[int]) -> Any:
    """Returns the samples `rows` of an output, each in memory of its own.

    Args:
        data: a tensor whose first axis is the samples, or a list of tensors.
        rows: in ascending order; a sample may come more than once.
    """
    if isinstance(data, torch.Tensor):
        index = torch.tensor(rows, dtype=torch.int64, device=data.device)
        data_type = _INDEXABLE.get(data.dtype, data.dtype)
        return data.view(data_type).index_select(0, index).view(data.dtype)
    last = [-1, *rows]
    return [data[row].clone() if row == last[i] else data[row] for i, row in enumerate(rows)]
