# SPDX-License-Identifier: Apache-2.0
"""The pipeline's side of its worker processes: start, post jobs, take batches, notice deaths."""

from __future__ import annotations

import collections
import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from torchdali import _shm, pickling
from torchdali._workers.process import SourceSpec, run
from torchdali.errors import ArgumentTypeError, PipelineError, _make
from torchdali.types import DALIDataType, to_torch_type

__all__ = ["Pool", "SourceSpec", "WorkerFailure"]

_GRACE_SECONDS = 1.0  # for a worker that is in the middle of a call when the pool is closed
_MAX_MESSAGE = 1 << 17
_MOST_LEASED = 16  # batches in shared memory that the user and the engine hold
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()

# The data of one output: an [N, ...] tensor, or one tensor a sample.
Output = torch.Tensor | list[torch.Tensor]


class WorkerFailure(Exception):
    """A source failed in a worker.

    Attributes:
        sample: index in the batch, None where it is about the batch.
        cause: the exception, where it could be sent.
        text: its traceback.
    """

    def __init__(self, sample: int | None, cause: BaseException | None, text: str) -> None:
        super().__init__(text)
        self.sample = sample
        self.cause = cause
        self.text = text


@dataclass
class _Job:
    number: int
    source: int
    slab: Any
    errors: list[tuple[int | None, bytes | None, str]] = field(default_factory=list)


class _Process:
    """One worker: its channel, and how to wait for and end it."""

    def __init__(self, index: int, channel: socket.socket) -> None:
        self.index = index
        self.channel = channel
        self.pid: int | None = None  # of a child of ours
        self.popen: subprocess.Popen[bytes] | None = None
        self.known: set[int] = set()  # slabs that it has


