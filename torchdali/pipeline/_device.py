# SPDX-License-Identifier: Apache-2.0
"""The GPU that a pipeline runs operators on: torch's streams and the engine's kernels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from torchdali._engine.extension import _C, build_info
from torchdali.data_node import OpNode
from torchdali.errors import UnsupportedError, _make
from torchdali.info import CUDA_LIBRARY
from torchdali.tensors._gpu import external_stream, no_gpu
from torchdali.tensors._input import stream_handle

__all__ = ["PipelineDevice", "device_on_stream", "is_emulated", "make_device", "missing"]


def is_emulated() -> bool:
    """Returns whether GPU operators are to run on the host, for tests; docs/design/gpu.md."""
    return os.environ.get("TORCHDALI_EMULATE_GPU", "0") not in ("", "0")


def missing() -> str:
    """Returns why no operator can run on a GPU, "" if one can."""
    reason = no_gpu()
    if not reason and not CUDA_LIBRARY.exists():
        reason = f"torchdali was built without kernels: {build_info.CUDA_LIBRARY_MISSING}"
    return reason


def device_on_stream(index: int, stream: int) -> Any:
    """Returns a GPU as the engine knows it, all of whose work is queued on one stream.

    Args:
        index: which GPU.
        stream: a ``cudaStream_t`` of it, on which torch allocates what the engine uses.
    """
    return _C.Device(
        index=index, kernel_stream=stream, copy_stream=stream, library=str(CUDA_LIBRARY)
    )


class PipelineDevice:
    """The GPU of a built pipeline.

    Args:
        index: which one.
        priority: of the kernels' stream, as torch has it: lower numbers come first.
    """

    def __init__(self, index: int, priority: int) -> None:
        self.index = index
        # CUDA has no more than this; others mean the nearest one.
        stream: Any = torch.cuda.Stream
        self._kernels = stream(index, priority=max(-5, min(priority, 0)))
        self.engine = _C.Device(
            index=index,
            kernel_stream=self._kernels.cuda_stream,
            copy_stream=stream(index).cuda_stream,
            library=str(CUDA_LIBRARY),
        )

    def adopt(
        self, tensors: torch.Tensor | list[torch.Tensor], cuda_stream: Any, *, copy: bool
    ) -> torch.Tensor | list[torch.Tensor]:
        """Returns tensors of this GPU for the pipeline's kernels, which wait for them.

        Args:
            tensors: of one GPU.
            cuda_stream: the stream that makes them; None: torch's current one, -1: the data is
                ready.
            copy: their memory may change afterwards.

        Raises:
            UnsupportedError: they are on another GPU.
        """
        samples = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        device = samples[0].device
        if device.index != self.index:
            raise _make(
                UnsupportedError,
                f"data on GPU {device.index} is fed to a pipeline on GPU {self.index}",
            )
        if cuda_stream is None:
            stream = torch.cuda.current_stream(device)
        elif stream_handle(cuda_stream) == -1:
            stream = self._kernels
        else:
            stream = external_stream(cuda_stream, device)
        if copy:
            with torch.cuda.stream(stream):
                samples = [sample.clone() for sample in samples]
        self._kernels.wait_stream(stream)
        for sample in samples:
            sample.record_stream(self._kernels)
        return samples[0] if isinstance(tensors, torch.Tensor) else samples


class _EmulatedDevice:
    """Stands for a GPU in tests."""

    def __init__(self) -> None:
        self.engine = _C.Device(emulated=True)

    def adopt(self, *_: Any, **__: Any) -> Any:
        raise _make(UnsupportedError, "data on a GPU is fed to a pipeline that emulates one")


def _asked_by(first: OpNode, nodes: Sequence[OpNode]) -> str:
    """Returns what in the definition requires a GPU; `first` is the first node on one."""
    if not first.schema.hidden:
        return first.schema.fn_name
    # A copy that an operator made for its inputs or outputs has the very location of the operator.
    for node in nodes:
        if node.location is first.location and not node.schema.hidden:
            return node.schema.fn_name
    return "DataNode.gpu()"


def make_device(
    nodes: Sequence[OpNode], device_id: int | None, priority: int | None
) -> PipelineDevice | _EmulatedDevice | None:
    """Returns the GPU of a pipeline; None if no operator runs on one.

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
    if is_emulated():
        return _EmulatedDevice()
    reason = missing()
    if not reason and device_id is not None and device_id >= torch.cuda.device_count():
        reason = f"`device_id` is {device_id}, and torch finds {torch.cuda.device_count()} GPUs"
    if reason:
        raise _make(
            UnsupportedError,
            f"runs on a GPU, and {reason}",
            operator=_asked_by(first, nodes),
            location=first.location,
            fix='leave out `device` and .gpu(), and move the batch with `.to("cuda")` where there '
            "is a GPU",
        )
    index = torch.cuda.current_device() if device_id is None else device_id
    return PipelineDevice(index, priority or 0)
