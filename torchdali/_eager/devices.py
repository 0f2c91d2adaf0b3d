# SPDX-License-Identifier: Apache-2.0
"""The GPUs that operators on tensors run on: where data is, and torch's current streams.

Operators run on the stream that is current in the calling thread, as those of torch do.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from torchdali._engine.extension import _C
from torchdali._engine.schema import OperatorSchema
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.pipeline import _device

__all__ = [
    "CPU",
    "asked_for",
    "common",
    "current_stream",
    "engine_device",
    "find",
    "gpu_of",
    "join",
    "name_of",
    "placed",
    "synchronize",
]

CPU = -1
_KINDS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "mixed": "mixed"}
_MOST_STREAMS = 64
_on_streams: dict[tuple[int, int], Any] = {}


def gpu_of(tensor: torch.Tensor) -> int:
    """Returns the number of the GPU that has a tensor; CPU: it is in the memory of the host.

    Raises:
        UnsupportedError: it is neither on the CPU nor on a GPU of CUDA.
    """
    if tensor.is_cpu:
        return CPU
    if not tensor.is_cuda:
        raise _make(
            UnsupportedError,
            f"operators run on the CPU and on GPUs of CUDA, and a tensor is on {tensor.device}",
            fix="pass tensor.cpu()",
        )
    return tensor.get_device()


def name_of(gpu: int) -> str:
    """Returns torch's name of a GPU, or "cpu"."""
    return "cpu" if gpu < 0 else f"cuda:{gpu}"


def asked_for(device: Any) -> tuple[str | None, int]:
    """Returns what the argument `device` of a call says: "cpu", "gpu" or "mixed", and which GPU.

    Args:
        device: one of these or "cuda", with a number or not ("cuda:1"); a torch.device; None.

    Raises:
        ArgumentError: there is no such device.
    """
    if device is None:
        return None, CPU
    kind, colon, number = str(device).partition(":")
    if not isinstance(device, (str, torch.device)):
        raise _make(
            ArgumentTypeError, f'argument `device` takes "cpu", "gpu" or "mixed", got {device!r}'
        )
    if kind not in _KINDS or bool(colon) != number.isdigit():
        raise _make(
            ArgumentError, f'argument `device` takes "cpu", "gpu" or "mixed", got "{device}"'
        )
    if _KINDS[kind] == "cpu":
        return "cpu", CPU
    return _KINDS[kind], int(number) if number else CPU


def placed(schema: OperatorSchema, kind: str | None) -> str | None:
    """Returns the device that pipelines would be told: decoders for the GPU are "mixed"."""
    if kind == "gpu" and "gpu" not in schema.devices and "mixed" in schema.devices:
        return "mixed"
    return kind


def common(gpus: Iterable[int]) -> int:
    """Returns the only GPU that data is on; CPU if there is none.

    Raises:
        ArgumentError: there are several.
    """
    found = {gpu for gpu in gpus if gpu >= 0}
    if len(found) > 1:
        raise _make(
            ArgumentError,
            f"the data of one call is on one GPU, got {sorted(map(name_of, found))}",
            fix="move it with tensor.to()",
        )
    return found.pop() if found else CPU


def find(gpus: Iterable[int], wanted: int = CPU) -> int:
    """Returns the GPU that a call runs on: that of its data, else the wanted or the current one.

    Args:
        gpus: where its data is.
        wanted: by the user; CPU: any.

    Raises:
        ArgumentError: data is on another GPU than the wanted one.
        UnsupportedError: there is no such GPU, or this build has no kernels.
    """
    found = common([*gpus, wanted])
    if _device.is_emulated():
        return max(found, 0)
    reason = _device.missing()
    if not reason and found >= torch.cuda.device_count():
        reason = f"torch finds {torch.cuda.device_count()} GPUs, numbered from 0"
    if reason:
        raise _make(
            UnsupportedError,
            f"runs on {name_of(found) if found >= 0 else 'a GPU'}, and {reason}",
            fix="leave out `device`, and pass .cpu() of tensors that are on a GPU",
        )
    return torch.cuda.current_device() if found < 0 else found


@functools.cache
def _emulated() -> Any:
    return _C.Device(emulated=True)


def engine_device(gpu: int) -> Any:
    """Returns a GPU as the engine knows it, whose work is queued on torch's current stream.

    Args:
        gpu: as find() returns it.

    Raises:
        UnsupportedError: the stream is being captured.
    """
    if _device.is_emulated():
        return _emulated()
    if torch.cuda.is_current_stream_capturing():
        raise _make(
            UnsupportedError,
            "operators cannot be captured in a CUDA graph: their arguments are computed on the CPU",
            fix="call them outside of the graph",
        )
    key = gpu, torch.cuda.current_stream(gpu).cuda_stream
    found = _on_streams.get(key)
    if found is None:
        if len(_on_streams) >= _MOST_STREAMS:
            _on_streams.clear()
        found = _on_streams[key] = _device.device_on_stream(*key)
    return found


def current_stream(gpu: int) -> Any:
    """Returns torch's current stream on a GPU; None on the CPU, and if the GPU is emulated."""
    return None if gpu < 0 or _device.is_emulated() else torch.cuda.current_stream(gpu)


def synchronize(gpu: int) -> None:
    """Waits for what is queued on torch's current stream on a GPU."""
    stream = current_stream(gpu)
    if stream is not None:
        stream.synchronize()


def join(gpu: int, streams: Iterable[Any], tensors: Iterable[Sequence[torch.Tensor]]) -> None:
    """Lets the current stream read tensors that are ready on other streams, and keeps their memory.

    Args:
        gpu: of the streams.
        streams: as current_stream() returned them.
        tensors: lists of them.
    """
    current = current_stream(gpu)
    others = {stream for stream in streams if stream is not None and stream != current}
    for stream in others:
        current.wait_stream(stream)
    if others:
        for samples in tensors:
            for sample in samples:
                if sample.is_cuda:
                    sample.record_stream(current)
