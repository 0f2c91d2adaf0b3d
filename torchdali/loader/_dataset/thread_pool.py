# SPDX-License-Identifier: Apache-2.0
"""Worker threads of a loader, for datasets that release the GIL or return bytes and paths."""

from __future__ import annotations

import atexit
import collections
import contextlib
import dataclasses
import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from torchdali._common.keep import keep_result
from torchdali.loader._dataset.fetch import (
    NO_SAMPLES,
    Cancelled,
    Fetcher,
    FetchOptions,
    SampleErrors,
    collate_good,
    is_stateful,
)
from torchdali.loader._dataset.torch_internals import worker_info
from torchdali.loader._dataset.worker_info import set_thread_info
from torchdali.loader._dataset.worker_pool import Reply, failed_reply, samples_reply

__all__ = ["ThreadPool"]

_KIND = "worker thread"
_JOIN_SECONDS = 1.0  # for a thread that is in the middle of a call
_EXIT_SECONDS = 5.0  # the same, when the interpreter exits


@dataclasses.dataclass(eq=False)
class _Job:
    """A job for a thread.

    Attributes:
        epoch: number of the epoch.
        ticket, indices: see WorkerPool.post().
        queued: has an element when the job is in the queue.
        reply: None until the job is done.
    """

    epoch: int
    ticket: int
    indices: Any
    queued: list[None] = dataclasses.field(default_factory=list)
    reply: Reply | None = None


