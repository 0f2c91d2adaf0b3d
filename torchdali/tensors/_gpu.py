# SPDX-License-Identifier: Apache-2.0
"""What the GPU classes need of torch.cuda: whether there is a GPU, streams, copies to addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchdali.errors import UnsupportedError, _make
from torchdali.tensors._input import address, stream_handle

__all__ = ["copy_out", "external_stream", "no_gpu", "require_gpu", "wait_for", "wait_on"]


def no_gpu() -> str:
    """Returns why torch has no GPU to work with, "" if it has one."""
    if torch.cuda.is_available():
        return ""
    return "torch finds none" if torch.version.cuda else "this torch is built without CUDA"


def require_gpu(what: str) -> None:
    """Raises an error if torch has no GPU to work with."""
    if reason := no_gpu():
        raise _make(UnsupportedError, f"{what} needs a GPU, and {reason}")


class _DeviceMemory:
    """Bytes at an address of the GPU, as the CUDA array interface describes them."""

    def __init__(self, pointer: int, size_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (pointer, False),
            "strides": None,
            "version": 3,
        }


def external_stream(stream: Any, device: torch.device) -> torch.cuda.Stream:
    """Returns a stream in any form as torch's."""
    handle = stream_handle(stream)
    return torch.cuda.ExternalStream(handle, device=device)  # type: ignore[no-untyped-call]


def copy_out(
    samples: Sequence[torch.Tensor], pointer: Any, cuda_stream: Any, non_blocking: bool
) -> None:
    """Copies tensors of one GPU, one after the other and densely packed, to an address on a GPU.

    Args:
        samples: the tensors.
        pointer: the address, a ``ctypes.c_void_p`` or int.
        cuda_stream: the stream to copy on; None: torch's current one.
        non_blocking: return before the copy is done.
    """
    to = address(pointer)
    if not samples:
        return
    device = samples[0].device
    current = stream = torch.cuda.current_stream(device)
    if cuda_stream is not None:
        stream = external_stream(cuda_stream, device)
        stream.wait_stream(current)  # what made the samples
    with torch.cuda.stream(stream):
        for sample in samples:
            if sample.numel():
                packed = sample.contiguous().view(-1).view(torch.uint8)
                torch.as_tensor(_DeviceMemory(to, packed.numel()), device=device).copy_(packed)
                packed.record_stream(stream)
                to += packed.numel()
    if not non_blocking:
        stream.synchronize()


def wait_for(stream: Any, device: torch.device) -> None:
    """Lets torch's current stream wait for what is queued on another one; None: on none."""
    if stream is not None:
        torch.cuda.current_stream(device).wait_stream(external_stream(stream, device))


def wait_on(stream: Any, tensors: Sequence[torch.Tensor]) -> None:
    """Lets a stream wait for what is queued on torch's current one, and use tensors of it."""
    if not tensors:
        return
    device = tensors[0].device
    waiting = external_stream(stream, device)
    waiting.wait_stream(torch.cuda.current_stream(device))
    for tensor in tensors:
        tensor.record_stream(waiting)
