# SPDX-License-Identifier: Apache-2.0
"""Worker processes of a loader: the work that they do, and the loader's side of them."""

from __future__ import annotations

import atexit
import dataclasses
import multiprocessing
import pickle
import random
import signal
import weakref
from collections.abc import Callable
from typing import Any

import numpy.random  # imported before workers are forked, since it takes a while to load
import torch
from torch.utils.data import IterDataPipe

from torchdali._workers import structures
from torchdali._workers.failures import WorkerFailure, WorkerStartFailure, WorkerTimeout
from torchdali._workers.jobs import Job
from torchdali._workers.pool import Pool
from torchdali._workers.process import Work
from torchdali._workers.slabs import is_scarce
from torchdali.loader._dataset.collate import SlabCollate, disable_torch_shared_memory
from torchdali.loader._dataset.fetch import (
    NO_SAMPLES,
    Fetcher,
    FetchOptions,
    SampleErrors,
    collate_good,
)
from torchdali.loader._dataset.torch_internals import (
    set_worker_info,
    torch_collate,
    worker_info,
    worker_numpy_seed,
)
from torchdali.loader._dataset.worker_pool import Reply, WorkerError, failed_reply, samples_reply

__all__ = ["LoaderWork", "ProcessPool"]

_KIND = "worker process"


@dataclasses.dataclass
class LoaderWork(Work):
    """Makes batches of a dataset, in a worker process.

    Attributes:
        dataset, collate, init: of the user.
        options: of the loader.
        seed: of worker 0; worker i has `seed + i`.
        states: where each worker begins; None: at the beginning.
        shared_seed: of a data pipe, for the first epoch.
    """

    dataset: Any
    collate: Callable[[Any], Any]
    init: Callable[[int], None] | None
    options: FetchOptions
    seed: int
    states: list[Any]
    shared_seed: int | None

    def __post_init__(self) -> None:
        super().__init__(num_outputs=0, max_samples=1)
        self._worker = 0
        self._fetcher: Fetcher | None = None
        self._epoch = -1
        self._init_error: Reply | None = None
        self._slab_collate: SlabCollate | None = None

    @property
    def given(self) -> Any:
        """See Work."""
        return {
            "dataset": self.dataset,
            "collate_fn": self.collate,
            "worker_init_fn": self.init,
        }

    def begin(self, worker: int, num_workers: int) -> None:
        """Prepares the process as torch's DataLoader does; see Work."""
        self._worker = worker
        torch.set_num_threads(1)
        seed = self.seed + worker
        random.seed(seed)
        _seed_torch(seed)
        numpy.random.seed(worker_numpy_seed(self.seed, worker))  # noqa: NPY002
        disable_torch_shared_memory()
        if self.collate is torch_collate.default_collate:
            self._slab_collate = SlabCollate()
        set_worker_info(
            worker_info(id=worker, num_workers=num_workers, seed=seed, dataset=self.dataset)
        )
        try:
            if self.init is not None:
                self.init(worker)
        except Exception:
            self._init_error = failed_reply(worker, _KIND)

    def do(self, task: Any, slab: Any) -> None:
        """See Work."""
        shared_seed, indices = pickle.loads(slab.request)
        reply = self._reply(task.epoch, shared_seed, indices, slab)
        placed: dict[int, int] = self._slab_collate.placed if self._slab_collate else {}
        try:
            structures.store(slab, reply.__dict__, placed)
        except Exception:
            if not isinstance(reply.error, WorkerError):
                raise
            reply.error = reply.error.without_class()
            structures.store(slab, reply.__dict__)
        finally:
            placed.clear()

    def _reply(self, epoch: int, shared_seed: int | None, indices: Any, slab: Any) -> Reply:
        if self._init_error is not None:
            return self._init_error
        worker = self._worker
        try:
            if epoch != self._epoch:
                self._begin_epoch(epoch, shared_seed)
            fetcher = self._fetcher
            assert fetcher is not None
            errors = SampleErrors()
            try:
                data = fetcher.samples(indices, errors)
            except StopIteration:
                if not self.options.iterable:
                    raise
                state = fetcher.state() if fetcher.has_state else None
                return Reply(worker, state=state, ended=True, errors=errors)
            if data is not NO_SAMPLES:
                in_slab = self._slab_collate
                if in_slab:
                    data = in_slab(data, slab)
                else:
                    data = collate_good(self.collate, data, errors, self.options.on_error)
            return samples_reply(fetcher, worker, data, errors)
        except Exception:
            return failed_reply(worker, _KIND)

    def _begin_epoch(self, epoch: int, shared_seed: int | None) -> None:
        first = self._epoch < 0
        if isinstance(self.dataset, IterDataPipe):
            generator = torch.Generator()
            generator.manual_seed((self.shared_seed if first else shared_seed) or 0)
            settings = torch.utils.data.graph_settings
            self.dataset = settings.apply_random_seed(self.dataset, generator)
        state = self.states[self._worker] if first else None
        self._fetcher = Fetcher(self.dataset, self.options, self.collate, state)
        self._epoch = epoch


