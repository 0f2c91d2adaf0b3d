# SPDX-License-Identifier: Apache-2.0
"""The iterators of a loader: in the process itself, and with workers."""

from __future__ import annotations

import collections
import functools
import time
import warnings
from typing import Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data import _utils as torch_utils
from torch.utils.data import dataloader as torch_loader

from torchdali.errors import DataError, _make
from torchdali.loader._dataset.ahead import Layer
from torchdali.loader._dataset.fetch import NOTHING, Errors, Fetcher, Kind
from torchdali.loader._dataset.layers import layer_of
from torchdali.loader._dataset.processes import LoaderWork, Processes
from torchdali.loader._dataset.progress import Mark, Progress
from torchdali.loader._dataset.sampling import Sampling, generators_of, random_state, set_generators
from torchdali.loader._dataset.threads import Threads

__all__ = ["LoaderIter", "SingleIter", "WorkersIter"]


def _kind_of(loader: Any) -> Kind:
    return Kind(
        iterable=loader._dataset_kind == torch_loader._DatasetKind.Iterable,
        batched=loader._auto_collation,
        batch_size=loader.batch_size or 1,
        drop_last=loader.drop_last,
        on_error=loader.on_error,
        max_errors=loader.max_errors,
    )


def _of_new_epoch(states: list[Any]) -> list[Any]:
    """Returns where workers begin behind an epoch that has ended: what datasets know goes on."""
    return [
        None if s is None else {"dataset": s["dataset"] or s["iterator"], "iterator": None}
        for s in states
    ]


class LoaderIter(torch_loader._BaseDataLoaderIter):
    """What both have in common: the order, how far the user is, errors, what is done ahead.

    Args:
        loader: a DataLoader.
        state: to go on from, of its state_dict().
    """

    def __init__(self, loader: Any, state: dict[str, Any] | None) -> None:
        generators = generators_of(loader)
        kept = None
        if state is not None:
            loader._IterableDataset_len_called = state["length"]
            if state["random"] is not None:
                set_generators(generators, state["random"])
            if not state["begun"]:  # it begins as it would have begun where the state was taken
                kept = torch.get_rng_state()
                torch.set_rng_state(state["random"]["global"])
        self._before = random_state(generators)
        super().__init__(loader)
        if kept is not None:
            assert state is not None
            first = random_state(generators)
            torch.set_rng_state(kept)
            state = {**state, "seed": self._base_seed}
            if state["sampling"] is not None:
                order = {"iter": state["random"], "first": first}
                state["sampling"] = {**state["sampling"], **order}
        elif state is not None and not state["finished"]:
            self._base_seed = state["seed"]
        self._resumed = state
        self._kind = _kind_of(loader)
        self._layer: Layer | None = layer_of(loader)
        self._waits = loader._waits
        self._marks: list[Mark] = []
        self._tickets = 0

    def _begin(self, loader: Any, sampling_made: Any = None) -> None:
        """Begins an epoch, or goes on with one."""
        state, self._resumed = self._resumed, None
        self._states: list[Any] = [None] * max(self._num_workers, 1)
        if state is not None:
            self._states = state["workers"]
            if state["finished"]:
                self._states, state = _of_new_epoch(self._states), None
        order = state["sampling"] if state else None
        self._sampling = Sampling(loader, order, before=self._before, made=sampling_made)
        self._pending = collections.deque(state["ahead"] if state else ())
        self._progress = Progress(self._sampling, self._base_seed, self._num_workers, state)
        self._num_yielded = self._progress.given
        loader._set(_progress=self._progress)
        self._marks = []

    def _draw(self) -> Any:
        """Returns the next indices; raises StopIteration where there are no more."""
        if self._kind.iterable:
            return None
        return self._pending.popleft() if self._pending else next(self._sampling)

    def __next__(self) -> Any:
        start = time.perf_counter_ns()
        given = False
        try:
            batch = super().__next__()
            given = True
        finally:
            self._waits.add(start, given)
        return batch

    def _pull(self) -> tuple[Any, list[Mark]]:
        """Returns the next batch, and what the user has got with it."""
        raise NotImplementedError

    def _next_data(self) -> Any:
        progress = self._progress
        if progress.finished:
            raise StopIteration
        try:
            data, marks = self._layer.next(self._pull) if self._layer else self._pull()
        except StopIteration:
            marks, self._marks = self._marks, []
            for mark in marks:
                progress.note(mark)
            progress.finished = True
            self._end()
            raise
        for mark in marks:
            progress.note(mark)
        return data

    def _end(self) -> None:
        """An epoch has ended."""

    def _pinned(self, data: Any) -> Any:
        if self._pin_memory:
            pin: Any = torch_utils.pin_memory.pin_memory
            return pin(data, self._pin_memory_device)
        return data

    def _count(self, errors: Errors | None) -> None:
        """Counts samples that could not be read.

        Raises:
            DataError: they are too many.
        """
        if errors is None or not errors.count:
            return
        progress = self._progress
        if not progress.errors:
            done = "are left out" if self._kind.on_error == "skip" else "are replaced by others"
            warnings.warn(
                f"a sample of {type(self._dataset).__name__} could not be read; such samples "
                f"{done} (on_error={self._kind.on_error!r}), and counted in error_count. The first "
                f"one, {errors.first}",
                stacklevel=6,
            )
        progress.errors += errors.count
        if progress.errors > self._kind.max_errors:
            raise _make(
                DataError,
                f"{progress.errors} samples of this epoch could not be read, more than "
                f"max_errors={self._kind.max_errors}. One of them, {errors.first}",
                fix="repair the dataset, or raise max_errors",
            )


