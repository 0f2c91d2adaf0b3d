# SPDX-License-Identifier: Apache-2.0
"""DALI's module for everything below the language: batches and tensors, the registry, memory.

Operators go by the names of DALI's backend here: "Resize", "decoders__Image". Memory is torch's, so
the functions about memory ask torch's allocators, and the knobs of DALI's own allocator (``Set*``)
change nothing but what ``Get*`` returns; they say so with a warning.
"""

from __future__ import annotations

import ctypes
import gc
import os
import warnings
from typing import TYPE_CHECKING, Any

import torch

from torchdali import types as types
from torchdali._common.location import user_stack_level
from torchdali._common.unsupported import names_of
from torchdali._engine import libraries
from torchdali._engine.dali_schema import OpSchema, registered_operators
from torchdali._engine.dali_schema import find as _find
from torchdali.errors import ArgumentError, TorchdaliError, _make
from torchdali.pipeline._driver import driver_of
from torchdali.pipeline._live import live_pipelines
from torchdali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from torchdali.tensors._gpu import require_gpu

__all__ = [
    "CheckDLPackCapsule",
    "GetCudaVersion",
    "GetCufftVersion",
    "GetCxx11AbiFlag",
    "GetDeviceBufferGrowthFactor",
    "GetHostBufferGrowthFactor",
    "GetHostBufferShrinkThreshold",
    "GetNppVersion",
    "GetNvjpegVersion",
    "GetSchema",
    "IsDriverInitialized",
    "LoadLibrary",
    "OpSchema",
    "PreallocateDeviceMemory",
    "PreallocatePinnedMemory",
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "ReleaseUnusedMemory",
    "RestrictPinnedMemUsage",
    "SetBufferGrowthFactor",
    "SetDeviceBufferGrowthFactor",
    "SetHostBufferGrowthFactor",
    "SetHostBufferShrinkThreshold",
    "Stream",
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
    "TryGetSchema",
]

# -- the registry


def RegisteredCPUOps(internal_ops: bool = False) -> list[str]:
    """Returns the names of the operators that run on the CPU.

    Args:
        internal_ops: with those that have no name in `fn`.
    """
    return registered_operators("cpu", hidden=internal_ops)


def RegisteredGPUOps(internal_ops: bool = False) -> list[str]:
    """Returns the names of the operators that this build has a GPU implementation of."""
    return registered_operators("gpu", hidden=internal_ops)


def RegisteredMixedOps(internal_ops: bool = False) -> list[str]:
    """Returns the names of the operators with CPU inputs and GPU outputs that this build has."""
    return registered_operators("mixed", hidden=internal_ops)


def TryGetSchema(name: str, follow_aliases: bool = False) -> OpSchema | None:
    """Returns what is known about an operator, or None if there is no such operator.

    Args:
        name: as RegisteredCPUOps() has it.
        follow_aliases: old names ("ImageDecoder") stand for the operators that replaced them.
    """
    return _find(name, follow_aliases)


def GetSchema(name: str, follow_aliases: bool = False) -> OpSchema:
    """Returns what is known about an operator, as TryGetSchema().

    Raises:
        ArgumentError: there is no such operator.
    """
    schema = _find(name, follow_aliases)
    if schema is None:
        raise _make(ArgumentError, f'there is no operator "{name}"')
    return schema


def LoadLibrary(
    lib_path: str | os.PathLike[str], global_symbols: bool = False, allow_fail: bool = False
) -> None:
    """Adds the operators of a shared library, as `plugin_manager.load_library()`.

    Args:
        lib_path: a library compiled with the headers of torchdali.
        global_symbols: libraries that are loaded later see its symbols.
        allow_fail: warn instead of raising.

    Raises:
        FileError: there is no such file, unless `allow_fail`.
        UnsupportedError: it is not a library of operators for this version, unless `allow_fail`.
        ArgumentError: the name of an operator is taken, unless `allow_fail`.
    """
    try:
        libraries.load(lib_path, global_symbols)
    except TorchdaliError as error:
        if not allow_fail:
            raise
        warnings.warn(str(error), UserWarning, stacklevel=user_stack_level())


# -- memory


def ReleaseUnusedMemory() -> None:
    """Gives memory back that pipelines keep for their next batches, and torch's unused GPU memory.

    Batches that are still in use are not touched.
    """
    gc.collect()  # batches in reference cycles of the user's
    for pipeline in list(live_pipelines):
        driver_of(pipeline).release_unused_memory()
    if IsDriverInitialized():
        torch.cuda.empty_cache()


def PreallocateDeviceMemory(bytes: int, device_id: int) -> None:
    """Makes torch's allocator take GPU memory from the system ahead of its use.

    Args:
        bytes: how much.
        device_id: number of the GPU.

    Raises:
        UnsupportedError: there is no GPU.
    """
    require_gpu("PreallocateDeviceMemory")
    torch.empty(bytes, dtype=torch.uint8, device=torch.device("cuda", device_id))


def PreallocatePinnedMemory(bytes: int) -> None:
    """Makes torch's allocator take pinned host memory from the system ahead of its use.

    Raises:
        UnsupportedError: there is no GPU, for which memory could be pinned.
    """
    require_gpu("PreallocatePinnedMemory")
    torch.empty(bytes, dtype=torch.uint8, pin_memory=True)


