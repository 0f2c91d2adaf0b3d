# SPDX-License-Identifier: Apache-2.0
"""Runs GPU tests on a GPU, and emulated on the host."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import nvdec
from helpers.gpu_arrays import build_fake_cufile
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


Calls = Callable[[str], list[list[int]]]


def calls_in(log: Path) -> Calls:
    """Returns what reads the calls of a function that a fake library has written to a file."""

    def read(name: str) -> list[list[int]]:
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [[int(number) for number in numbers] for found, *numbers in lines if found == name]

    return read


def use_stand_in(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, library: Path, log_variable: str
) -> Calls:
    """Makes pipelines use a fake library; returns what reads its calls of a function."""
    gc.collect()  # what earlier tests left calls nothing any more
    log = folder / "calls"
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    monkeypatch.setenv(f"TORCHDALI_{name}", "1")
    monkeypatch.setenv(f"TORCHDALI_{name}_LIBRARY", str(library))
    monkeypatch.setenv(log_variable, str(log))
    return calls_in(log)


@pytest.fixture(scope="session")
def fake_nvcuvid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the fake library of NVDEC; it stays loaded, so all tests share one."""
    return nvdec.compile_stand_in(tmp_path_factory.mktemp("nvdec"))


@pytest.fixture
def nvdec_calls(fake_nvcuvid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Makes pipelines use the fake library; returns what reads its calls of a function."""
    return use_stand_in(monkeypatch, tmp_path, "NVDEC", fake_nvcuvid, "FAKE_NVCUVID_LOG")


@pytest.fixture
def real_nvdec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses the GPU and the library of the driver."""
    for name in ("TORCHDALI_EMULATE_GPU", "TORCHDALI_NVDEC_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCHDALI_NVDEC", "1")


@pytest.fixture(scope="session")
def fake_cufile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the fake library of cuFile; it stays loaded, so most tests share one."""
    return build_fake_cufile(tmp_path_factory.mktemp("gds"))


@pytest.fixture
def cufile_calls(fake_cufile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Makes pipelines use the fake library; returns what reads its calls of a function."""
    return use_stand_in(monkeypatch, tmp_path, "GDS", fake_cufile, "FAKE_CUFILE_LOG")


@pytest.fixture
def own_cufile_calls(
    cufile_calls: Calls, fake_cufile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Calls:
    """The same with a library of its own, because what it says is remembered."""
    monkeypatch.setenv("TORCHDALI_GDS_LIBRARY", str(shutil.copy(fake_cufile, tmp_path)))
    return cufile_calls
