# SPDX-License-Identifier: Apache-2.0
"""What DALI's functions in Python use underneath: the stream they run on, and DLPack capsules."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch

from torchdali._engine.extension import _C

__all__ = ["ArrayToDLTensor", "DLTensorToArray", "current_dali_stream"]


def current_dali_stream() -> int:
    """Returns the handle of the CUDA stream that the running function belongs to.

    On the GPU it is the pipeline's, which is torch's current stream during the call. It is 0, the
    default stream, for functions on the CPU, and if no function is running.
    """
    return _C.current_stream()


def ArrayToDLTensor(array: npt.NDArray[Any]) -> Any:
    """Returns a DLPack capsule that shares the memory of a NumPy array."""
    return torch.from_numpy(array).__dlpack__()


def DLTensorToArray(capsule: Any) -> npt.NDArray[Any]:
    """Returns a NumPy array that shares the memory of a DLPack capsule, which is taken."""
    array: npt.NDArray[Any] = torch.utils.dlpack.from_dlpack(capsule).numpy()
    return array
