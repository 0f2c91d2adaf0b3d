# SPDX-License-Identifier: Apache-2.0
"""The iterator of a loader with workers."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe

from torchdali.loader._dataset.fetch import NO_SAMPLES
from torchdali.loader._dataset.iterators import LoaderIterator
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.process_pool import LoaderWork, ProcessPool
from torchdali.loader._dataset.progress import Step
from torchdali.loader._dataset.resuming import is_between_epochs, keeps_workers
from torchdali.loader._dataset.thread_pool import ThreadPool
from torchdali.loader._dataset.torch_internals import sharding_init
from torchdali.loader._dataset.worker_pool import Reply, WorkerPool

__all__ = ["WorkerIterator"]


class WorkerIterator(LoaderIterator):
    """Has worker processes or threads make batches ahead of the user.

    A loader with persistent workers has one iterator, and begins each epoch with it.
    """

    _pool: WorkerPool | None = None

    def __init__(self, loader: Any, state: LoaderState, resumed: dict[str, Any] | None) -> None:
        self._close_pool()  # there is one if the iterator goes on to the epoch after a resumed one
        super().__init__(loader, state, resumed)
        self._in_order = loader.in_order
        self._depth = loader.prefetch_factor
        self._timeout = loader.timeout
        self._uses_threads = loader.workers == "threads"
        self._context = loader.multiprocessing_context
        self._init = loader.worker_init_fn
        if isinstance(self.dataset, (IterDataPipe, MapDataPipe)):
            if self._uses_threads:  # they share it
                torch.utils.data.graph_settings.apply_sharding(self.dataset, *self.shards)
            else:
                self._init = sharding_init(self._init, *self.shards)
        self.begin_epoch(loader, True)

    def begin_epoch(self, loader: Any, first: bool) -> None:
        """See BaseIterator."""
        seen = self._loader()  # torch does not know what stands for the loader
        loader = loader if seen is None else seen
        self._random_before = self._generators.state()
        resumed, seed = self._resumed, self.shared_seed
        with self._generators.default:
            super().begin_epoch(loader, first)
        if resumed is not None and not is_between_epochs(resumed):
            self._generators.set_state(self._random_before)
        elif not first or (resumed is not None and keeps_workers(loader, resumed)):
            seed = self.shared_seed  # for the first epoch of workers torch uses an earlier one
        self.shared_seed = seed
        if self._stage is not None:
            self._stage.clear()
        self._start_epoch(loader)
        if self._pool is not None and self._pool.is_lost:
            self._close_pool()
        pool, is_new = self._pool, self._pool is None
        if pool is None:
            pool = self._pool = self._make_pool()
        else:
            pool.begin_epoch(self.shared_seed)
        self._jobs: dict[int, int] = {}  # ticket -> queue, of results that were not noted
        self._due: int | None = None  # the queue that a job is to be posted to
        self._noted: tuple[Reply, list[Step]] | None = None  # what _fetch() returns next
        count = pool.num_queues
        self._active = set(range(count)) - self._progress.ended  # queues with more batches
        depth = self._depth * (1 if count > 1 else self.num_workers)
        if pool.max_jobs is not None:
            depth = max(1, min(depth, pool.max_jobs // count))
        begin = self._progress.turn
        for turn in range(begin, begin + count * depth):
            self._post(turn % count)
        if is_new:
            pool.start()

    def _make_pool(self) -> WorkerPool:
        options = self._options
        seed = int(self.base_seed)
        if self._uses_threads:
            return ThreadPool(
                self.dataset,
                self.collate,
                self._init,
                options,
                self.num_workers,
                seed,
                self._worker_states[0],
                self._timeout,
            )
        work = LoaderWork(
            self.dataset,
            self.collate,
            self._init,
            options,
            seed,
            self._worker_states,
            self.shared_seed,
        )
        return ProcessPool(work, self.num_workers, self._context, self._timeout)

    def _post(self, queue: int) -> None:
        """Posts a job if there is one. An interrupted call is completed by another one."""
        assert self._pool is not None
        self._due = queue
        if queue in self._active:
            try:
                ticket, indices = self._next_job()
            except StopIteration:
                pass
            else:
                self._pool.post(ticket, queue, indices)
                self._jobs[ticket], self._tickets = queue, ticket
        self._due = None

    def _fetch(self) -> tuple[Any, list[Step]]:
        """See LoaderIterator. A result stays in the pool until it is noted here.

        Each attempt goes on where the last one was interrupted.
        """
        assert self._pool is not None
        while True:
            if self._due is not None:
                self._post(self._due)
            if self._noted is not None:
                break
            if not self._jobs:
                raise StopIteration
            ticket, reply = self._pool.result(self._in_order)
            if ticket in self._jobs:  # else drop() was interrupted
                self._note(ticket, reply)
            self._pool.drop()
        reply, steps = self._noted
        error_class = reply.error_class
        try:
            reply.raise_error()
            return self._for_stage(reply.data), steps
        except (Exception, error_class):  # not Ctrl-C while it is raised
            self._noted, self._steps = None, steps  # it costs the batch
            raise

    def _note(self, ticket: int, reply: Reply) -> None:
        """Notes the result of a job."""
        queue = self._jobs[ticket]
        noted, steps, active, due = None, self._steps, self._active, self._due
        if queue in active:  # else the job was posted before the end of the queue was known
            worker = 0 if self._uses_threads else reply.worker
            has_batch = reply.data is not NO_SAMPLES
            samples = self._num_samples(reply.data)
            step = Step(ticket, worker, reply.state, reply.ended, has_batch, samples, reply.errors)
            steps, due = [*steps, step], queue
            if reply.ended:
                active = active - {queue}
            if has_batch or reply.error is not None:
                noted = reply, steps
        # No call follows that Ctrl-C could interrupt.
        self._noted, self._steps, self._active, self._due = noted, steps, active, due
        del self._jobs[ticket]

    def _drop_fetched(self) -> None:
        """See LoaderIterator."""
        if self._noted is not None:
            self._noted, self._steps = None, []

    def _end_epoch(self) -> None:
        if not self.has_persistent_workers:
            self._close_pool()

    def _close_pool(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def __del__(self) -> None:
        self._close_pool()
