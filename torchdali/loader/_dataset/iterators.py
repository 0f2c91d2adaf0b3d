# SPDX-License-Identifier: Apache-2.0
"""What iterators of a loader have in common, and the iterator without workers."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe

from torchdali.loader._dataset.accelerated import user_collate
from torchdali.loader._dataset.failures import EpochFailures
from torchdali.loader._dataset.fetch import (
    NO_SAMPLES,
    Fetcher,
    FetchOptions,
    SampleErrors,
    is_stateful,
)
from torchdali.loader._dataset.fill_stage import FillStage, check_single_process
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.progress import Progress, Step
from torchdali.loader._dataset.randomness import Generators
from torchdali.loader._dataset.resuming import (
    epoch_number,
    is_between_epochs,
    keeps_workers,
    worker_states,
)
from torchdali.loader._dataset.sampling import IndexStream
from torchdali.loader._dataset.stages import device_stage, in_turn
from torchdali.loader._dataset.torch_internals import (
    BaseIterator,
    set_reported_length,
)

if TYPE_CHECKING:
    from torchdali.loader._dataset.pipeline_stage import PipelineStage

__all__ = ["InProcessIterator", "LoaderIterator"]


def _pipeline_stage(loader: Any, state: LoaderState) -> PipelineStage | None:
    """Returns the work of the pipeline of a loader; None: it has none."""
    if loader.pipeline is None:
        return None
    from torchdali.loader._dataset.pipeline_stage import PipelineStage

    return PipelineStage(loader, state)


class LoaderIterator(BaseIterator):
    """The common part of both iterators: the order, the progress, errors, and stages.

    Args:
        loader: a DataLoader.
        state: of the loader.
        resumed: what load_state_dict() was called with; None: nothing.
    """

    def __init__(self, loader: Any, state: LoaderState, resumed: dict[str, Any] | None) -> None:
        self._generators = generators = Generators(loader, state.generator)
        if resumed is not None:
            set_reported_length(loader, resumed["length"])
            generators.set_own(resumed["random"])
            generators.default.resume(resumed["random"]["global"])
        self._random_before = random_before = generators.state()
        with generators.default:
            super().__init__(loader)
        if resumed is not None and keeps_workers(loader, resumed):
            # Nothing is drawn in the middle of an epoch, nor for the next one of these workers.
            self.base_seed = resumed["seed"]
            generators.set_state(random_before)
            if not resumed["finished"]:
                self.shared_seed = resumed["shared_seed"]
        self._loader_state = state
        self._resumed = resumed
        self._options = FetchOptions.of(loader)
        self._pipeline = _pipeline_stage(loader, state)
        self._filling: FillStage | None = None
        if loader.fill_batches:
            check_single_process(loader)
            self._filling = FillStage(loader)
        made = in_turn(in_turn(self._pipeline, loader.__torchdali_stage__()), self._filling)
        copies = device_stage(loader.device)  # from page-locked memory, which it makes
        self._stage = in_turn(made, copies)
        self._pins_outputs = made is not None and copies is None
        state.random_streams.forget_seed()
        self._steps: list[Step] = []  # of jobs without a batch, until the next batch
        self._tickets = 0
        self._delivery: tuple[Any, list[Step]] | None = None  # that the user does not have yet
        self._loader: weakref.ref[Any] = weakref.ref(loader)
        self._resumed_at: tuple[int, int | None] | None = None  # batches given, number of the epoch

    @property
    def collate(self) -> Callable[[Any], Any]:
        """Makes a batch of samples; for a pipeline, its columns."""
        collate: Callable[[Any], Any] = user_collate(super().collate)
        if self._pipeline is None:
            return collate
        columns: Callable[[Any], Any] = collate.columns  # type: ignore[attr-defined]  # FieldCollate
        return columns

    def _start_epoch(self, loader: Any) -> None:
        """Begins an epoch, or continues the one that was resumed."""
        state, self._resumed = self._resumed, None
        resumed = state
        self._worker_states: list[Any] = worker_states(loader, state)
        if state is not None and is_between_epochs(state):
            IndexStream.load_samplers(loader, state["sampling"])
            state = None
        self._indices = IndexStream(
            loader,
            self._generators,
            state["sampling"] if state else None,
            before=self._random_before,
            iterator=self.sampler_iterator,
            ahead=state["ahead"] if state else (),
        )
        log = self._loader_state.bad_samples
        self._failures = EpochFailures(loader, log, resumed)
        self._progress = Progress(
            self._indices, self.base_seed, self._worker_states, self._keeps_states, state, log,
            self._filling is not None,
        )  # fmt: skip
        self._progress.shared_seed = self.shared_seed
        self._resumed_at = (state["given"], state["set_epoch"]) if state else None
        if self._stage is not None:
            self._stage.progress = self._progress
        if self._filling is not None and self._progress.filling is not None:
            self._filling.start_epoch(self._failures, self._progress.filling)
        if self._pipeline is not None:
            stream = self._loader_state.random_streams.begin(
                self._pipeline.given_seed, int(self.base_seed), resumed
            )
            self._progress.stream = stream
            self._pipeline.start_epoch(stream.seed, stream.position)
        self.set_batches_given(self._progress.given)
        self._loader_state.progress = self._progress
        self._steps, self._delivery = [], None

    @property
    def _keeps_states(self) -> bool:
        """Whether workers have states."""
        return self._options.iterable or is_stateful(self.dataset)

    def _next_indices(self) -> Any:
        """Returns the next indices, None for an iterable; raises StopIteration at the end."""
        return None if self._options.iterable else next(self._indices)

    def _next_job(self) -> tuple[int, Any]:
        """Returns the ticket and the indices of the next job; raises StopIteration at the end.

        They are the same until `_tickets` is set to the ticket.
        """
        ticket = self._tickets + 1
        return ticket, None if self._options.iterable else self._progress.take(ticket)

    def __next__(self) -> Any:
        start = time.perf_counter_ns()
        given = False
        try:
            try:
                batch = super().__next__()
            except StopIteration:
                if not self._begins_next_epoch():
                    raise
                batch = super().__next__()
            given = True
        finally:
            self._loader_state.clock.add(start, given)
        delivery = self._delivery
        if delivery is not None:  # no call follows that Ctrl-C could interrupt
            self._progress.due, self._delivery = delivery[1], None
        return batch

    def _begins_next_epoch(self) -> bool:
        """Begins the next epoch if this one ended without a batch, and was resumed for the next.

        The state was taken after the last batch of an epoch, and set_epoch() has been called with
        the number of another since: as Lightning does, which ends an epoch by the number of its
        batches.
        """
        loader, at = self._loader(), self._resumed_at
        if loader is None or at is None or at[0] != self._progress.given:
            return False
        if at[1] == epoch_number(loader):
            return False
        type(self).__init__(self, loader, self._loader_state, self._progress.state(loader))
        return True

    def _fetch(self) -> tuple[Any, list[Step]]:
        """Returns the next batch of the dataset, and the steps that end with it."""
        raise NotImplementedError

    def next_batch(self) -> Any:
        """See BaseIterator."""
        progress = self._progress
        progress.settle()
        if progress.finished:
            raise StopIteration
        self._failures.begin_batch(progress.given)
        try:
            data, steps = self._deliver()
        except StopIteration:
            passed = self._stage.passed if self._stage else []
            steps = [*passed, *self._steps]
            self._count(steps)
            progress.advance(steps)
            progress.finished = True
            self._end_epoch()
            raise
        self._failures.warn_of_engine()
        try:
            self._count(steps)
        except Exception:
            progress.advance(steps)  # it costs the batch
            self._delivery = None
            raise
        return self.pinned(data) if self._pins_outputs else data

    def _count(self, steps: Sequence[Step]) -> None:
        """Counts the samples that could not be read."""
        for step in steps:
            self._failures.count(step.errors)

    def _for_stage(self, data: Any) -> Any:
        """Returns a batch as stages take it. What a pipeline reads need not be page-locked."""
        return self.pinned(data) if self._pipeline is None else data

    def _num_samples(self, data: Any) -> int:
        """Returns how many samples of a batch the pipeline processes."""
        return 0 if self._pipeline is None or data is NO_SAMPLES else int(data.size)

    def _deliver(self) -> tuple[Any, list[Step]]:
        """Returns the next batch, and the same one again until the user has it."""
        if self._delivery is None:
            fetch, fetched = self._fetch, self._drop_fetched
            self._delivery = self._stage.next(fetch, fetched) if self._stage else fetch()
        if self._stage:
            self._stage.done()
        else:
            self._drop_fetched()
        return self._delivery

    def _drop_fetched(self) -> None:
        """The caller has the batch that _fetch() returned. May be called again."""

    def _end_epoch(self) -> None:
        """Called when an epoch has ended."""


class InProcessIterator(LoaderIterator):
    """Makes batches in the process itself, when they are asked for."""

    def __init__(self, loader: Any, state: LoaderState, resumed: dict[str, Any] | None) -> None:
        super().__init__(loader, state, resumed)
        if isinstance(self.dataset, (IterDataPipe, MapDataPipe)):
            torch.utils.data.graph_settings.apply_sharding(self.dataset, *self.shards)
        self._start_epoch(loader)
        self._fetcher = Fetcher(self.dataset, self._options, self.collate, self._worker_states[0])
        self._errors = SampleErrors()
        self._fetched: tuple[Any, list[Step]] | None = None  # by _fetch(), and not dropped
        if self._stage is None:
            self._progress.fetcher = self._fetcher

    def next_batch(self) -> Any:
        """See BaseIterator. Without stages, nothing is ahead of the user, so no steps are kept."""
        if self._stage is not None:
            return super().next_batch()
        progress = self._progress
        if progress.finished:
            raise StopIteration
        self._failures.begin_batch(progress.given)
        try:
            while True:
                data = self._fetch_next()
                if data is not NO_SAMPLES:
                    break
        except StopIteration:
            progress.finished = True
            raise
        progress.given += 1
        return self.pinned(data) if self.pins_memory else data

    def _fetch_next(self) -> Any:
        """Returns what the dataset gives for the next indices; an interrupt leaves them."""
        if self._errors.count:
            self._errors = SampleErrors()
        indices = None if self._options.iterable else self._indices.peek()
        try:
            data = self._fetcher.fetch(indices, self._errors)
        except Exception:
            self._next_indices()
            raise
        self._next_indices()
        if self._errors.count:
            self._failures.count(self._errors)
        return data

    def _fetch(self) -> tuple[Any, list[Step]]:
        """See LoaderIterator. Indices are drawn again if the dataset is interrupted."""
        while self._fetched is None or self._fetched[0] is NO_SAMPLES:
            self._drop_fetched()
            indices = None if self._options.iterable else self._indices.peek()
            errors = SampleErrors()
            try:
                data = self._fetcher.fetch(indices, errors)
                samples = self._num_samples(data)
                if data is not NO_SAMPLES:
                    data = self._for_stage(data)
            except Exception:
                self._next_indices()
                raise
            state = self._fetcher.state_to_send()
            ticket, has_batch = self._tickets + 1, data is not NO_SAMPLES
            step = Step(ticket, 0, state, False, has_batch, samples, errors)
            self._fetched = data, [*self._steps, step]
        return self._fetched

    def _drop_fetched(self) -> None:
        """See LoaderIterator. The steps of a batch without samples are those of the next one."""
        if self._fetched is None:
            return
        data, steps = self._fetched
        if self._tickets < steps[-1].ticket:
            self._tickets, _ = self._next_job()
        self._fetched, self._steps = None, steps if data is NO_SAMPLES else []