def _seed_torch(seed: int) -> None:
    """Does what torch.manual_seed() does.

    torch's function records the calling lines for each accelerator, and reads whole source files
    for it: more than a megabyte in each worker. Without an accelerator it is not called.
    """
    if torch.accelerator.current_accelerator() is None:
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


class ProcessPool:
    """A WorkerPool of processes.

    Args:
        work: what they do.
        num_workers: number of processes.
        context: of multiprocessing; None: the default one.
        timeout: seconds to wait for a batch; 0: no limit.
    """

    # The board of the workers has twice as many places: some may still have jobs of the last epoch.
    max_jobs: int | None = 128

    def __init__(self, work: LoaderWork, num_workers: int, context: Any, timeout: float) -> None:
        self.num_queues = num_workers
        self._timeout = timeout
        self._done: Job | None = None  # of the last result()
        self._epoch = 0
        self._shared_seed: int | None = None
        method = (context or multiprocessing).get_start_method()
        self._pool = Pool(
            [work], num_workers, method, timeout=timeout or None, forks_with_cuda=True
        )
        self._closed = False
        _alive.add(self)
        self._pids: list[int] = []
        self._lost_because: str | None = None

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return self._pool.pids

    def start(self) -> None:
        """See WorkerPool."""
        self._pool.start()
        self._pids = self._pool.pids

    def post(self, ticket: int, queue: int, indices: Any) -> None:
        """See WorkerPool."""
        newest = self._pool.job(0, -1)
        if newest is not None and newest.iteration == ticket:
            return
        request = pickle.dumps((self._shared_seed, indices))
        try:
            posted = self._pool.post(0, ticket, self._epoch, worker=queue, request=request)
        except WorkerFailure as failure:
            raise self._lost(failure) from None
        if not posted:
            raise RuntimeError("DataLoader: `num_workers` may be 256 at most")

    def result(self, in_order: bool) -> tuple[int, Reply]:
        """See WorkerPool."""
        if self._lost_because is not None:
            raise RuntimeError(self._lost_because)
        pool = self._pool
        job: Job | None = None
        try:
            position = 0 if in_order else pool.first_ready(0)
            job = self._done = pool.job(0, position)
            assert job is not None
            reply = Reply(**structures.load(pool.result(0, position=position), copies=is_scarce()))
        except WorkerFailure as failure:
            if pool.is_dead:
                raise self._lost(failure) from None
            assert job is not None
            text = f"a DataLoader worker process could not return its batch:\n{failure.text}"
            reply = Reply(job.worker, error=RuntimeError(text))
        return job.iteration, reply

    def drop(self) -> None:
        """See WorkerPool."""
        if self._done is not None:
            self._pool.drop(0, self._done)
            self._done = None

    def _lost(self, failure: WorkerFailure) -> RuntimeError:
        if self._lost_because is None:
            self._lost_because = self._describe(failure)
        return RuntimeError(self._lost_because)

    def _describe(self, failure: WorkerFailure) -> str:
        if isinstance(failure, WorkerTimeout):
            return f"DataLoader timed out after {self._timeout} seconds; its workers were ended"
        if isinstance(failure, WorkerStartFailure):
            return f"DataLoader workers cannot be started: {failure.text}"
        if self._pool.died is None:
            pids = ", ".join(map(str, self._pids))
            return f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {failure.text}"
        index, code = self._pool.died
        worker = "DataLoader worker"
        if len(self._pids) == self.num_queues:  # all of them were alive after the start
            worker += f" (pid {self._pids[index]})"
        # The beginnings are those of torch, by which programs identify the error.
        if code is None or code >= 0:
            exit_code = "" if code is None else f" with exit code {code}"
            return (
                f"{worker} exited unexpectedly{exit_code}. With num_workers=0 the error may say "
                f"more ({failure.text})"
            )
        return f"{worker} is killed by signal: {signal.strsignal(-code)}. {failure.text}"

    def begin_epoch(self, shared_seed: int | None) -> None:
        """See WorkerPool. As in torch, workers do their jobs of the last epoch.

        Their generators and datasets then do not depend on how far they were.
        """
        self._pool.cancel(0, finishes=True)
        self._done = None
        self._epoch += 1
        self._shared_seed = shared_seed

    @property
    def is_lost(self) -> bool:
        """See WorkerPool."""
        return self._pool.is_dead

    def close(self) -> None:
        """See WorkerPool."""
        if not self._closed:
            self._closed = True
            self._pool.close()


_alive: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


@atexit.register
def _end_processes() -> None:
    """Ends the workers of loaders that are alive when the interpreter exits.

    Later, modules may have been cleared before the iterator of a program's main module is deleted.
    """
    for pool in list(_alive):
        pool.close()
