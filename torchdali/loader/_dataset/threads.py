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

from torchdali.loader._dataset.fetch import NOTHING, Errors, Fetcher, Kind
from torchdali.loader._dataset.info import set_thread_info, worker_info
from torchdali.loader._dataset.replies import Reply, failed, made

__all__ = ["Threads"]

_WHERE = "worker thread"
_END_SECONDS = 1.0  # for a thread that is in the middle of a call


class _Shared:
    """What the threads have in common: they must not hold the loader's iterator alive."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done: dict[int, Reply] = {}
        self.changed = threading.Condition()
        self.turn = threading.Lock()  # what is fetched one batch at a time is fetched in order
        self.fetcher: Fetcher | None = None
        self.fetchers_epoch = -1
        self.epoch = 0


class Threads:
    """Threads of this process; see Crew.

    They share the dataset. An iterable is iterated over once, by one thread at a time, and so is
    what has a state; collating, and the samples of other datasets, are done side by side.

    Args:
        dataset, collate, init: the user's.
        kind: see Kind.
        num_workers: how many.
        seed: of worker 0, for get_worker_info().
        state: where the dataset begins, None where it is the beginning.
        timeout: seconds to wait for a batch; 0: for ever.
    """

    lanes = 1

    def __init__(
        self,
        dataset: Any,
        collate: Callable[[Any], Any],
        init: Callable[[int], None] | None,
        kind: Kind,
        num_workers: int,
        seed: int,
        state: Any,
        timeout: float,
    ) -> None:
        self._dataset, self._collate, self._kind = dataset, collate, kind
        self._state, self._timeout = state, timeout
        self._posted: collections.deque[int] = collections.deque()
        self._shared = _Shared()
        self._infos = [
            worker_info(
                id=i, num_workers=num_workers, seed=seed + i, dataset=dataset,
                worker_method="thread",
            )
            for i in range(num_workers)
        ]  # fmt: skip
        self._init = init
        self._threads: list[threading.Thread] = []
        self.is_lost = False

    def start(self) -> None:
        """Starts them. Jobs may have been posted before."""
        for info in self._infos:
            thread = threading.Thread(
                target=_work,
                args=(self._shared, info, self._init, self._dataset, self._kind, self._collate,
                      self._state),
                name=f"torchdali loader {info.id}",
                daemon=True,
            )  # fmt: skip
            thread.start()
            self._threads.append(thread)

    def post(self, ticket: int, lane: int, indices: Any) -> None:  # noqa: ARG002
        """See Crew."""
        self._posted.append(ticket)
        self._shared.jobs.put((self._shared.epoch, ticket, indices))

    def take(self, in_order: bool) -> tuple[int, Reply]:
        """See Crew."""
        shared = self._shared
        if self.is_lost:
            raise self._timed_out()

        def ready() -> int | None:
            if in_order:
                return 0 if self._posted[0] in shared.done else None
            return next((i for i, t in enumerate(self._posted) if t in shared.done), None)

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
            return ticket, shared.done.pop(ticket)

    def _timed_out(self) -> RuntimeError:
        return RuntimeError(
            f"DataLoader timed out after {self._timeout} seconds; its workers were ended"
        )

    def begin_epoch(self, shared_seed: int | None) -> None:  # noqa: ARG002
        """See Crew."""
        shared = self._shared
        with contextlib.suppress(queue.Empty):
            while True:
                shared.jobs.get_nowait()
        with shared.changed:  # what is in hand is of the epoch before
            shared.epoch += 1
            shared.done.clear()
        self._posted.clear()

    def close(self) -> None:
        """See Crew."""
        threads, self._threads = self._threads, []
        if not threads:
            return
        with contextlib.suppress(queue.Empty):
            while True:
                self._shared.jobs.get_nowait()
        for _ in threads:
            self._shared.jobs.put(None)
        deadline = time.monotonic() + (0.0 if self.is_lost else _END_SECONDS)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def __del__(self) -> None:
        self.close()


def _work(
    shared: _Shared,
    info: Any,
    init: Callable[[int], None] | None,
    dataset: Any,
    kind: Kind,
    collate: Callable[[Any], Any],
    state: Any,
) -> None:
    set_thread_info(info)
    failure: Reply | None = None
    try:
        if init is not None:
            init(info.id)
    except Exception:
        failure = failed(info.id, _WHERE)

    def next_job() -> tuple[Any, Any]:
        """Waits for a job; returns it and its samples, or the reply where there are none."""
        with contextlib.ExitStack() as stack:
            if kind.iterable:  # the job that is taken first is done first
                stack.enter_context(shared.turn)
            job = shared.jobs.get()
            if job is None or failure is not None:
                return job, failure
            epoch, _, indices = job
            if not kind.iterable:
                stack.enter_context(shared.turn)
            fetcher = shared.fetcher
            errors = Errors()
            try:
                if fetcher is None or epoch > shared.fetchers_epoch:
                    fetcher = Fetcher(dataset, kind, collate, None if epoch else state)
                    shared.fetcher, shared.fetchers_epoch = fetcher, epoch
                elif epoch < shared.fetchers_epoch:
                    return job, Reply(info.id)  # nobody waits for it any more
                if not kind.iterable and not fetcher.has_state:
                    stack.close()
                samples = fetcher.samples(indices, errors)
            except StopIteration:
                if not kind.iterable or fetcher is None:
                    return job, failed(info.id, _WHERE)
                own = fetcher.state() if fetcher.has_state else None
                return job, Reply(info.id, state=own, ended=True, errors=errors)
            except Exception:
                return job, failed(info.id, _WHERE)
            return job, made(fetcher, info.id, samples, errors)

    while True:
        job, reply = next_job()
        if job is None:
            return
        epoch, ticket, _ = job
        if reply.data is not NOTHING:
            try:
                reply.data = collate(reply.data)
            except Exception:
                reply = failed(info.id, _WHERE)
        with shared.changed:
            if epoch == shared.epoch:
                shared.done[ticket] = reply
                shared.changed.notify_all()
        del job, reply
