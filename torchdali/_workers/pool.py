# SPDX-License-Identifier: Apache-2.0
"""The parent's side of worker processes: starts them, posts jobs, takes results, notices deaths."""

from __future__ import annotations

import contextlib
import math
import os
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any

from torchdali import _shm
from torchdali._common.keep import keep_result
from torchdali._workers.channels import Channels, last_messages
from torchdali._workers.failures import (
    WorkerFailure,
    WorkerStartFailure,
    WorkerTimeout,
    describe_exit,
)
from torchdali._workers.jobs import Job, JobQueue
from torchdali._workers.process import Work
from torchdali._workers.slabs import SlabStore
from torchdali._workers.starting import Launcher, Process, end_processes, sigint_blocked
from torchdali.errors import PipelineError, _make

__all__ = ["Pool", "WorkerFailure"]

_GRACE_SECONDS = 1.0  # for a worker that is in the middle of a call when the pool is closed
_CHECK_SECONDS = 0.1  # how often take() calls `check` while it waits
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


class Pool:
    """Worker processes, and queues of jobs for them. One thread at a time.

    Jobs may be posted before start(): a worker begins while others are being started. The memory of
    results is shared, and reused when nothing refers to it any more. If one worker is lost (it
    dies, or takes too long), all workers end, and all jobs that are not complete are lost.

    Args:
        works: what the workers do for the jobs of each queue.
        num_workers: number of processes.
        start_method: "fork", "spawn" or "forkserver".
        pickler: see Launcher.
        timeout: seconds that take() waits; None: no limit.
        forks_with_cuda: whether to fork although this process uses CUDA, which workers must not
            touch then.

    Attributes:
        generation: how often the workers were restarted.
        slabs: the memory of results.
        died: number and exit code of the worker whose end ended the pool; None: none did.
    """

    def __init__(
        self,
        works: Sequence[Work],
        num_workers: int,
        start_method: str,
        pickler: Any = None,
        timeout: float | None = None,
        forks_with_cuda: bool = False,
    ) -> None:
        self._works = works
        self._launcher = Launcher(works, num_workers, start_method, pickler, forks_with_cuda)
        self._timeout = timeout
        self._owner = os.getpid()
        self.generation = 0
        self._processes: list[Process] = []
        self._prepare()

    def _prepare(self) -> None:
        """Makes what workers share. Slabs of an earlier generation stay with their users."""
        self._board = _shm.Board()
        self.slabs = SlabStore(self._works)
        self._jobs = [JobQueue(self._board) for _ in self._works]
        self._dropped: list[list[Job]] = [[] for _ in self._works]  # that cancel() is to wait for
        self._channels = Channels()
        self._failure: tuple[type[WorkerFailure], str] | None = None  # why there are no workers
        self.died: tuple[int, int | None] | None = None
        self._failure_reported = False  # to the user, by take() or first_ready()

    # -- start and end

    @property
    def num_workers(self) -> int:
        """Number of processes."""
        return self._launcher.num_workers

    def start(self) -> None:
        """Starts the processes.

        Raises:
            ArgumentTypeError: the work cannot be sent to another process.
            PipelineError: the processes cannot be forked.
            WorkerFailure: they ended at once.
        """
        try:
            with sigint_blocked():
                for index in range(self.num_workers):
                    self._start_one(index)
        except BaseException as error:
            self._failure = self._failure or (WorkerFailure, str(error))
            self._failure_reported = True
            self.close()
            raise
        self._channels = Channels(self._processes)
        _pools.add(self)

    def _start_one(self, index: int) -> None:
        slabs = {self.slabs.number(job.slab): job.slab for jobs in self._jobs for job in jobs}

        def leave_parent() -> None:
            for pool in {self, *_pools}:
                pool._close_channels()

        process = self._launcher.start(index, self._board.fd, slabs, leave_parent)
        self._processes.append(process)
        try:
            self._launcher.send_work(process, self._board.fd)
        except OSError:
            raise self._worker_died(process) from None
        for queue, jobs in enumerate(self._jobs):
            for job in jobs:
                self._send_slab(process, queue, job.worker, job.slab)

    def _close_channels(self) -> None:
        """Closes the parent's channels in a forked child, so that workers notice their ends."""
        for process in self._processes:
            process.channel.close()

    def restart(self) -> None:
        """Starts other workers after some were lost, as start() does. All jobs are gone."""
        self.close()
        self._prepare()
        self.generation += 1
        self.start()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers, by their numbers; those that have ended are left out."""
        return [pid for p in self._processes if (pid := p.pid) is not None]

    def close(self, seconds: float = _GRACE_SECONDS) -> None:
        """Ends the workers; kills those that do not end in time. May be called twice."""
        self._close_channels()
        if os.getpid() == self._owner:
            self._board.close()
            end_processes(self._processes, seconds)
            _pools.discard(self)
        self._processes = []

    def __del__(self) -> None:
        if not self._processes:  # modules may have been cleared
            return
        with contextlib.suppress(Exception):
            self.close()

    # -- jobs

    def post(
        self,
        queue: int,
        iteration: int = 0,
        epoch: int = 0,
        *,
        worker: int | None = None,
        request: bytes | Callable[[Any], bytes] = b"",
    ) -> bool:
        """Posts a job; returns False if the board is full.

        Args:
            queue: number of the work.
            iteration: number for the worker.
            epoch: number for the worker.
            worker: the only one that may do the job, -1: any; None: as the work says.
            request: data for the worker; or a function that returns them, and may write into the
                slab that it is called with.

        Raises:
            WorkerFailure: there are no workers any more.
        """
        self._check_usable()
        self._jobs[queue].tidy()
        self._receive(0)  # otherwise a worker that died idle would not be noticed
        if self._board.full:
            return False
        slab = self.slabs.take(queue)
        if callable(request):
            request = request(slab)
        if request:
            slab.request = request
        work = self._works[queue]
        worker = work.worker if worker is None else worker
        for process in self._processes:
            self._send_slab(process, queue, worker, slab)
        self._jobs[queue].add(
            Job(worker, slab, iteration),
            source=queue,
            worker=worker,
            slab=self.slabs.number(slab),
            num_tasks=work.num_tasks,
            batch_size=work.max_samples,
            iteration=iteration,
            epoch=epoch,
        )
        return True

    def _send_slab(self, process: Process, queue: int, worker: int, slab: Any) -> None:
        """Sends the descriptor of a slab to a worker that may need it and does not have it."""
        number = self.slabs.number(slab)
        if number in process.known or worker not in (-1, process.index):
            return
        work = self._works[queue]
        try:
            process.send_slab(slab.fd, number, work.num_outputs, work.max_samples)
        except OSError:
            raise self._worker_died(process) from None

    def pending(self, queue: int) -> int:
        """Returns the number of jobs that were posted and not taken."""
        self._jobs[queue].tidy()
        return len(self._jobs[queue])

    @property
    def is_dead(self) -> bool:
        """Whether the workers are gone."""
        return self._failure is not None

    @property
    def needs_restart(self) -> bool:
        """Whether the workers are gone and take() has said so."""
        return self._failure_reported

    def is_ready(self, queue: int) -> bool:
        """Returns whether take() would return at once."""
        return self._jobs[queue].is_ready

    def first_ready(self, queue: int) -> int:
        """Waits for any job of a queue; returns its position among those that were not taken.

        Raises:
            WorkerFailure: a worker is gone, or all jobs take too long.
        """
        jobs = self._jobs[queue]
        jobs.tidy()
        self._wait_for_user(jobs)
        return next(i for i, job in enumerate(jobs) if self._board.complete(job.number))

    def take(self, queue: int, check: Callable[[], None] | None = None) -> Any:
        """Waits for a job of a queue, the oldest one; returns a lease of its slab.

        Args:
            queue: number of the work.
            check: called now and then during the wait; may raise.

        Raises:
            StopIteration: the work raised it; its value is the slab's reply.
            WorkerFailure: the work failed, or a worker is gone.
        """
        job = self.job(queue)
        try:
            return self.result(queue, check)
        finally:
            if job is not None and self._board.complete(job.number):
                self.drop(queue, job)

    def job(self, queue: int, position: int = 0) -> Job | None:
        """Returns a job that was not dropped, -1: the last one; None if there is none."""
        return self._jobs[queue].at(position)

    def result(
        self, queue: int, check: Callable[[], None] | None = None, *, position: int = 0
    ) -> Any:
        """Returns or raises for job() what take() does, and the same again until drop()."""
        job = self.job(queue, position)
        if job is None:
            self._failure_reported = self.is_dead
            self._check_usable()
            raise WorkerFailure(None, None, "no job was posted")
        self._wait_for_user([job], check)
        if job.errors:
            raise job.error()
        if self._board.failed(job.number):
            raise WorkerFailure(None, None, "a worker process failed without sending an error")
        if not job.leases:
            keep_result(self.slabs.leasing(queue, job.slab), job.leases)
        return job.leases[0]

    def drop(self, queue: int, job: Job) -> None:
        """Drops a job after its result(), unless that was done."""
        if self._jobs[queue].drop(job) and not job.leases:
            self.slabs.give_back(queue, job.slab)

    def cancel(self, queue: int, *, finishes: bool = False) -> None:
        """Drops the jobs that were posted; waits for those begun or, with `finishes`, for all."""
        jobs, dropped = self._jobs[queue], self._dropped[queue]
        jobs.tidy()
        while jobs:
            dropped.append(jobs.pop())
            if not finishes:
                self._board.cancel(dropped[-1].number)
        if self.is_dead:
            dropped.clear()
        while dropped:
            self._wait(dropped[-1:])
            job = dropped.pop()
            self._board.retire(job.number)
            if not job.leases:
                self.slabs.give_back(queue, job.slab)

    def capacities(self, queue: int) -> list[int]:
        """Returns the sizes in bytes of the slabs of the jobs of a queue."""
        return [job.slab.size for job in self._jobs[queue]]

    # -- waiting for workers

    def _check_usable(self) -> None:
        if self._failure is not None:
            cls, text = self._failure
            raise cls(None, None, text)
        if os.getpid() != self._owner:
            raise _make(
                PipelineError,
                "worker processes cannot be used in a process that was forked after they were "
                "started; build the pipeline there",
            )

    def _wait_for_user(
        self, jobs: Collection[Job], check: Callable[[], None] | None = None
    ) -> None:
        """Waits for one of some jobs, and for the errors of those that failed."""
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        try:
            self._wait(jobs, deadline, check)
            if not self.is_dead and any(self._board.failed(job.number) for job in jobs):
                self._receive(0)  # errors are sent before a job is complete
        except WorkerFailure:
            self._failure_reported = True
            raise

    def _wait(
        self,
        jobs: Collection[Job],
        deadline: float | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Returns when one of some jobs is complete."""
        while not any(self._board.complete(job.number) for job in jobs):
            self._check_usable()
            if check is not None:
                check()
            self._board.want_message()
            if any(self._board.complete(job.number) for job in jobs):
                return
            left = math.inf if deadline is None else max(0.0, deadline - time.monotonic())
            seconds = left if check is None else min(left, _CHECK_SECONDS)
            if not self._receive(None if seconds == math.inf else seconds * 1000) and not left:
                text = f"no batch came from the worker processes in {self._timeout} s"
                raise self._end_workers(text, WorkerTimeout, 0)

    def _receive(self, milliseconds: float | None) -> bool:
        """Waits for messages of workers and handles them; returns whether there were any."""
        received = False
        for process, message in self._channels.receive(milliseconds):
            received = True
            if message is None:
                raise self._worker_died(process)
            if message[0] == "error":
                for jobs in self._jobs:
                    jobs.add_error(*message[1:])
            elif message[0] != "done":
                raise self._end_announced(message)
        return received

    def _end_announced(self, message: tuple[str, str]) -> WorkerFailure:
        """Ends the pool because a worker says that it ends; returns the error."""
        kind, text = message
        if kind == "end":
            return self._end_workers(text, WorkerFailure)
        text = f"a worker process cannot load the source:\n{text}"
        return self._end_workers(text, WorkerStartFailure)

    def _worker_died(self, process: Process) -> WorkerFailure:
        """Ends the pool because a worker has ended; returns the error."""
        for message in last_messages(process):
            if message[0] in ("start", "end"):
                return self._end_announced(message)
        self.died = process.index, process.end(_GRACE_SECONDS)
        return self._end_workers(describe_exit(*self.died), WorkerFailure)

    def _end_workers(
        self, text: str, cls: type[WorkerFailure], seconds: float = _GRACE_SECONDS
    ) -> WorkerFailure:
        self._failure = cls, text
        self.close(seconds)
        return cls(None, None, text)
