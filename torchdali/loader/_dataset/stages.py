# SPDX-License-Identifier: Apache-2.0
"""Processes batches while the user works on earlier ones."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchdali.loader._dataset.progress import Step

__all__ = ["Fetch", "PlainDeviceStage", "Stage", "StreamDeviceStage", "device_stage", "map_tensors"]

# Returns the next batch with its steps, or raises StopIteration.
Fetch = Callable[[], tuple[Any, list[Step]]]


def map_tensors(data: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """Returns a structure with its tensors replaced by the results of a function."""
    if isinstance(data, torch.Tensor):
        return function(data)
    if isinstance(data, Mapping):
        items = {key: map_tensors(value, function) for key, value in data.items()}
        try:
            return type(data)(items)  # type: ignore[call-arg]
        except TypeError:
            return items
    if isinstance(data, tuple):
        values = [map_tensors(value, function) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    if isinstance(data, list):
        return [map_tensors(value, function) for value in data]
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        fields = [f for f in dataclasses.fields(data) if f.init]
        changed = {f.name: map_tensors(getattr(data, f.name), function) for f in fields}
        return dataclasses.replace(data, **changed)
    if hasattr(data, "to") and callable(data.to):  # a batch class of the user's
        return function(data)
    return data


class Stage:
    """Keeps `depth` batches in work in addition to the one that is returned.

    An error of a batch is raised when that batch would be returned.
    """

    depth = 1

    def __init__(self) -> None:
        self._queue: collections.deque[tuple[Any, list[Step], BaseException | None]] = (
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
        """Drops the batches in work."""
        self._queue.clear()
        self._ended = False

    def next(self, fetch: Fetch) -> tuple[Any, list[Step]]:
        """Returns the next batch, and begins others."""
        while len(self._queue) <= self.depth and not self._ended:
            try:
                batch, steps = fetch()
                self._queue.append((self.begin(batch), steps, None))
            except StopIteration:
                self._ended = True
            except Exception as error:
                self._queue.append((None, [], error))
                break
        if not self._queue:
            raise StopIteration
        begun, steps, failure = self._queue.popleft()
        if failure is not None:
            raise failure
        return self.finish(begun), steps


class TwoStages(Stage):
    """Two stages, one after the other."""

    def __init__(self, first: Stage, second: Stage) -> None:
        super().__init__()
        self._first, self._second = first, second

    def next(self, fetch: Fetch) -> tuple[Any, list[Step]]:
        """See Stage."""
        return self._second.next(lambda: self._first.next(fetch))

    def clear(self) -> None:
        """See Stage."""
        self._first.clear()
        self._second.clear()


class StreamDeviceStage(Stage):
    """Copies batches to a GPU from page-locked memory, on its own CUDA stream.

    Args:
        device: a GPU.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def begin(self, batch: Any) -> Any:
        """See Stage. The page-locked copy is kept until the copy to the device is done."""
        locked: list[Any] = []

        def copy(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.device.type == "cpu":
                value = value if value.is_pinned() else value.pin_memory()
                locked.append(value)
            return value.to(self._device, non_blocking=True)

        with torch.cuda.stream(self._stream):
            moved = map_tensors(batch, copy)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record(self._stream)
        return moved, done, locked

    def finish(self, begun: Any) -> Any:
        """See Stage."""
        moved, done, _ = begun
        current = torch.cuda.current_stream(self._device)
        current.wait_event(done)

        def record(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                value.record_stream(current)
            return value

        return map_tensors(moved, record)


class PlainDeviceStage(Stage):
    """Copies batches to a device without CUDA streams, when the user asks for them."""

    depth = 0

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device

    def begin(self, batch: Any) -> Any:
        """See Stage."""
        return batch

    def finish(self, begun: Any) -> Any:
        """See Stage."""
        return map_tensors(begun, lambda value: value.to(self._device))


def device_stage(device: torch.device | None) -> Stage | None:
    """Returns what copies batches to a device, None if they stay where they are."""
    if device is None or device.type == "cpu":
        return None
    return StreamDeviceStage(device) if device.type == "cuda" else PlainDeviceStage(device)


def in_turn(first: Stage | None, second: Stage | None) -> Stage | None:
    """Returns two stages as one, None if there are none."""
    if first is None or second is None:
        return first or second
    return TwoStages(first, second)
