# SPDX-License-Identifier: Apache-2.0
"""Tensors on a GPU, or tensors of the CPU that stand for them where a GPU is emulated."""

from __future__ import annotations

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from torchdali._eager import devices

__all__ = ["GpuTensors"]


class GpuTensors:
    """Puts tensors on GPU 0, or has the package take their memory for that of a GPU."""

    def __init__(self, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.emulates = backend == "cpu"
        self._storages: dict[int, tuple[int, StorageWeakRef]] = {}
        self._gpu_of = devices.gpu_of
        if self.emulates:
            monkeypatch.setattr(devices, "gpu_of", self._emulated_gpu_of)

    def put(self, tensor: torch.Tensor, gpu: int = 0) -> torch.Tensor:
        """Returns a tensor on a GPU; views of it are there, too."""
        if not self.emulates:
            return tensor.cuda(gpu)
        copy = tensor.clone()
        storage = StorageWeakRef(copy.untyped_storage())  # keeps the address from being reused
        self._storages[storage.cdata] = gpu, storage
        return copy

    def _emulated_gpu_of(self, tensor: torch.Tensor) -> int:
        found = self._storages.get(tensor.untyped_storage()._cdata) if tensor.is_cpu else None
        return self._gpu_of(tensor) if found is None else found[0]