def RestrictPinnedMemUsage() -> bool:
    """Returns whether DALI_RESTRICT_PINNED_MEM asks to do without pinned memory.

    CPU pipelines use none in either case.
    """
    value = os.environ.get("DALI_RESTRICT_PINNED_MEM", "0")
    return value.strip().lower() not in ("", "0", "false", "off", "no")


class _Knob:
    """A number of DALI's allocator that nothing here depends on."""

    def __init__(self, name: str, value: float, least: float, most: float) -> None:
        self.name = name
        self.value = value
        self.range = least, most

    def set(self, value: float) -> None:
        least, most = self.range
        if not least <= value <= most:
            raise _make(
                ArgumentError, f"{self.name} must be between {least} and {most}, got {value}"
            )
        self.value = float(value)
        warnings.warn(
            f"{self.name} has no effect: torch's allocators are used, not DALI's",
            UserWarning,
            stacklevel=3,
        )


# DALI 1.35 starts with these and takes these ranges.
_host_growth = _Knob("the growth factor of host buffers", 1.1, 1, 4)
_device_growth = _Knob("the growth factor of device buffers", 1.1, 1, 4)
_host_shrink = _Knob("the shrink threshold of host buffers", 0.5, 0, 1)


def GetHostBufferGrowthFactor() -> float:
    """Returns what was set; no effect."""
    return _host_growth.value


def SetHostBufferGrowthFactor(factor: float, /) -> None:
    """Remembers a number from 1 to 4; no effect, see the head of this page."""
    _host_growth.set(factor)


def GetDeviceBufferGrowthFactor() -> float:
    """Returns what was set; no effect."""
    return _device_growth.value


def SetDeviceBufferGrowthFactor(factor: float, /) -> None:
    """Remembers a number from 1 to 4; no effect, see the head of this page."""
    _device_growth.set(factor)


def SetBufferGrowthFactor(factor: float, /) -> None:
    """Remembers a number from 1 to 4 for host and device; no effect, see the head of this page."""
    _host_growth.set(factor)
    _device_growth.value = _host_growth.value


def GetHostBufferShrinkThreshold() -> float:
    """Returns what was set; no effect."""
    return _host_shrink.value


def SetHostBufferShrinkThreshold(threshold: float, /) -> None:
    """Remembers a number from 0 to 1; no effect, see the head of this page."""
    _host_shrink.set(threshold)


# -- this build, and CUDA


def GetCxx11AbiFlag() -> int:
    """Returns which ABI of the C++ library torch, and so the engine, is built with: 0 or 1."""
    return int(torch.compiled_with_cxx11_abi())


def GetCudaVersion() -> int:
    """Returns the CUDA version that torch is built with, such as 12080 for 12.8, or 0."""
    major, _, minor = (torch.version.cuda or "0.0").partition(".")
    return 1000 * int(major) + 10 * int(minor)


__cuda_version__ = GetCudaVersion()


def GetNvjpegVersion() -> int:
    """Returns the version of the nvJPEG that is linked, -1: the engine loads it when it is used."""
    return -1


def GetCufftVersion() -> int:
    """Returns -1: the engine does not use cuFFT."""
    return -1


def GetNppVersion() -> int:
    """Returns -1: the engine does not use NPP."""
    return -1


def IsDriverInitialized() -> bool:
    """Returns whether this process uses CUDA already."""
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


# Where dlpack.h has the DLTensor in what a capsule of each name points to: first, or after version,
# context, deleter and flags.
_DL_TENSORS = {b"dltensor": 0, b"dltensor_versioned": 32}
_DL_CUDA = 2  # kDLCUDA


def CheckDLPackCapsule(capsule: Any, /) -> tuple[bool, bool]:
    """Returns whether an object is a DLPack capsule not taken yet, and whether it is on a GPU."""
    if type(capsule).__name__ != "PyCapsule":
        return False, False
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    for name, offset in _DL_TENSORS.items():
        try:
            pointer = get(capsule, name)
        except ValueError:  # a capsule of something else, or one that was taken
            continue
        # DLTensor begins with the address of the data and the device's type.
        device = pointer + offset + ctypes.sizeof(ctypes.c_void_p)
        return True, ctypes.c_int32.from_address(device).value == _DL_CUDA
    return False, False


class Stream:
    """A new CUDA stream.

    Args:
        device_id: number of the GPU; None: torch's current one.

    Raises:
        UnsupportedError: there is no GPU.
    """

    def __init__(self, device_id: int | None, /) -> None:
        require_gpu("Stream")
        self._stream = torch.cuda.Stream(device_id)  # type: ignore[no-untyped-call]

    @property
    def device_id(self) -> int:
        """Number of the GPU."""
        return int(self._stream.device_index)

    @property
    def handle(self) -> int:
        """The stream as an integer, a ``cudaStream_t``."""
        return self._stream.cuda_stream

    def __repr__(self) -> str:
        return f"Stream(device_id={self.device_id}, handle={self.handle:#x})"


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
