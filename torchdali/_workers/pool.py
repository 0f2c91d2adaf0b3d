# SPDX-License-Identifier: Apache-2.0
"""The parent's side of worker processes: start, post jobs, take results, notice deaths, restart."""

from __future__ import annotations

import collections
import contextlib
import math
import os
import pickle
import select
import signal
import socket
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchdali import _shm
from torchdali._workers import starting
from torchdali._workers.failures import WorkerFailure, failure_of
from torchdali._workers.process import Work, run
from torchdali._workers.server import start_server
from torchdali._workers.starting import Process
from torchdali.errors import PipelineError, _make

__all__ = ["Pool", "WorkerFailure"]

_GRACE_SECONDS = 1.0  # for a worker that is in the middle of a call when the pool is closed
_CHECK_SECONDS = 0.1  # how often a wait looks whether it is still wanted
_MAX_MESSAGE = 1 << 17
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


@dataclass
class _Job:
    number: int
    worker: int
    slab: Any
    errors: list[tuple[int | None, bytes | None, str]] = field(default_factory=list)


class Pool:
    """Worker processes, and queues of jobs for them. One thread at a time.

    post() what is wanted first, then start(): a worker begins while the others are still started.
    The memory of results is anonymous and shared; it is used again when nothing refers to it any
    more. A worker that is lost (it dies, or takes too long) takes the others and all jobs that are
    not complete with it; restart() begins anew.

    Args:
        works: what the workers do for the jobs of each queue.
        num_workers: how many processes.
        start_method: "fork", "spawn" or "forkserver".
        pickler: see starting.payload().
        timeout: seconds that take() waits; None: for ever.
        forks_with_cuda: whether processes are forked although this one uses CUDA, which they must
            not touch.
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
        self._num_workers = num_workers
        self._start_method = start_method
        self._pickler = pickler
        self._payload: bytes | None = None
        self._timeout = timeout
        self._forks_with_cuda = forks_with_cuda
        self._owner = os.getpid()
        self._generation = 0
        self._processes: list[Process] = []
        self._prepare()

    def _prepare(self) -> None:
        """Makes what workers share. Memory that is in use elsewhere stays its users'."""
        self._board = _shm.Board()
        self._homes = [_shm.Slabs() for _ in self._works]
        self._numbers: dict[int, int] = {}  # descriptor of a slab -> its number
        self._slabs = 0
        self._jobs: list[collections.deque[_Job]] = [collections.deque() for _ in self._works]
        self._poll = select.poll()
        self._dead: str | None = None  # why there are no workers any more
        self._reported = False  # that there are none

    # -- start and end

    @property
    def num_workers(self) -> int:
        """How many processes there are."""
        return self._num_workers

    def start(self) -> None:
        """Starts the processes.

        Raises:
            ArgumentTypeError: the work cannot be sent to another process.
            PipelineError: the processes cannot be forked.
            WorkerFailure: they ended at once.
        """
        # Ctrl-C goes to the whole group of processes: it must not end a worker that has not come to
        # ignoring it. Workers inherit the mask, and open it when they have.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for index in range(self._num_workers):
                self._start_one(index)
        except BaseException as error:
            self._dead = self._dead or str(error)
            self._reported = True
            self.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for process in self._processes:
            self._poll.register(process.channel, select.POLLIN)
        _pools.add(self)

    def _start_one(self, index: int) -> None:
        if self._start_method == "fork":
            slabs = {self._numbers[j.slab.fd]: j.slab for jobs in self._jobs for j in jobs}

            def begin(channel: socket.socket) -> None:
                for pool in {self, *_pools}:
                    pool._forget()
                board = os.dup(self._board.fd)
                run(index, self._num_workers, board, channel, self._works, slabs)

            process = starting.fork(index, begin, self._forks_with_cuda)
            process.known.update(slabs)
            self._processes.append(process)
            return
        if self._payload is None:
            if self._start_method == "forkserver":
                start_server()  # it loads what it needs meanwhile
            self._payload = starting.payload(self._works, self._pickler)
        process = starting.spawn(index, self._start_method)
        self._processes.append(process)
        try:
            starting.send_payload(process, self._num_workers, self._board.fd, self._payload)
        except OSError:
            raise self._died(process) from None
        for queue, jobs in enumerate(self._jobs):
            for job in jobs:
                self._hand_over(process, queue, job.worker, job.slab)

    def _forget(self) -> None:
        """In a forked child: lets the channels of the parent go, so that their ends are noticed."""
        for process in self._processes:
            process.channel.close()

    def restart(self) -> None:
        """Starts other workers after some were lost. All jobs are gone.

        Raises:
            As start().
        """
        self.close()
        self._prepare()
        self._generation += 1
        self.start()

    @property
    def generation(self) -> int:
        """How often the workers were started anew."""
        return self._generation

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return sorted(pid for p in self._processes if (pid := p.pid) is not None)

    def close(self, seconds: float = _GRACE_SECONDS) -> None:
        """Ends the workers; kills those that do not end in time. May be called twice."""
        processes, self._processes = self._processes, []
        for process in processes:
            process.channel.close()
        if os.getpid() != self._owner:
            return
        self._board.close()
        starting.end_processes(processes, seconds)
        _pools.discard(self)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    # -- work

    def post(
        self,
        queue: int,
        iteration: int = 0,
        epoch: int = 0,
        *,
        worker: int | None = None,
        request: bytes | Callable[[Any], bytes] = b"",
    ) -> bool:
        """Asks for a job; returns False where the board is full.

        Args:
            queue: number of the work.
            iteration: a number for the worker.
            epoch: another one.
            worker: the only one that may do it, -1: any; None: as the work says.
            request: what else the worker is to know; or a function that returns it, and may write
                into the slab that it is called with.

        Raises:
            WorkerFailure: there are no workers any more.
        """
        self._check()
        self._receive(0)  # a worker that died idle would not be missed otherwise
        self._board.retire()
        if self._board.full:
            return False
        slab = self._take_slab(queue)
        if callable(request):
            request = request(slab)
        if request:
            slab.request = request
        work = self._works[queue]
        if worker is None:
            worker = work.worker
        for process in self._processes:
            self._hand_over(process, queue, worker, slab)
        number = self._board.post(
            source=queue,
            worker=worker,
            slab=self._numbers[slab.fd],
            num_tasks=work.num_tasks,
            batch_size=work.max_samples,
            iteration=iteration,
            epoch=epoch,
        )
        self._jobs[queue].append(_Job(number, worker, slab))
        return True

    def _hand_over(self, process: Process, queue: int, worker: int, slab: Any) -> None:
        """Gives a worker that may need it the descriptor of a slab."""
        number = self._numbers[slab.fd]
        if number in process.known or worker not in (-1, process.index):
            return
        work = self._works[queue]
        header = pickle.dumps((number, work.num_outputs, work.max_samples))
        try:
            socket.send_fds(process.channel, [header], [slab.fd])
        except OSError:
            raise self._died(process) from None
        process.known.add(number)

    def pending(self, queue: int) -> int:
        """Number of jobs that were posted and not taken."""
        return len(self._jobs[queue])

    @property
    def is_dead(self) -> bool:
        """Whether the workers are gone."""
        return self._dead is not None

    @property
    def is_lost(self) -> bool:
        """Whether the workers are gone and take() has said so: restart() is due."""
        return self._reported

    def is_ready(self, queue: int) -> bool:
        """Whether take() would return at once."""
        jobs = self._jobs[queue]
        return bool(jobs) and self._board.complete(jobs[0].number)

    def first_ready(self, queue: int) -> int:
        """Waits for any job of a queue; returns its position among those that were not taken.

        Raises:
            WorkerFailure: a worker is gone, or all take too long.
        """
        jobs = self._jobs[queue]
        try:
            self._wait(jobs, self._deadline())
        except WorkerFailure:
            self._reported = True
            raise
        return next(i for i, job in enumerate(jobs) if self._board.complete(job.number))

    def take(
        self, queue: int, check: Callable[[], None] | None = None, *, position: int = 0
    ) -> Any:
        """Waits for a job of a queue, the oldest one; returns a lease of its slab.

        Args:
            queue: number of the work.
            check: called now and then while it waits; may raise.
            position: of the job among those that were not taken.

        Raises:
            StopIteration: the work raised it; its value is the slab's reply.
            WorkerFailure: the work failed, or a worker is gone.
        """
        jobs = self._jobs[queue]
        if not jobs:
            self._reported = self.is_dead
            raise WorkerFailure(None, None, self._dead or "no job was posted")
        job = jobs[position]
        try:
            self._wait([job], self._deadline(), check)
            if self._board.failed(job.number) and not self.is_dead:
                self._receive(0)  # what was sent before the job was complete
        except WorkerFailure:
            self._reported = True
            raise
        del jobs[position]
        home = self._homes[queue]
        if job.errors:
            failure = failure_of(job.errors, job.slab)
            home.give_back(job.slab)
            raise failure
        if self._board.failed(job.number):
            raise WorkerFailure(None, None, "a worker process failed without saying why")
        return _shm.Lease(job.slab, home)

    def cancel(self, queue: int) -> None:
        """Drops the jobs that were posted, and waits for what is in hand."""
        jobs = self._jobs[queue]
        if self.is_dead:
            jobs.clear()
        for job in jobs:
            self._board.cancel(job.number)
        while jobs:
            self._wait([jobs[0]], None)
            self._homes[queue].give_back(jobs.popleft().slab)

    def capacities(self, queue: int) -> list[int]:
        """Bytes of the slabs of the jobs of a queue."""
        return [job.slab.size for job in self._jobs[queue]]

    def _take_slab(self, queue: int) -> Any:
        slab = self._homes[queue].take()
        if slab is None:
            work = self._works[queue]
            slab = _shm.Slab(work.num_outputs, work.max_samples, work.slab_bytes)
            self._numbers[slab.fd] = self._slabs
            self._slabs += 1
        else:
            slab.clear()
        return slab

    def _check(self) -> None:
        if self._dead is not None:
            raise WorkerFailure(None, None, self._dead)
        if os.getpid() != self._owner:
            raise _make(
                PipelineError,
                "worker processes cannot be used in a process that was forked after they were "
                "started; build the pipeline there",
            )

    def _deadline(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _wait(
        self,
        jobs: Collection[_Job],
        deadline: float | None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Returns when one of some jobs is complete."""
        while not any(self._board.complete(job.number) for job in jobs):
            self._check()
            if check is not None:
                check()
            self._board.want_message()
            if any(self._board.complete(job.number) for job in jobs):
                return
            left = math.inf if deadline is None else max(0.0, deadline - time.monotonic())
            seconds = left if check is None else min(left, _CHECK_SECONDS)
            if not self._receive(None if seconds == math.inf else seconds * 1000) and not left:
                raise self._end(f"no batch came from the worker processes in {self._timeout} s", 0)

    def _receive(self, milliseconds: float | None) -> bool:
        """Reads all that the workers have sent, after waiting for something; tells if it came."""
        ready = self._poll.poll(milliseconds)
        by_fd = {p.channel.fileno(): p for p in self._processes}
        for fd, _ in ready:
            while (message := self._message(by_fd[fd])) is not None:
                if message[0] == "error":
                    self._note(*message[1:])
                elif message[0] == "start":
                    raise self._refused(message[1])
        return bool(ready)

    def _refused(self, text: str) -> WorkerFailure:
        return self._end(f"a worker process cannot load the source:\n{text}")

    def _message(self, process: Process) -> tuple[Any, ...] | None:
        """Returns one message of a worker, or None where there is none now."""
        try:
            data = process.channel.recv(_MAX_MESSAGE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionError:
            data = b""
        if not data:
            raise self._died(process)
        message: tuple[Any, ...] = pickle.loads(data)
        return message

    def _note(self, number: int, sample: int | None, stored: bytes | None, text: str) -> None:
        for jobs in self._jobs:
            for job in jobs:
                if job.number == number:
                    job.errors.append((sample, stored, text))

    def _died(self, process: Process) -> WorkerFailure:
        """Ends the pool because a worker has ended; returns the error that says how."""
        with contextlib.suppress(OSError):  # what it said before it ended
            while data := process.channel.recv(_MAX_MESSAGE, socket.MSG_DONTWAIT):
                message = pickle.loads(data)
                if message[0] == "start":
                    return self._refused(message[1])
        code = process.end(_GRACE_SECONDS)
        how = ""
        if code is not None:
            how = f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        return self._end(
            f"worker process {process.index} ended{how} in the middle of its work{hint}"
        )

    def _end(self, why: str, seconds: float = _GRACE_SECONDS) -> WorkerFailure:
        self._dead = why
        self.close(seconds)
        return WorkerFailure(None, None, why)
