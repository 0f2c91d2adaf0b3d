# SPDX-License-Identifier: Apache-2.0
"""GPUs that do not exist: the package is told of them, and makes emulated ones on them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from torchdali._engine.extension import _C
from torchdali.pipeline import _device

__all__ = ["Stream", "Tensor", "simulate"]


class Stream:
    """Stands for a stream of torch."""

    def __init__(self, device: int, priority: int = 0) -> None:
        self.device, self.priority = device, priority
        self.cuda_stream = 16 * (device + 1)
        self.waited_for: list[Any] = []

    def wait_stream(self, other: Any) -> None:
        self.waited_for.append(other)


class Tensor:
    """Stands for a tensor on a GPU."""

    def __init__(self, gpu: int) -> None:
        self.device = torch.device("cuda", gpu)
        self.used_on: list[Any] = []

    def record_stream(self, stream: Any) -> None:
        self.used_on.append(stream)


def simulate(monkeypatch: pytest.MonkeyPatch, count: int, current: int) -> list[dict[str, Any]]:
    """Returns a list, to which the arguments of each device of the engine are added.

    Args:
        monkeypatch: ends the simulation.
        count: of GPUs.
        current: torch's current one.
    """
    made: list[dict[str, Any]] = []

    def make(**options: Any) -> Any:
        made.append(options)
        return _C.Device(emulated=True)

    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "0")
    monkeypatch.setattr(_device, "missing", lambda: "")
    monkeypatch.setattr(_device, "_C", SimpleNamespace(Device=make))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    return made
