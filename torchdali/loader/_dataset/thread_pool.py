# SPDX-License-Identifier: Apache-2.0
"""Worker threads of a loader, for datasets that release the GIL or return bytes and paths."""

from __future__ import annotations

import collections
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from torchdali.loader._dataset.fetch import NO_SAMPLES, Fetcher, FetchOptions, SampleErrors
from torchdali.loader._dataset.torch_internals import worker_info
from torchdali.loader._dataset.worker_info import set_thread_info
from torchdali.loader._dataset.worker_pool import Reply, failed_reply, samples_reply

__all__ = ["ThreadPool"]

_KIND = "worker thread"
_JOIN_SECONDS = 1.0  # for a thread that is in the middle of a call

_Job = tuple[int, int, Any]  # epoch, ticket, indices


class _Shared:
    """What threads share. They do not refer to the pool, so that it can be freed."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()  # None: end
        self.replies: dict[int, Reply] = {}
        self.changed = threading.Condition()
        self.fetching = threading.Lock()  # held if batches are fetched in order
        self.fetcher: Fetcher | None = None
        self.fetcher_epoch = -1
        self.epoch = 0

    def drop_jobs(self) -> None:
        """Takes all jobs that no thread has begun out of the queue."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.jobs.get_nowait()


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
        self._posted: collections.deque[int] = collections.deque()
        self._shared = _Shared()
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

    def start(self) -> None:
        """See WorkerPool."""
        for worker in self._workers:
            name = f"torchdali loader {worker.info.id}"
            thread = threading.Thread(target=worker.run, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def post(self, ticket: int, queue: int, indices: Any) -> None:  # noqa: ARG002
        """See WorkerPool."""
        self._posted.append(ticket)
        self._shared.jobs.put((self._shared.epoch, ticket, indices))

    def take(self, in_order: bool) -> tuple[int, Reply]:
        """See WorkerPool."""
        shared = self._shared
        if self.is_lost:
            raise self._timed_out()

        def ready() -> int | None:
            if in_order:
                return 0 if self._posted[0] in shared.replies else None
            return next((i for i, t in enumerate(self._posted) if t in shared.replies), None)

        deadline = time.monotonic() + self._timeout if self._timeout else None
        with shared.changed:
            while (position := ready()) is None:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    self.is_lost = True
                    self.close()
                    raise self._timed_out()
                shared.changed.wait(left)
            ticket = self._posted[position]
            del self._posted[position]
            return ticket, shared.replies.pop(ticket)

    def _timed_out(self) -> RuntimeError:
        return RuntimeError(
            f"DataLoader timed out after {self._timeout} seconds; its workers were ended"
        )

    def begin_epoch(self, shared_seed: int | None) -> None:  # noqa: ARG002
        """See WorkerPool."""
        shared = self._shared
        shared.drop_jobs()
        with shared.changed:  # replies to running jobs of the last epoch are dropped too
            shared.epoch += 1
            shared.replies.clear()
        self._posted.clear()

    def close(self) -> None:
        """See WorkerPool."""
        threads, self._threads = self._threads, []
        if not threads:
            return
        self._shared.drop_jobs()
        for _ in threads:
            self._shared.jobs.put(None)
        deadline = time.monotonic() + (0.0 if self.is_lost else _JOIN_SECONDS)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

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

    def run(self) -> None:
        """Does jobs until the pool is closed."""
        set_thread_info(self.info)
        try:
            if self._init is not None:
                self._init(self.info.id)
        except Exception:
            self._init_error = failed_reply(self.info.id, _KIND)
        shared = self._shared
        while True:
            job, reply = self._next_samples()
            if job is None:
                return
            epoch, ticket, _ = job
            if reply.data is not NO_SAMPLES:
                try:
                    reply.data = self._collate(reply.data)
                except Exception:
                    reply = failed_reply(self.info.id, _KIND)
            with shared.changed:
                if epoch == shared.epoch:
                    shared.replies[ticket] = reply
                    shared.changed.notify_all()
            del job, reply  # frees the batch while the thread waits

    def _next_samples(self) -> tuple[_Job | None, Reply]:
        """Waits for a job and fetches its samples; returns the job, None at the end."""
        shared, options = self._shared, self._options
        worker = self.info.id
        with contextlib.ExitStack() as stack:
            if options.iterable:  # jobs are done in the order in which they are taken
                stack.enter_context(shared.fetching)
            job = shared.jobs.get()
            if job is None or self._init_error is not None:
                return job, self._init_error or Reply(worker)
            epoch, _, indices = job
            if not options.iterable:
                stack.enter_context(shared.fetching)
            fetcher = None
            errors = SampleErrors()
            try:
                fetcher = self._fetcher(epoch)
                if fetcher is None:
                    return job, Reply(worker)  # of an earlier epoch; it will be dropped
                if not options.iterable and not fetcher.has_state:
                    stack.close()
                samples = fetcher.samples(indices, errors)
            except StopIteration:
                if not options.iterable or fetcher is None:
                    return job, failed_reply(worker, _KIND)
                state = fetcher.state() if fetcher.has_state else None
                return job, Reply(worker, state=state, ended=True, errors=errors)
            except Exception:
                return job, failed_reply(worker, _KIND)
            return job, samples_reply(fetcher, worker, samples, errors)

    def _fetcher(self, epoch: int) -> Fetcher | None:
        """Returns the fetcher of an epoch, a new one if it is the first job of it.

        None if another epoch has begun since.
        """
        shared = self._shared
        if shared.fetcher is None or epoch > shared.fetcher_epoch:
            state = None if epoch else self._state
            shared.fetcher = Fetcher(self.info.dataset, self._options, self._collate, state)
            shared.fetcher_epoch = epoch
        elif epoch < shared.fetcher_epoch:
            return None
        return shared.fetcher