class Pool:
    """Worker processes for the parallel sources of one pipeline.

    post() what is wanted first, then start(): a worker begins while the others are still started.
    One thread at a time. The memory of batches is anonymous and shared; it is used again when no
    tensor refers to it any more.

    Args:
        sources: what the workers run, by number.
        num_workers: how many processes.
        start_method: "fork", "spawn" or "forkserver" (one interpreter is started, and forks).
        batch_size: greatest number of samples in a batch.
        sample_bytes: expected size of the samples of each source, 0 where unknown.
        pickler: None: torchdali.pickling; a module with dumps and loads, or a tuple of it and their
            keyword arguments.
        timeout: seconds that a batch may take; None: for ever.
    """

    def __init__(
        self,
        sources: Sequence[SourceSpec],
        num_workers: int,
        start_method: str,
        batch_size: int,
        sample_bytes: Sequence[int],
        pickler: Any = None,
        timeout: float | None = None,
    ) -> None:
        self._sources = sources
        self._batch_size = batch_size
        self._sample_bytes = sample_bytes
        self._timeout = timeout
        self._board = _shm.Board()
        self._free = [_shm.Slabs() for _ in sources]
        self._numbers: dict[int, int] = {}  # descriptor of a slab -> its number
        self._slabs = 0
        self._jobs: list[collections.deque[_Job]] = [collections.deque() for _ in sources]
        self._dedicated = {
            source: (number % num_workers)
            for number, source in enumerate(
                i for i, spec in enumerate(sources) if spec.kind == "iterable"
            )
        }
        self._processes: list[_Process] = []
        self._owner = os.getpid()
        self._poll = select.poll()
        self._dead: str | None = None  # why there are no workers any more
        self._num_workers = num_workers
        self._start_method = start_method
        self._pickler = pickler

    # -- start and end

    def start(self) -> None:
        """Starts the processes.

        Raises:
            ArgumentTypeError: a source cannot be sent to another process.
        """
        # Ctrl-C goes to the whole group of processes: it must not end a worker that has not come to
        # ignoring it. Workers inherit the mask, and open it when they have.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            if self._start_method == "fork":
                self._fork(self._num_workers)
            else:
                self._spawn(self._num_workers, self._start_method, self._pickler)
        except BaseException:
            self.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for process in self._processes:
            self._poll.register(process.channel, select.POLLIN)
        _pools.add(self)

    def _fork(self, count: int) -> None:
        for index in range(count):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            board = os.dup(self._board.fd)
            sys.stdout.flush()
            sys.stderr.flush()
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    ours.close()
                    for pool in list(_pools):
                        pool._forget()
                    self._forget()
                    run(index, board, theirs, self._sources, self._posted())
                    code = 0
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            os.close(board)
            theirs.close()
            process = _Process(index, ours)
            process.pid = pid
            process.known.update(self._posted())
            self._processes.append(process)

    def _forget(self) -> None:
        """In a forked child: lets the channels of the parent go, so that their ends are noticed."""
        for process in self._processes:
            process.channel.close()

    def _spawn(self, count: int, method: str, pickler: Any) -> None:
        payload = _payload(self._sources, pickler)
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(count)]
        ends = [theirs.fileno() for _, theirs in pairs]
        groups = [[end] for end in ends] if method == "spawn" else [ends]
        starters = []
        for group in groups:
            code = (
                f"import sys; sys.path[:] = {sys.path!r}; "
                f"from torchdali._workers.process import launch; launch({group!r})"
            )
            starters.append(
                subprocess.Popen(
                    [sys.executable, "-c", code], pass_fds=group, stdin=subprocess.DEVNULL
                )
            )
        for index, (ours, theirs) in enumerate(pairs):
            theirs.close()
            process = _Process(index, ours)
            process.popen = starters[index] if method == "spawn" else starters[0]
            self._processes.append(process)
            header = pickle.dumps((index, len(payload)))
            socket.send_fds(ours, [header], [self._board.fd])
            for start in range(0, len(payload), _MAX_MESSAGE // 2):
                ours.send(payload[start : start + _MAX_MESSAGE // 2])
            for jobs in self._jobs:
                for job in jobs:
                    self._hand_over(process, job.source, job.slab)

    @property
    def pids(self) -> list[int]:
        """Process ids of what was started."""
        found = [
            p.pid if p.pid is not None else p.popen.pid if p.popen else None
            for p in self._processes
        ]
        return sorted({pid for pid in found if pid is not None})

    def close(self) -> None:
        """Ends the workers; those that do not end in a second are killed. May be called twice."""
        processes, self._processes = self._processes, []
        if os.getpid() != self._owner:
            for process in processes:
                process.channel.close()
            return
        self._board.close()
        for process in processes:
            process.channel.close()
        deadline = time.monotonic() + _GRACE_SECONDS
        popens = {id(p.popen): p.popen for p in processes if p.popen is not None}
        for popen in popens.values():
            try:
                popen.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                popen.terminate()  # an interpreter that forked workers takes them along
                try:
                    popen.wait(_GRACE_SECONDS)
                except subprocess.TimeoutExpired:
                    popen.kill()
                    popen.wait()
        for process in processes:
            if process.pid is not None:
                _reap(process.pid, deadline)
        _pools.discard(self)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    # -- work

    def post(self, source: int, iteration: int, epoch: int) -> bool:
        """Asks for one batch of a source; returns False where the board is full."""
        self._check()
        self._board.retire()
        if self._board.full:
            return False
        spec = self._sources[source]
        slab = self._take_slab(source)
        for process in self._processes:
            self._hand_over(process, source, slab)
        job = self._board.post(
            source=source,
            worker=self._dedicated.get(source, -1),
            slab=self._numbers[slab.fd],
            num_tasks=self._batch_size if spec.kind == "sample" else 1,
            batch_size=self._batch_size,
            iteration=iteration,
            epoch=epoch,
        )
        self._jobs[source].append(_Job(job, source, slab))
        return True

    def _hand_over(self, process: _Process, source: int, slab: Any) -> None:
        """Gives a worker that may need it the descriptor of a slab."""
        number = self._numbers[slab.fd]
        if number in process.known or self._dedicated.get(source, process.index) != process.index:
            return
        outputs = self._sources[source].num_outputs or 1
        header = pickle.dumps((number, outputs, self._batch_size))
        try:
            socket.send_fds(process.channel, [header], [slab.fd])
        except OSError:
            raise self._died(process) from None
        process.known.add(number)

    def _posted(self) -> dict[int, Any]:
        """Returns the slabs of all jobs, by number: a forked worker has them."""
        return {self._numbers[job.slab.fd]: job.slab for jobs in self._jobs for job in jobs}

    def pending(self, source: int) -> int:
        """Number of batches that were asked for and not taken."""
        return len(self._jobs[source])

    @property
    def is_dead(self) -> bool:
        """Whether the workers are gone."""
        return self._dead is not None

    def is_ready(self, source: int) -> bool:
        """Whether take() would return at once."""
        jobs = self._jobs[source]
        return bool(jobs) and self._board.complete(jobs[0].number)

    def take(self, source: int) -> list[Output]:
        """Waits for the oldest batch of a source; returns its outputs, in shared memory.

        Raises:
            StopIteration: the source is at its end.
            WorkerFailure: the source failed, or a worker is gone.
        """
        jobs = self._jobs[source]
        if not jobs:
            raise WorkerFailure(None, None, self._dead or "no batch was asked for")
        job = jobs[0]
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        self._wait(job, deadline)
        if self._board.failed(job.number):
            self._receive(0)  # what was sent before the job was complete
        jobs.popleft()
        if job.errors:
            self._free[source].give_back(job.slab)
            raise _failure(job.errors)
        if self._board.failed(job.number):
            raise WorkerFailure(None, None, "a worker process failed without saying why")
        spec = self._sources[source]
        home = self._free[source]
        lease = _shm.Lease(job.slab, home)
        outputs = [_tensors(lease, job.slab.describe(i)) for i in range(spec.num_outputs or 1)]
        if all(isinstance(output, torch.Tensor) for output in outputs):
            job.slab.mark_written()
        if home.num_leased > _MOST_LEASED:
            # The user keeps batches; each would hold a descriptor here and in every worker.
            outputs = [_copy(output) for output in outputs]
        return outputs

    def cancel(self, source: int) -> None:
        """Drops the batches that were asked for, and waits for what is in hand."""
        jobs = self._jobs[source]
        for job in jobs:
            self._board.cancel(job.number)
        while jobs:
            job = jobs[0]
            self._wait(job, None)
            jobs.popleft()
            self._free[source].give_back(job.slab)

    def capacities(self, source: int) -> list[int]:
        """Bytes of the slabs of a source that are free or being filled."""
        return [job.slab.size for job in self._jobs[source]]

    def _take_slab(self, source: int) -> Any:
        slab = self._free[source].take()
        if slab is None:
            outputs = self._sources[source].num_outputs or 1
            slab = _shm.Slab(
                outputs, self._batch_size, self._sample_bytes[source] * self._batch_size
            )
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

    def _wait(self, job: _Job, deadline: float | None) -> None:
        """Returns when a job is complete."""
        while not self._board.complete(job.number):
            self._check()
            self._board.want_message()
            if self._board.complete(job.number):
                return
            if deadline is None:
                self._receive(None)
            elif not self._receive(max(0.0, deadline - time.monotonic()) * 1000):
                raise self._end(f"no batch came from the worker processes in {self._timeout} s")

    def _receive(self, milliseconds: float | None) -> bool:
        """Reads all that the workers have sent, after waiting for something; tells if it came."""
        ready = self._poll.poll(milliseconds)
        by_fd = {p.channel.fileno(): p for p in self._processes}
        for fd, _ in ready:
            while (message := self._message(by_fd[fd])) is not None:
                if message[0] == "error":
                    self._note(*message[1:])
                elif message[0] == "start":
                    raise self._end(f"a worker process cannot load the source:\n{message[1]}")
        return bool(ready)

    def _message(self, process: _Process) -> tuple[Any, ...] | None:
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

    def _died(self, process: _Process) -> WorkerFailure:
        """Ends the pool because a worker has ended; returns the error that says how."""
        how = ""
        code: int | None = None
        if process.pid is not None:
            with contextlib.suppress(ChildProcessError):
                code = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
            process.pid = None
        elif process.popen is not None and len(self._processes) == len(
            {id(p.popen) for p in self._processes}
        ):
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.popen.wait(_GRACE_SECONDS)
        if code is not None:
            how = f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        return self._end(
            f"worker process {process.index} ended{how} in the middle of its work{hint}"
        )

    def _end(self, why: str) -> WorkerFailure:
        self._dead = why
        self.close()
        return WorkerFailure(None, None, why)


def _reap(pid: int, deadline: float) -> None:
    """Waits for a child of ours; kills it after the deadline."""
    killed = False
    while True:
        try:
            done, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return
        if done:
            return
        if not killed and time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            killed = True
        time.sleep(0.002)


def _payload(sources: Sequence[SourceSpec], pickler: Any) -> bytes:
    """Returns what a worker loads its sources from."""
    module, dump_options, load_options = pickling, {}, {}
    if pickler is not None:
        parts = pickler if isinstance(pickler, (tuple, list)) else (pickler,)
        module = parts[0]
        dump_options = dict(parts[1]) if len(parts) > 1 else {}
        load_options = dict(parts[2]) if len(parts) > 2 else {}
    try:
        data = module.dumps(list(sources), **dump_options)
    except Exception as error:
        raise _make(
            ArgumentTypeError,
            f"the source cannot be sent to a worker process: {error}",
            fix='define it at the top of a module, pass py_start_method="fork", or give the '
            "pipeline a `py_callback_pickler` such as cloudpickle",
        ) from error
    return pickle.dumps((module.__name__, load_options, data))


def _failure(errors: list[tuple[int | None, bytes | None, str]]) -> BaseException:
    """Returns what the lowest failing sample failed with."""
    sample, stored, text = min(errors, key=lambda e: -1 if e[0] is None else e[0])
    cause = None
    if stored is not None:
        with contextlib.suppress(Exception):
            cause = pickle.loads(stored)
    if isinstance(cause, StopIteration):
        return cause
    return WorkerFailure(sample, cause, text)


def _tensors(lease: Any, description: Any) -> Output:
    """Returns tensors over the memory of a lease."""
    if isinstance(description, tuple):
        return _tensor(lease, *description)
    return [_tensor(lease, *sample) for sample in description]


def _copy(output: Output) -> Output:
    return output.clone() if isinstance(output, torch.Tensor) else [t.clone() for t in output]


def _tensor(lease: Any, dtype: int, shape: tuple[int, ...], offset: int) -> torch.Tensor:
    own = to_torch_type(DALIDataType(dtype))
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return torch.empty(shape, dtype=own)
    return torch.frombuffer(lease, dtype=own, count=count, offset=offset).view(shape)
