# SPDX-License-Identifier: Apache-2.0
"""readers.numpy on the CPU and on the GPU, for comparison."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from torchdali import Pipeline, fn

TESTS = Path(__file__).resolve().parents[1]
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
LARGE = (7, 100, 120)  # of any type more than what is left to the CPU because it is small


def has_direct_io(folder: Path) -> bool:
    """Returns whether files in a folder can be opened with O_DIRECT."""
    file = folder / "direct"
    file.write_bytes(b"")
    try:
        os.close(os.open(file, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return True


def build_fake_cufile(folder: Path) -> Path:
    """Compiles the library that stands in for cuFile."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    if not has_direct_io(folder):
        pytest.skip("the file system of temporary files has no O_DIRECT")
    library = folder / "libfake_cufile.so"
    command = [COMPILER, "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{TESTS.parent / 'csrc'}", str(TESTS / "gpu/fake_cufile.cpp")]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


def numbers(shape: tuple[int, ...], dtype: str = "f4", order: Any = "C") -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    values = rng.integers(0, 2 if dtype == "?" else 100, shape)
    return np.asarray(values, dtype, order)


def saved(folder: Path, *arrays: np.ndarray) -> list[str]:
    paths = [folder / f"{i}.npy" for i in range(len(arrays))]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array)
    return [str(path) for path in paths]


def built(device: str, batch: int = 1, **args: Any) -> Pipeline:
    on_gpu = device != "cpu"
    with Pipeline(batch_size=batch, num_threads=3, device_id=0 if on_gpu else None, seed=5) as pipe:
        pipe.set_outputs(fn.readers.numpy(device=device, name="Reader", **args))
    pipe.build()
    return pipe


def next_samples(pipe: Pipeline, iterations: int = 1) -> list[torch.Tensor]:
    batches = (pipe.run()[0] for _ in range(iterations))
    return [x.cpu().clone() for batch in batches for x in batch.as_torch_list()]


def counts_of(pipe: Pipeline) -> dict[str, int]:
    counts: dict[str, int] = {}
    for operator in pipe.stats().operators:
        for what, count in operator.counts.items():
            counts[what] = counts.get(what, 0) + count
    return counts


def assert_equal(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))


def assert_same(batch: int = 1, iterations: int = 1, **args: Any) -> dict[str, int]:
    """Compares the reader on the GPU with that on the CPU; returns how arrays were read."""
    expected = next_samples(built("cpu", batch, **args), iterations)
    pipe = built("gpu", batch, **args)
    assert_equal(next_samples(pipe, iterations), expected)
    return counts_of(pipe)
