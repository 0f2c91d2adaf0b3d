# SPDX-License-Identifier: Apache-2.0
"""The GPU that a pipeline runs operators on: torch's streams and the engine's kernels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from torchdali import _build_info
from torchdali._extension import _C
from torchdali.errors import UnsupportedError, _make
from torchdali.graph import OpNode

__all__ = ["CUDA_LIBRARY", "make_device"]

CUDA_LIBRARY = Path(__file__).with_name("_cuda.so")


def _emulated() -> bool:
    """Returns whether GPU operators are to run on the host, for tests; docs/design/gpu.md."""
    return os.environ.get("TORCHDALI_EMULATE_GPU", "0") not in ("", "0")


def make_device(nodes: Sequence[OpNode], device_id: int | None, priority: int | None) -> Any:
    """Returns the engine's device for a pipeline; None where no operator runs on a GPU.

    Args:
        nodes: of the pipeline.
        device_id: which GPU; None: torch's current one.
        priority: of the stream that kernels run on, as torch has it: lower numbers come first.

    Raises:
        UnsupportedError: there is no GPU, or this build has no kernels.
    """
    first = next((node for node in nodes if node.device == "gpu"), None)
    if first is None:
        return None
    if _emulated():
        return _C.Device(emulated=True)
    reason = ""
    if not torch.cuda.is_available():
        reason = "torch finds none" if torch.version.cuda else "this torch is built without CUDA"
    elif not CUDA_LIBRARY.exists():
        reason = f"torchdali was built without kernels: {_build_info.CUDA_LIBRARY_MISSING}"
    elif device_id is not None and device_id >= torch.cuda.device_count():
        reason = f"`device_id` is {device_id}, and torch finds {torch.cuda.device_count()} GPUs"
    if reason:
        raise _make(
            UnsupportedError,
            f"runs on a GPU, and {reason}",
            operator=first.schema.fn_name,
            location=first.location,
            fix='leave out `device` and .gpu(), and move the batch with `.to("cuda")` where there '
            "is a GPU",
        )
    index = torch.cuda.current_device() if device_id is None else device_id
    # CUDA has no more than this; others mean the nearest one.
    kernels = torch.cuda.Stream(index, priority=max(-5, min(priority or 0, 0)))
    copies = torch.cuda.Stream(index)
    return _C.Device(
        index=index,
        kernel_stream=kernels.stream_id,
        copy_stream=copies.stream_id,
        handle=kernels.cuda_stream,
        library=str(CUDA_LIBRARY),
    )
