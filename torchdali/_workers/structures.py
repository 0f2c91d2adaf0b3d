# SPDX-License-Identifier: Apache-2.0
"""Structures of any kind out of a worker: arrays and tensors in the slab, the rest beside them.

A structure is what pickle can store: dicts, tuples, dataclasses, numbers, strings. The memory of
NumPy arrays, CPU tensors and whatever else hands out buffers (pickle's protocol 5) is written into
the slab once, and read there. Imports no torch: a worker that makes tensors has loaded it.
"""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

__all__ = ["load", "store"]


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if (
            torch is None
            or type(obj) is not torch.Tensor
            or obj.device.type != "cpu"
            or obj.layout is not torch.strided
            or obj.is_quantized
            or obj.is_conj()
            or obj.is_neg()
        ):
            return NotImplemented
        data = obj.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
        dtype = str(obj.dtype).removeprefix("torch.")
        made = pickle.PickleBuffer(data), dtype, tuple(obj.shape), obj.requires_grad
        return _tensor, made


def _tensor(data: Any, dtype: str, shape: tuple[int, ...], requires_grad: bool) -> Any:
    import torch

    own = getattr(torch, dtype)
    if memoryview(data).nbytes == 0:
        return torch.empty(shape, dtype=own, requires_grad=requires_grad)
    tensor = torch.frombuffer(data, dtype=own).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def store(slab: Any, value: Any) -> None:
    """Writes a structure into a slab, whose reply says where everything is.

    Raises:
        TypeError, pickle.PicklingError: something in it cannot be stored.
    """
    places: list[tuple[int, int]] = []

    def put(buffer: pickle.PickleBuffer) -> None:
        with buffer.raw() as raw:
            places.append((slab.put(raw), raw.nbytes))

    file = io.BytesIO()
    _Pickler(file, protocol=5, buffer_callback=put).dump(value)
    slab.reply = pickle.dumps((file.getvalue(), places))


def load(lease: Any) -> Any:
    """Returns the structure in a slab. Its arrays lie in the lease, and keep it."""
    data, places = pickle.loads(lease.slab.reply)
    memory = memoryview(lease)
    return pickle.loads(
        data, buffers=[memory[offset : offset + length] for offset, length in places]
    )
