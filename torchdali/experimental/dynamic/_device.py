# SPDX-License-Identifier: Apache-2.0
"""Devices of the dynamic mode: the CPU and GPUs."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from torchdali._eager import devices
from torchdali._eager.batch import Batch as Samples
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make

__all__ = ["Device", "check_cpu", "device", "placed", "told"]

_TYPES = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "mixed": "gpu"}
_DLPACK = {1: "cpu", 2: "gpu", 3: "cpu"}  # kDLCPU, kDLCUDA, kDLCUDAHost


class Device:
    """A device: "cpu", or a GPU.

    Args:
        name: "cpu", "gpu" or "cuda", with a number or not ("gpu:1").
        device_id: number of the GPU.

    Raises:
        ArgumentError: there is no such device.
    """

    CPU: ClassVar[Device]

    def __init__(self, name: str, device_id: int | None = None) -> None:
        kind, _, number = str(name).partition(":")
        if kind not in _TYPES or (number and not number.isdigit()):
            raise _make(ArgumentError, f'a device is "cpu" or "gpu", got {name!r}')
        if number and device_id is not None:
            raise _make(ArgumentError, f"two numbers for one device: {name!r} and {device_id}")
        self.device_type = _TYPES[kind]
        own = int(number) if number else device_id
        self.device_id = self.default_device_id(self.device_type) if own is None else own

    @staticmethod
    def current() -> Device:
        """Returns the device of operators without inputs."""
        return Device.CPU

    @staticmethod
    def default_device_id(device_type: str) -> int | None:
        """Returns the number of a device that was named without one."""
        return 0 if device_type == "gpu" else None

    @staticmethod
    def from_dlpack(dlpack_device: Any) -> Device:
        """Returns the device that ``__dlpack_device__()`` returned."""
        kind = Device.type_from_dlpack(dlpack_device[0])
        return Device(kind, int(dlpack_device[1]) if kind == "gpu" else None)

    @staticmethod
    def type_from_dlpack(dev_type: Any) -> str:
        """Returns "cpu" or "gpu" for DLPack's number of a kind of devices."""
        if int(dev_type) not in _DLPACK:
            raise _make(ArgumentError, f"{dev_type!r} is no kind of devices that DALI has")
        return _DLPACK[int(dev_type)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f'Device("{self}")'

    def __str__(self) -> str:
        return self.device_type if self.device_id is None else f"gpu:{self.device_id}"

    def __enter__(self) -> Device:
        if self.device_type != "cpu":
            raise _make(
                UnsupportedError,
                f"`with {self!r}` is not available in this version",
                fix='pass device="gpu", and choose the GPU with torch.cuda.device()',
            )
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pass


Device.CPU = Device("cpu")


def device(obj: Device | str | torch.device, id: int | None = None) -> Device:
    """Returns the device that a name, a torch.device or a Device stands for.

    Args:
        obj: what names it.
        id: number of the GPU.
    """
    if isinstance(obj, Device):
        return obj if id is None else Device(obj.device_type, id)
    if isinstance(obj, torch.device):
        return Device(obj.type, obj.index if id is None else id)
    if not isinstance(obj, str):
        raise _make(ArgumentTypeError, f"a device is a Device, a str or a torch.device: {obj!r}")
    return Device(obj, id)


def told(where: Any) -> str | torch.device | None:
    """Returns an argument `device` as operators on tensors take it.

    Raises:
        ArgumentError, ArgumentTypeError: there is no such device.
    """
    if where is None or isinstance(where, (str, torch.device)):
        return where
    return str(device(where))


def placed(samples: Samples, where: Any) -> Samples:
    """Returns samples on a device, copied if necessary; None: where they are.

    Raises:
        UnsupportedError: there is no such GPU.
    """
    kind, index = devices.asked_for(told(where))
    if kind is None:
        return samples
    return samples.cpu() if kind == "cpu" else samples.gpu(index if index >= 0 else None)


def check_cpu(what: str, where: Any) -> None:
    """Raises UnsupportedError for a device that is not the CPU; None is no device."""
    if where is not None and device(where).device_type != "cpu":
        raise _make(
            UnsupportedError,
            f"{what}: device {str(where)!r} is not available in this version",
            fix="leave out `device`, and take .gpu() of what is returned",
        )
