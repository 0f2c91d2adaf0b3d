# SPDX-License-Identifier: Apache-2.0
"""Watches the loaders of a program: how long its loops wait for batches, and how long they work."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

from torchdali._common.location import find_user_location
from torchdali.loop import PipelineLoader
from torchdali.plugin.base_iterator import _DaliBaseIterator

__all__ = ["EnoughBatches", "Watch", "watching"]


class EnoughBatches(BaseException):
    """Ends the program: enough was seen."""


class Watch:
    """What was seen of one loader.

    Attributes:
        loader: the object.
        location: the line that iterates over it; "" if unknown.
        iterators: how often an iterator was made.
        batches: that the loop got.
        first_ns: how long the first batch of the first iterator took.
        wait_ns: how long the loop waited for the other batches.
        step_ns: how long it worked between batches.
        trains: whether gradients were enabled.
    """

    def __init__(self, loader: Any, show: Callable[[int], object] = int) -> None:
        self.loader = loader
        self._show = show
        place = find_user_location()
        self.location = place.short() if place is not None else ""
        self.iterators = 0
        self.batches = 0
        self.first_ns = 0
        self.wait_ns = 0
        self.step_ns = 0
        self.trains = torch.is_grad_enabled()
        self._returned = 0

    @property
    def wait_share(self) -> float:
        """The part of the time that the loop waited, from 0 to 1; without the first batch."""
        total = self.wait_ns + self.step_ns
        return self.wait_ns / total if total else 0.0

    def begin(self) -> None:
        """Notes a new iterator."""
        self.iterators += 1
        self._returned = 0

    def take(self, give: Callable[[], Any], most: int) -> Any:
        """Returns the next batch.

        Raises:
            EnoughBatches: the loop has worked on `most` batches.
        """
        asked = time.perf_counter_ns()
        if self._returned:
            self.step_ns += asked - self._returned
        if self.batches >= most:
            raise EnoughBatches
        try:
            batch = give()
        except StopIteration:
            self._returned = 0  # what is between epochs is no step
            raise
        self._returned = time.perf_counter_ns()
        if self.batches:
            self.wait_ns += self._returned - asked
        else:
            self.first_ns = self._returned - asked
        self.batches += 1
        self._show(self.batches)
        return batch


class _Watched:
    """An iterator that is watched."""

    def __init__(self, iterator: Any, watch: Watch, most: int) -> None:
        self._iterator, self._watch, self._most = iterator, watch, most

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:
        return self._watch.take(self._iterator.__next__, self._most)

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


@contextlib.contextmanager
def watching(most: int, show: Callable[[int], object] = int) -> Iterator[list[Watch]]:
    """Watches all loaders that are iterated over in the block.

    Args:
        most: EnoughBatches is raised in a loop that asks for more batches than that.
        show: called with the number of batches that a loop has got.
    """
    found: dict[int, Watch] = {}

    def watch_of(loader: Any) -> Watch:
        watch = found.get(id(loader))  # it keeps the loader, so that the id stays its own
        if watch is None:
            watch = found[id(loader)] = Watch(loader, show)
        return watch

    def watched_iter(original: Any) -> Any:
        @functools.wraps(original)
        def __iter__(self: Any) -> Any:
            watch = watch_of(self)
            watch.begin()
            return _Watched(original(self), watch, most)

        return __iter__

    original_next = _DaliBaseIterator.__next__

    @functools.wraps(original_next)
    def watched_next(self: Any) -> Any:
        watch = watch_of(self)
        watch.iterators = max(watch.iterators, 1)
        return watch.take(lambda: original_next(self), most)

    loaders: list[Any] = [DataLoader, PipelineLoader]
    originals = [loader.__iter__ for loader in loaders]
    seen: list[Watch] = []
    try:
        for loader, original in zip(loaders, originals, strict=True):
            loader.__iter__ = watched_iter(original)
        _DaliBaseIterator.__next__ = watched_next  # type: ignore[method-assign]
        yield seen
    finally:
        for loader, original in zip(loaders, originals, strict=True):
            loader.__iter__ = original
        _DaliBaseIterator.__next__ = original_next  # type: ignore[method-assign]
        seen.extend(found.values())
