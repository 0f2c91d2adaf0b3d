# SPDX-License-Identifier: Apache-2.0
"""What is done to batches before the user gets them, while the user has those before them."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchdali.loader._dataset.progress import Mark

__all__ = ["DeviceLayer", "Layer", "PlainDeviceLayer", "Pull", "mapped"]

# A function that returns the next batch with its marks, or raises StopIteration.
Pull = Callable[[], tuple[Any, list[Mark]]]


def mapped(data: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """Returns a structure with its tensors replaced by what a function returns for them."""
    if isinstance(data, torch.Tensor):
        return function(data)
    if isinstance(data, Mapping):
        items = {key: mapped(value, function) for key, value in data.items()}
        try:
            return type(data)(items)  # type: ignore[call-arg]
        except TypeError:
            return items
    if isinstance(data, tuple):
        values = [mapped(value, function) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    if isinstance(data, list):
        return [mapped(value, function) for value in data]
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        fields = [f for f in dataclasses.fields(data) if f.init]
        changed = {f.name: mapped(getattr(data, f.name), function) for f in fields}
        return dataclasses.replace(data, **changed)
    if hasattr(data, "to") and callable(data.to):  # a batch class of the user's
        return function(data)
    return data


class Layer:
    """Keeps some batches in work; what cannot be made is raised in its place."""

    depth = 1

    def __init__(self) -> None:
        self._queue: collections.deque[tuple[Any, list[Mark], BaseException | None]] = (
            collections.deque()
        )
        self._ended = False

    def begin(self, batch: Any) -> Any:
        """Starts work on a batch; returns what finish() needs."""
        raise NotImplementedError

    def finish(self, begun: Any) -> Any:
        """Returns the batch for the user."""
        raise NotImplementedError

    def clear(self) -> None:
        """Drops what is in work."""
        self._queue.clear()
        self._ended = False

    def next(self, pull: Pull) -> tuple[Any, list[Mark]]:
        """Returns the next batch; begins others."""
        while len(self._queue) <= self.depth and not self._ended:
            try:
                batch, marks = pull()
                self._queue.append((self.begin(batch), marks, None))
            except StopIteration:
                self._ended = True
            except Exception as error:
                self._queue.append((None, [], error))
                break
        if not self._queue:
            raise StopIteration
        begun, marks, failure = self._queue.popleft()
        if failure is not None:
            raise failure
        return self.finish(begun), marks


class DeviceLayer(Layer):
    """Copies batches to a GPU beside its work: from page-locked memory, on a stream of its own.

    Args:
        device: of a GPU.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def begin(self, batch: Any) -> Any:
        """See Layer. The page-locked copy is kept until the copy to the device is done."""
        locked: list[Any] = []

        def copy(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.device.type == "cpu":
                value = value if value.is_pinned() else value.pin_memory()
                locked.append(value)
            return value.to(self._device, non_blocking=True)

        with torch.cuda.stream(self._stream):
            moved = mapped(batch, copy)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record(self._stream)
        return moved, done, locked

    def finish(self, begun: Any) -> Any:
        """See Layer."""
        moved, done, _ = begun
        current = torch.cuda.current_stream(self._device)
        current.wait_event(done)

        def note(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                value.record_stream(current)
            return value

        return mapped(moved, note)


class PlainDeviceLayer(Layer):
    """Copies batches to a device that is no CUDA device, when the user asks for them."""

    depth = 0

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device

    def begin(self, batch: Any) -> Any:
        """See Layer."""
        return batch

    def finish(self, begun: Any) -> Any:
        """See Layer."""
        return mapped(begun, lambda value: value.to(self._device))
