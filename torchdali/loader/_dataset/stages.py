# SPDX-License-Identifier: Apache-2.0
"""Processes batches while the user works on earlier ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from torchdali.loader._dataset.fetch import NO_SAMPLES
from torchdali.loader._dataset.progress import Progress, Step

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


@dataclasses.dataclass(frozen=True, eq=False)
class _Entry:
    """A batch in work.

    Attributes:
        begun: what finish() needs.
        steps: that end with the batch.
        error: that is raised instead of the batch; None: there is none.
    """

    begun: Any
    steps: list[Step]
    error: Exception | None = None


class Stage:
    """Keeps `depth` batches in work in addition to the one that is returned.

    An error of a batch is raised when that batch would be returned. next() returns a batch again
    until done() says that the caller has it, so that an interruption loses none.

    Attributes:
        progress: of the loader in this epoch.
    """

    depth = 1
    progress: Progress | None = None

    def __init__(self) -> None:
        self._queue: tuple[_Entry, ...] = ()
        self._fetched: tuple[Any, list[Step]] | None = None  # not begun yet
        self._returned: _Entry | None = None  # by next(), and not done
        self._ended = False
        self._passed: list[Step] = []  # of batches that the user does not get
        self._finishing: list[Step] = []

    def begin(self, batch: Any) -> Any:
        """Starts work on a batch; returns what finish() needs. May be called again for a batch."""
        raise NotImplementedError

    def finish(self, begun: Any) -> Any:
        """Returns the batch for the user, or NO_SAMPLES; the same one if it is called again."""
        raise NotImplementedError

    def release(self, begun: Any) -> None:
        """The user has what finish() has returned."""

    @property
    def passed(self) -> list[Step]:
        """The steps of batches that the user does not get, since the last one that it gets."""
        return self._passed

    def clear(self) -> None:
        """Drops the batches in work."""
        self._queue, self._fetched, self._returned, self._ended = (), None, None, False
        self._passed = []

    def next(self, fetch: Fetch, fetched: Callable[[], None]) -> tuple[Any, list[Step]]:
        """Returns the next batch, and begins others.

        Args:
            fetch: returns a batch, the same one until `fetched` is called.
            fetched: says that the batch is here.
        """
        while True:
            data = self._next(fetch, fetched)
            if data is not NO_SAMPLES:
                return data, [*self._passed, *self._queue[0].steps]
            self._pass_over(self._queue[0].steps)
            self.release(self._queue[0].begun)
            self._queue, self._returned = self._queue[1:], None

    @property
    def _has_failed(self) -> bool:
        return bool(self._queue) and self._queue[-1].error is not None

    def _pass_over(self, steps: Sequence[Step]) -> None:
        self._passed += [dataclasses.replace(step, has_batch=False) for step in steps]

    def _next(self, fetch: Fetch, fetched: Callable[[], None]) -> Any:
        # Nothing is fetched after an error until the user has it: it may be repaired then.
        while len(self._queue) <= self.depth and not (self._ended or self._has_failed):
            try:
                if self._fetched is None:
                    self._fetched = fetch()
                fetched()
                batch, steps = self._fetched
                entry = _Entry(self.begin(batch), steps)
            except StopIteration:
                self._ended = True
            except Exception as error:
                entry = _Entry(None, [], error)
                self._queue, self._fetched = (*self._queue, entry), None
            else:
                self._queue, self._fetched = (*self._queue, entry), None
        if not self._queue:
            raise StopIteration
        entry = self._queue[0]
        try:
            if entry.error is not None:
                raise entry.error
            self._finishing = entry.steps
            return self.finish(entry.begun)
        except Exception:
            self._queue = self._queue[1:]
            self._pass_over(entry.steps)
            raise
        finally:
            self._returned = entry
            del entry  # an error refers to this frame

    def done(self) -> None:
        """The caller has the batch that next() has returned. May be called again."""
        entry = self._returned
        if entry is not None and self._queue and self._queue[0] is entry:
            self.release(entry.begun)
            self._queue, self._passed = self._queue[1:], []
        self._returned = None


class TwoStages(Stage):
    """Two stages, one after the other."""

    def __init__(self, first: Stage, second: Stage) -> None:
        super().__init__()
        self._first, self._second = first, second

    @property
    def progress(self) -> Progress | None:
        """See Stage."""
        return self._first.progress

    @progress.setter
    def progress(self, progress: Progress | None) -> None:
        self._first.progress = progress

    def next(self, fetch: Fetch, fetched: Callable[[], None]) -> tuple[Any, list[Step]]:
        """See Stage."""
        return self._second.next(lambda: self._first.next(fetch, fetched), self._first.done)

    def done(self) -> None:
        """See Stage."""
        self._second.done()

    @property
    def passed(self) -> list[Step]:
        """See Stage."""
        return [*self._first.passed, *self._second.passed]

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