class SingleIter(LoaderIter):
    """Without workers."""

    def __init__(self, loader: Any, state: dict[str, Any] | None) -> None:
        super().__init__(loader, state)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            settings = torch.utils.data.graph_settings
            settings.apply_sharding(self._dataset, self._world_size, self._rank)
        self._begin(loader, self._sampler_iter)
        self._fetcher = Fetcher(self._dataset, self._kind, self._collate_fn, self._states[0])
        self._errors = Errors()
        if self._layer is None:
            self._progress.fetcher = self._fetcher

    def _next_data(self) -> Any:
        if self._layer is not None:
            return super()._next_data()
        progress = self._progress
        if progress.finished:
            raise StopIteration
        try:
            while True:
                errors = self._errors
                data = self._fetcher.fetch(self._draw(), errors)
                if errors.count:
                    self._errors = Errors()
                    self._count(errors)
                if data is not NOTHING:
                    break
        except StopIteration:
            progress.finished = True
            raise
        progress.given += 1
        return self._pinned(data) if self._pin_memory else data

    def _pull(self) -> tuple[Any, list[Mark]]:
        while True:
            indices = self._draw()
            ticket = self._tickets = self._tickets + 1
            if not self._kind.iterable:
                self._progress.drew(ticket, indices)
            errors = Errors()
            data = self._fetcher.fetch(indices, errors)
            self._count(errors)
            state = self._fetcher.state() if self._fetcher.has_state else None
            self._marks.append(Mark(ticket, 0, state, is_batch=data is not NOTHING))
            if data is not NOTHING:
                marks, self._marks = self._marks, []
                return self._pinned(data), marks


class WorkersIter(LoaderIter):
    """With worker processes or threads.

    A loader with persistent workers has one, which it resets for each epoch.
    """

    def __init__(self, loader: Any, state: dict[str, Any] | None) -> None:
        self._crew: Processes | Threads | None = None
        super().__init__(loader, state)
        self._in_order = loader.in_order
        self._depth = loader.prefetch_factor
        self._timeout = loader.timeout
        self._threads = loader.workers == "threads"
        self._context = loader.multiprocessing_context
        self._worker_init_fn = loader.worker_init_fn
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            self._worker_init_fn = functools.partial(
                torch_loader._sharding_worker_init_fn,
                self._worker_init_fn,
                self._world_size,
                self._rank,
            )
        self._reset(loader, first_iter=True)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._before = random_state(generators_of(loader))
        super()._reset(loader, first_iter)
        if self._layer is not None:
            self._layer.clear()
        self._begin(loader, self._sampler_iter)
        if self._crew is not None and self._crew.is_lost:
            self._shutdown_workers()
        fresh = self._crew is None
        if fresh:
            self._crew = self._make_crew()
        else:
            self._crew.begin_epoch(self._shared_seed)  # type: ignore[union-attr]
        assert self._crew is not None
        self._jobs: dict[int, int] = {}  # ticket -> lane
        lanes = self._crew.lanes
        self._active = set(range(lanes)) - self._progress.ended
        depth = self._depth * (1 if lanes > 1 else self._num_workers)
        first = self._progress.turn
        for turn in range(first, first + lanes * depth):
            self._post(turn % lanes)
        if fresh:
            self._crew.start()

    def _make_crew(self) -> Processes | Threads:
        kind = self._kind
        if self._threads:
            return Threads(
                self._dataset,
                self._collate_fn,
                self._worker_init_fn,
                kind,
                self._num_workers,
                int(self._base_seed),
                self._states[0],
                self._timeout,
            )
        work = LoaderWork(
            self._dataset,
            self._collate_fn,
            self._worker_init_fn,
            kind,
            int(self._base_seed),
            self._states,
            self._shared_seed,
        )
        by_name = self._in_order or kind.iterable
        return Processes(work, self._num_workers, self._context, self._timeout, by_name)

    def _post(self, lane: int) -> None:
        if lane not in self._active:
            return
        try:
            indices = self._draw()
        except StopIteration:
            return
        assert self._crew is not None
        ticket = self._tickets = self._tickets + 1
        if not self._kind.iterable:
            self._progress.drew(ticket, indices)
        self._jobs[ticket] = lane
        self._crew.post(ticket, lane, indices)

    def _pull(self) -> tuple[Any, list[Mark]]:
        while self._jobs:
            assert self._crew is not None
            ticket, reply = self._crew.take(self._in_order)
            lane = self._jobs.pop(ticket)
            if lane not in self._active:
                continue  # it was asked before it was known to have ended
            if reply.ended:
                self._active.discard(lane)
            worker = 0 if self._threads else reply.worker
            is_batch = reply.data is not NOTHING
            self._marks.append(Mark(ticket, worker, reply.state, reply.ended, is_batch))
            self._post(lane)
            self._count(reply.errors)
            if reply.failure is not None:
                reply.failure.reraise()
            if reply.data is not NOTHING:
                marks, self._marks = self._marks, []
                return self._pinned(reply.data), marks
        raise StopIteration

    def _end(self) -> None:
        if not self._persistent_workers:
            self._shutdown_workers()

    def _shutdown_workers(self) -> None:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()

    def __del__(self) -> None:
        self._shutdown_workers()
