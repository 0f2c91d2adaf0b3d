# SPDX-License-Identifier: Apache-2.0
"""Runs GPU tests on a GPU, and emulated on the host."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.gpu_tensors import GpuTensors
from helpers.simulated_gpus import simulate


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.cuda)])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test on both; returns the device type of its results."""
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1" if request.param == "emulated" else "0")
    return "cuda" if request.param == "cuda" else "cpu"


@pytest.fixture
def gpu_tensors(backend: str, monkeypatch: pytest.MonkeyPatch) -> GpuTensors:
    """Returns what puts tensors on the GPU, or on the one that is emulated."""
    return GpuTensors(backend, monkeypatch)


@pytest.fixture
def simulated_gpus(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Simulates two GPUs, of which torch's current one is 1; returns how devices were made."""
    return simulate(monkeypatch, count=2, current=1)
