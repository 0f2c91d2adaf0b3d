# SPDX-License-Identifier: Apache-2.0
"""Pipelines that decode videos by NVDEC, compared with the CPU; a stand-in for its library."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from torchdali import Pipeline

from . import videos

SOURCES = Path(__file__).resolve().parents[2]
H265 = ("-c:v", "libx265", "-x265-params", "keyint=12:log-level=none")
# What makes each kind of file: the options of ffmpeg, and the suffix of the file.
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "h264": ((*videos.H264, "-g", "12", "-bf", "3"), ".mp4"),
    "h264_raw": ((*videos.H264, "-g", "12", "-bf", "3"), ".h264"),
    "h264_ts": ((*videos.H264, "-g", "12"), ".ts"),
    "hevc": ((*H265, "-pix_fmt", "yuv420p"), ".mp4"),
    "hevc_10": ((*H265, "-pix_fmt", "yuv420p10le"), ".mkv"),
    "full_range": ((*H265, "-pix_fmt", "yuvj420p", "-colorspace", "bt709"), ".mp4"),
    "vp8": (("-c:v", "libvpx", "-g", "20", "-auto-alt-ref", "1", "-lag-in-frames", "16"), ".webm"),
    "vp9": (("-c:v", "libvpx-vp9", "-g", "20", "-cpu-used", "8"), ".webm"),
    "av1": (("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "20", "-usage", "realtime"), ".mp4"),
    "mpeg4": (("-c:v", "mpeg4", "-g", "12"), ".avi"),
}


def compile_stand_in(folder: Path) -> Path:
    """Compiles the fake library into a folder; skips the test if that is impossible."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None or shutil.which("pkg-config") is None:
        pytest.skip("no C++ compiler, or no pkg-config")
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libavcodec", "libavutil"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        pytest.skip("no headers of libavcodec")
    library = folder / "libfake_nvcuvid.so"
    command = [compiler, "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{SOURCES / 'csrc'}", str(SOURCES / "tests" / "gpu" / "fake_nvcuvid.cpp")]
    subprocess.run([*command, "-o", str(library), *found.stdout.split()], check=True)
    return library


def made(kind: str, size: str = "100x66", frames: int = 30) -> Path:
    """Returns a file of one of KINDS."""
    options, suffix = KINDS[kind]
    path = videos.folder() / f"nvdec-{kind}-{size}-{frames}{suffix}"
    if not path.exists():
        source = f"testsrc2=size={size}:rate=25:duration={frames / 25}"
        videos.ffmpeg("-f", "lavfi", "-i", source, *options, path)
    return path


def counts_of(pipe: Pipeline) -> dict[str, int]:
    """Returns how videos were decoded."""
    counts: dict[str, int] = {}
    for operator in pipe.stats().operators:
        for what, count in operator.counts.items():
            counts[what] = counts.get(what, 0) + count
    return counts


def run(
    define: Callable[[str], Any], device: str, batch: int = 1, iterations: int = 1
) -> tuple[list[list[torch.Tensor]], dict[str, int]]:
    """Returns the outputs of the last batch, on the host, and how the videos were decoded."""
    with Pipeline(
        batch_size=batch, num_threads=2, device_id=0 if device != "cpu" else None
    ) as pipe:
        outputs = define(device)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    for _ in range(iterations):
        batches = pipe.run()
    samples = [[x.cpu().clone() for x in out.as_torch_list()] for out in batches]
    return samples, counts_of(pipe)


def assert_same(
    define: Callable[[str], Any], batch: int = 1, iterations: int = 1, within: float = 0
) -> dict[str, int]:
    """Compares a pipeline on the GPU with the CPU; returns how the videos were decoded."""
    expected, _ = run(define, "cpu", batch, iterations)
    actual, counts = run(define, "gpu", batch, iterations)
    for ours, theirs in zip(actual, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b, rtol=0, atol=within)
    return counts
