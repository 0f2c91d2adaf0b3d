# SPDX-License-Identifier: Apache-2.0
"""Structures of any kind in a slab: arrays and tensors as raw memory, the rest pickled.

A structure is what pickle can store: dicts, tuples, dataclasses, numbers, strings. The memory of
NumPy arrays, CPU tensors and other objects with buffers (pickle's protocol 5) is written to the
slab once, and read there. Does not import torch: a worker that makes tensors has loaded it.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["load", "store"]


_FEW_BYTES = 1 << 14  # less is copied out of the slab, which the workers then have again


class _Pickler(pickle.Pickler):
    """Stores the memory of tensors as buffers, with the offsets of those that are in the slab."""

    def __init__(self, file: Any, put: Any, placed: Mapping[int, int]) -> None:
        super().__init__(file, protocol=5, buffer_callback=put)
        self._torch = sys.modules.get("torch")
        self._placed = placed
        self.places: dict[int, int] = {}  # id of a buffer -> offset in the slab

    def reducer_override(self, obj: Any) -> Any:
        torch = self._torch
        if (
            torch is None
            or type(obj) is not torch.Tensor
            or obj.device.type != "cpu"
            or obj.layout is not torch.strided
            or obj.is_quantized
            or obj.is_nested  # torch stores its parts, which are ordinary tensors
            or obj.is_conj()
            or obj.is_neg()
        ):
            return NotImplemented
        data = obj.detach().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()
        buffer = pickle.PickleBuffer(data)
        if self._placed and (offset := self._placed.get(obj.data_ptr())) is not None:
            self.places[id(buffer)] = offset
        dtype = str(obj.dtype).removeprefix("torch.")
        return _tensor, (buffer, dtype, tuple(obj.shape), obj.requires_grad)


def _tensor(data: Any, dtype: str, shape: tuple[int, ...], requires_grad: bool) -> Any:
    import torch

    own = getattr(torch, dtype)
    if memoryview(data).nbytes == 0:
        return torch.empty(shape, dtype=own, requires_grad=requires_grad)
    tensor = torch.frombuffer(data, dtype=own).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def store(slab: Any, value: Any, placed: Mapping[int, int] = MappingProxyType({})) -> None:
    """Writes a structure to a slab, whose reply gets the offsets of all parts.

    Args:
        slab: an empty one.
        value: the structure.
        placed: address of a contiguous tensor that is in the slab already -> its offset there.

    Raises:
        TypeError, pickle.PicklingError: a part of it cannot be stored.
    """
    places: list[int] = []

    def put(buffer: pickle.PickleBuffer) -> None:
        with buffer.raw() as raw:
            offset = pickler.places.pop(id(buffer), None)
            places.extend((slab.put(raw) if offset is None else offset, raw.nbytes))

    file = io.BytesIO()
    pickler = _Pickler(file, put, placed)
    pickler.dump(value)
    with file.getbuffer() as data:
        places.extend((slab.put(data), data.nbytes))
    slab.reply = struct.pack(f"{len(places)}Q", *places)


def load(lease: Any, *, copies: bool = False) -> Any:
    """Returns the structure in a slab.

    Args:
        lease: of the slab. Large arrays use its memory, and keep it.
        copies: whether large arrays are copied, too.
    """
    slab = lease.slab
    slab.mark_written()
    reply = slab.reply
    places = struct.unpack(f"{len(reply) // 8}Q", reply)
    memory = memoryview(lease)
    pieces = [memory[o : o + n] for o, n in zip(places[::2], places[1::2], strict=True)]
    data = pieces.pop()
    if pieces and (copies or sum(places[1:-2:2]) < _FEW_BYTES):
        pieces = [memoryview(bytearray(piece)) for piece in pieces]
    return pickle.loads(data, buffers=pieces)
