# SPDX-License-Identifier: Apache-2.0
"""The library of CUDA kernels, and the files that the build generates for the kernels."""

from __future__ import annotations

import contextlib
import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from tools import gpu_kernels
from torchdali._engine.extension import _C
from torchdali.info import CUDA_LIBRARY

CSRC = Path(__file__).resolve().parents[2] / "csrc"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
OTHER_LIBRARY = """
struct { const char* sources; void* kernels; void* error_text; } library = {"other", 0, 0};
void* torchdali_gpu_library(void) { return &library; }
"""


class Entry(ctypes.Structure):
    """KernelEntry of csrc/gpu/registry.h."""


Entry._fields_ = [
    ("name", ctypes.c_char_p),
    ("task_bytes", ctypes.c_size_t),
    ("launch", ctypes.c_void_p),
    ("next", ctypes.POINTER(Entry)),
]


class Library(ctypes.Structure):
    """KernelLibrary of csrc/gpu/library.h."""

    _fields_ = (("sources", ctypes.c_char_p), ("kernels", ctypes.POINTER(Entry)))


def ends_without_cuda() -> contextlib.AbstractContextManager[object]:
    """Expects the last error of making a device, if torch has no CUDA."""
    if torch.version.cuda is not None:
        return contextlib.nullcontext()
    return pytest.raises(RuntimeError, match="this torch is built without CUDA")


def test_a_gpu_library_built_from_other_sources_is_refused(tmp_path):
    if COMPILER is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "library.c", tmp_path / "library.so"
    source.write_text(OTHER_LIBRARY)
    subprocess.run([COMPILER, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    with pytest.raises(RuntimeError, match="built from other sources than the engine"):
        _C.Device(library=str(library))


def test_a_missing_gpu_library_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="the GPU library cannot be loaded"):
        _C.Device(library=str(tmp_path / "missing.so"))


def test_the_gpu_library_has_every_kernel():
    if not CUDA_LIBRARY.exists():
        pytest.skip("built without the GPU library")
    with ends_without_cuda():
        _C.Device(library=str(CUDA_LIBRARY))  # compares fingerprints
    function = ctypes.CDLL(str(CUDA_LIBRARY)).torchdali_gpu_library
    function.restype = ctypes.POINTER(Library)
    names, entry = [], function().contents.kernels
    while entry:
        names.append(entry.contents.name.decode())
        entry = entry.contents.next
    texts = [(CSRC / header).read_text() for header in gpu_kernels.headers(CSRC)]
    registered = re.findall(r"^TORCHDALI_GPU_KERNEL\((\w+)\)", "\n".join(texts), re.MULTILINE)
    assert sorted(names) == sorted(registered)


def test_only_changed_files_are_generated_again(tmp_path):
    csrc, folder = tmp_path / "csrc", tmp_path / "generated"
    for path in ("gpu/cuda/launch.cuh", "kernels/color/clahe_gpu.h", "kernels/convert_gpu.h"):
        (csrc / path).parent.mkdir(parents=True, exist_ok=True)
        (csrc / path).write_text("int x;")
    units = gpu_kernels.write_units(csrc, folder)
    assert [path.name for path in units.emulated] == ["emulated_0.cpp"]
    assert [path.name for path in units.cuda] == ["color_clahe.cu", "convert.cu"]
    written = {path: path.stat().st_mtime_ns for path in folder.iterdir()}

    (csrc / "kernels/convert_gpu.h").write_text("int y;")
    gpu_kernels.write_units(csrc, folder)
    changed = [p.name for p in folder.iterdir() if written[p] != p.stat().st_mtime_ns]
    assert changed == ["fingerprint.cpp"]

    (csrc / "kernels/convert_gpu.h").unlink()
    gpu_kernels.write_units(csrc, folder)
    assert {path.stem for path in folder.iterdir()} == {"fingerprint", "emulated_0", "color_clahe"}
