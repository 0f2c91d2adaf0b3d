# SPDX-License-Identifier: Apache-2.0
"""What this installation of torchdali is made of: ``python -m torchdali.info``."""

from __future__ import annotations

import argparse
import ctypes
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from torchdali._common.cpus import granted
from torchdali._engine.extension import _C, build_info

__all__ = ["CudaDevice", "CudaState", "cuda_state", "describe", "load_cuda_library", "main"]

CUDA_LIBRARY = Path(__file__).with_name("_cuda.so")
# Of some hundred codecs that FFmpeg can decode, those that are shown.
_USUAL_VIDEO = (
    "h264",
    "hevc",
    "vp8",
    "vp9",
    "av1",
    "mpeg2video",
    "mpeg4",
    "mjpeg",
    "prores",
    "ffv1",
)
_NAME_BYTES = 256  # cudaDeviceProp::name


@dataclass(frozen=True)
class CudaDevice:
    """One GPU, as the CUDA runtime sees it."""

    name: str
    capability: tuple[int, int]
    memory_bytes: int


@dataclass(frozen=True)
class CudaState:
    """What the GPU library could find out.

    Attributes:
        runtime: version of the CUDA runtime linked into the library.
        driver: newest CUDA version that the driver supports; None if there is no driver.
        devices: the GPUs, in CUDA's order.
        error: CUDA's message if the devices could not be queried, else "".
    """

    runtime: str
    driver: str | None
    devices: tuple[CudaDevice, ...]
    error: str


def load_cuda_library() -> ctypes.CDLL:
    """Returns the GPU library, which loads on machines without CUDA too.

    Raises:
        OSError: there is none in this build, or it could not be loaded.
    """
    if not CUDA_LIBRARY.exists():
        reason = build_info.CUDA_LIBRARY_MISSING or "it was deleted"
        raise OSError(f"torchdali was built without its GPU library: {reason}")
    return ctypes.CDLL(str(CUDA_LIBRARY))


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def cuda_state() -> CudaState:
    """Returns what the CUDA runtime in the GPU library sees.

    Raises:
        OSError: as load_cuda_library().
    """
    library = load_cuda_library()
    library.torchdali_cuda_error_string.restype = ctypes.c_char_p
    runtime, driver, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    status = library.torchdali_cuda_versions(ctypes.byref(runtime), ctypes.byref(driver))
    status = status or library.torchdali_cuda_device_count(ctypes.byref(count))
    devices = []
    for index in range(0 if status else count.value):
        name = ctypes.create_string_buffer(_NAME_BYTES)
        major, minor, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_longlong()
        pointers = [ctypes.byref(value) for value in (major, minor, memory)]
        status = library.torchdali_cuda_device(index, name, _NAME_BYTES, *pointers)
        if status:
            break
        capability = (major.value, minor.value)
        devices.append(CudaDevice(name.value.decode(), capability, memory.value))
    return CudaState(
        runtime=_version(runtime.value),
        driver=_version(driver.value) if driver.value else None,
        devices=tuple(devices),
        error=library.torchdali_cuda_error_string(status).decode() if status else "",
    )


def _cuda_lines() -> Iterator[str]:
    version = torch.version.cuda
    yield f"  torch built with:   {'CUDA ' + version if version else 'no CUDA'}"
    try:
        state = cuda_state()
    except OSError as error:
        yield f"  GPU library:        {error}"
        return
    yield f"  GPU library:        loads; CUDA runtime {state.runtime}, sm: {build_info.CUDA_ARCHS}"
    yield f"  driver:             {'CUDA ' + state.driver if state.driver else 'none found'}"
    if state.error and state.driver:
        yield f"  devices:            none: {state.error}"
    for index, device in enumerate(state.devices):
        major, minor = device.capability
        memory = f"{device.memory_bytes / 2**30:.1f} GiB"
        yield f"  device {index}:           {device.name}, capability {major}.{minor}, {memory}"


def _video_lines() -> Iterator[str]:
    release, license, missing, codecs = _C.video_library()
    if missing:
        yield f"  {'video:':<20}{missing}"
        return
    yield f"  {'video:':<20}FFmpeg {release}, {license}"
    usual = [name for name in _USUAL_VIDEO if name in codecs]
    yield f"  {'':<20}{', '.join(usual)} and {len(codecs) - len(usual)} others"


def _gpu_library_lines() -> Iterator[str]:
    for name, found, missing in _C.gpu_libraries():
        yield f"  {name + ':':<20}{'library found' if found else f'not found: {missing}'}"


def describe() -> str:
    """Returns the report that ``python -m torchdali.info`` prints."""
    python = f"{platform.python_version()} ({platform.system()} {platform.machine()})"
    lines = [
        f"torchdali {build_info.VERSION}",
        f"  python:             {python}",
        f"  torch:              {torch.__version__}; compiled with {build_info.TORCH_VERSION}",
        f"  instruction set:    {_C.instruction_set()}",
        f"  CPUs:               {granted()}",
        "codecs",
    ]
    for name, decoder, missing, package in _C.codecs():
        lack = f"{missing or 'not in this build'}: install {package}, rebuild" if package else ""
        between = "; not in this build: " if decoder and lack else ""
        lines.append(f"  {name + ':':<20}{decoder}{between}{lack}")
    library = _C.sndfile_version() or "not found: pip install soundfile"
    lines += [f"  {'WAV, FLAC:':<20}built in", f"  {'Ogg, MP3:':<20}{library}"]
    lines += [*_video_lines(), "CUDA", *_cuda_lines(), *_gpu_library_lines()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m torchdali.info") -> int:
    """Runs the command; returns its exit status."""
    argparse.ArgumentParser(prog=prog, description=__doc__).parse_args(arguments)
    sys.stdout.write(describe() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