class _Shared:
    """What threads share. They do not refer to the pool, so that it can be freed.

    Args:
        in_turn: whether one thread at a time takes a job and fetches its samples.
    """

    def __init__(self, in_turn: bool) -> None:
        self.in_turn = in_turn
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()  # None: end
        self.news = threading.Lock()  # free if a job is done since it was acquired
        self.turn = threading.Lock()  # held from taking a job until its samples are fetched
        self.making = threading.Lock()  # held while the fetcher of an epoch is made
        self.fetcher: Fetcher | None = None
        self.fetcher_epoch = -1
        self.closed = False
        self._told = False  # whether close() has ended, which may be interrupted
        self.news.acquire()

    def begin_epoch(self, epoch: int, make: Callable[[Callable[[], bool]], Fetcher]) -> None:
        """Makes the fetcher of an epoch.

        Args:
            epoch: its number.
            make: called with `is_closed`.
        """
        self.fetcher = make(self.is_closed)
        self.fetcher_epoch = epoch

    def tell(self) -> None:
        """Says that a job is done."""
        with contextlib.suppress(RuntimeError):  # it was said before, and not heard
            self.news.release()

    def drop_jobs(self) -> None:
        """Takes all jobs that no thread has begun out of the queue."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.jobs.get_nowait()

    def close(self) -> None:
        """Has every thread end after the sample that it is reading."""
        if self._told:  # perhaps at exit, when the modules used here are gone already
            return
        self.closed = True
        self.drop_jobs()
        self.jobs.put(None)  # each thread passes it on
        self._told = True

    def is_closed(self) -> bool:
        """Returns whether close() was called."""
        return self.closed


class ThreadPool:
    """A WorkerPool of threads of this process.

    They share the dataset. An iterable dataset, and one with a state, is read by one thread at a
    time. Collating, and reading other datasets, run in parallel.

    Args:
        dataset, collate, init: of the user.
        options: of the loader.
        num_workers: number of threads.
        seed: of worker 0, for get_worker_info().
        state: where the dataset begins; None: at the beginning.
        timeout: seconds to wait for a batch; 0: no limit.
    """

    num_queues = 1
    max_jobs: int | None = None

    def __init__(
        self,
        dataset: Any,
        collate: Callable[[Any], Any],
        init: Callable[[int], None] | None,
        options: FetchOptions,
        num_workers: int,
        seed: int,
        state: Any,
        timeout: float,
    ) -> None:
        self._timeout = timeout
        self._posted: collections.deque[_Job] = collections.deque()
        self._done: _Job | None = None  # of the last result()
        self._epoch = 0
        self._shared = _Shared(in_turn=options.iterable or is_stateful(dataset))
        self._workers = [
            _Worker(
                self._shared,
                worker_info(
                    id=i,
                    num_workers=num_workers,
                    seed=seed + i,
                    dataset=dataset,
                    worker_method="thread",
                ),
                init,
                options,
                collate,
                state,
            )
            for i in range(num_workers)
        ]
        self._threads: list[threading.Thread] = []
        self.is_lost = False
        if state is not None and not options.iterable:
            # The dataset has the state from now on, also if the epoch has no more batches.
            make = functools.partial(Fetcher, dataset, options, collate, state)
            self._shared.begin_epoch(0, make)

    def start(self) -> None:
        """See WorkerPool."""
        for worker in self._workers:
            self._threads.append(worker.start())

    def post(self, ticket: int, queue: int, indices: Any) -> None:  # noqa: ARG002
        """See WorkerPool."""
        posted = self._posted
        if not posted or posted[-1].ticket != ticket:
            posted.append(_Job(self._epoch, ticket, indices))
        if not posted[-1].queued:
            keep_result(functools.partial(self._shared.jobs.put, posted[-1]), posted[-1].queued)

    def result(self, in_order: bool) -> tuple[int, Reply]:
        """See WorkerPool."""
        if self.is_lost:
            raise self._timed_out()
        deadline = time.monotonic() + self._timeout if self._timeout else None
        while True:
            for job in self._posted:
                if job.reply is not None:
                    self._done = job
                    return job.ticket, job.reply
                if in_order:
                    break
            self._wait(deadline)

    def _wait(self, deadline: float | None) -> None:
        """Waits until a job is done.

        A Condition may be left locked by Ctrl-C, since it is written in Python. This is one call
        of C code.
        """
        left = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._shared.news.acquire(timeout=left):
            self.is_lost = True
            self.close()
            raise self._timed_out()

    def drop(self) -> None:
        """See WorkerPool."""
        job = self._done
        if job is not None and job in self._posted:
            self._posted.remove(job)
        self._done = None

    def _timed_out(self) -> RuntimeError:
        return RuntimeError(
            f"DataLoader timed out after {self._timeout} seconds; its workers were ended"
        )

    def begin_epoch(self, shared_seed: int | None) -> None:  # noqa: ARG002
        """See WorkerPool."""
        self._shared.drop_jobs()
        self._epoch += 1
        self._posted.clear()
        self._done = None

    def close(self) -> None:
        """See WorkerPool."""
        self._shared.close()
        _join(self._threads, 0.0 if self.is_lost else _JOIN_SECONDS)
        self._threads = []

    def __del__(self) -> None:
        self.close()


class _Worker:
    """What one thread does.

    Args:
        shared: with the other threads.
        info: what get_worker_info() returns in the thread.
        init, options, collate, state: as in ThreadPool.
    """

    def __init__(
        self,
        shared: _Shared,
        info: Any,
        init: Callable[[int], None] | None,
        options: FetchOptions,
        collate: Callable[[Any], Any],
        state: Any,
    ) -> None:
        self.info = info
        self._shared, self._init, self._options = shared, init, options
        self._collate, self._state = collate, state
        self._init_error: Reply | None = None

    def start(self) -> threading.Thread:
        """Starts a thread that does jobs until the pool is closed."""
        name = f"torchdali loader {self.info.id}"
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        _running[thread] = self._shared
        try:
            thread.start()
        except BaseException:
            del _running[thread]
            raise
        return thread

    def _run(self) -> None:
        try:
            self._do_jobs()
        finally:
            _running.pop(threading.current_thread(), None)

    def _do_jobs(self) -> None:
        set_thread_info(self.info)
        try:
            if self._init is not None:
                self._init(self.info.id)
        except BaseException:  # a thread that ended would leave the user waiting
            self._init_error = failed_reply(self.info.id, _KIND)
        shared = self._shared
        while True:
            try:
                job, reply = self._next_samples()
            except Cancelled:
                return
            if job is None:
                return
            if reply.data is not NO_SAMPLES:
                try:
                    errors = reply.errors or SampleErrors()
                    reply.data = collate_good(
                        self._collate, reply.data, errors, self._options.on_error
                    )
                    reply.errors = errors if errors.count else None
                except BaseException:
                    reply = failed_reply(self.info.id, _KIND)
            job.reply = reply
            shared.tell()
            del job, reply  # frees the batch while the thread waits

    def _next_samples(self) -> tuple[_Job | None, Reply]:
        """Waits for a job and fetches its samples; returns the job, None at the end."""
        shared = self._shared
        # A thread that took a job before its turn could be overtaken by one with the next job.
        with shared.turn if shared.in_turn else contextlib.nullcontext():
            job = shared.jobs.get()
            if job is None:
                shared.jobs.put(None)
                return None, Reply(self.info.id)
            return job, self._init_error or self._samples(job)

    def _samples(self, job: _Job) -> Reply:
        """Fetches the samples of a job."""
        worker = self.info.id
        errors = SampleErrors()
        fetcher = None
        try:
            fetcher = self._fetcher(job.epoch)
            if fetcher is None:
                return Reply(worker)  # of an earlier epoch; it will be dropped
            samples = fetcher.samples(job.indices, errors)
        except StopIteration:
            if not self._options.iterable or fetcher is None:
                return failed_reply(worker, _KIND)
            state = fetcher.state() if fetcher.has_state else None
            return Reply(worker, state=state, ended=True, errors=errors)
        except Cancelled:
            raise
        except BaseException:
            return failed_reply(worker, _KIND)
        return samples_reply(fetcher, worker, samples, errors)

    def _fetcher(self, epoch: int) -> Fetcher | None:
        """Returns the fetcher of an epoch, a new one if it is the first job of it.

        None if another epoch has begun since.
        """
        shared = self._shared
        with shared.making:
            if shared.fetcher is None or epoch > shared.fetcher_epoch:
                state = None if epoch else self._state
                dataset = self.info.dataset
                make = functools.partial(Fetcher, dataset, self._options, self._collate, state)
                shared.begin_epoch(epoch, make)
            elif epoch < shared.fetcher_epoch:
                return None
            return shared.fetcher


# -- the end of the interpreter

_running: dict[threading.Thread, _Shared] = {}  # the threads that have not ended


def _join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Waits for threads, some seconds in total."""
    deadline = time.monotonic() + seconds
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))


@atexit.register
def _end_threads() -> None:
    """Ends the threads of loaders that are alive when the interpreter exits.

    Python ends a thread that asks for the GIL after that by unwinding its stack. If there are
    frames of C++ on it, as in every operator of torch, std::terminate() ends the process.
    """
    running = dict(_running)
    for shared in running.values():
        shared.close()
    _join(running, _EXIT_SECONDS)


os.register_at_fork(after_in_child=_running.clear)  # a fork has none of the threads
