# SPDX-License-Identifier: Apache-2.0
"""Starts and ends worker processes, for each start method."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torchdali import _shm, pickling
from torchdali._workers import server
from torchdali._workers.failures import start_error
from torchdali._workers.process import ProcessEnvironment, Work, run
from torchdali.errors import ArgumentTypeError, PipelineError, _make

__all__ = ["Launcher", "Process", "end_processes", "sigint_blocked"]

_MAX_PIECE = 1 << 16
_STEP_SECONDS = 0.002


class Process:
    """One worker, as its parent sees it.

    Attributes:
        index: its number in the pool.
        channel: socket to it.
        known: numbers of the slabs whose descriptors it has.
    """

    def __init__(self, index: int, channel: socket.socket) -> None:
        self.index = index
        self.channel = channel
        self.known: set[int] = set()

    @property
    def pid(self) -> int | None:
        """Its process id; None if it has ended."""
        raise NotImplementedError

    def end(self, seconds: float) -> int | None:
        """Waits until it ends, and kills it after some time. May be called again.

        Returns:
            Its exit code as subprocess has it; None if that is unknown.
        """
        raise NotImplementedError

    def send_slab(self, fd: int, number: int, num_outputs: int, max_samples: int) -> None:
        """Sends the descriptor of a slab; raises OSError if the worker is gone."""
        header = pickle.dumps((number, num_outputs, max_samples))
        socket.send_fds(self.channel, [header], [fd])
        self.known.add(number)


class _Forked(Process):
    def __init__(self, index: int, channel: socket.socket, pid: int) -> None:
        super().__init__(index, channel)
        self._pid: int | None = pid

    @property
    def pid(self) -> int | None:
        return self._pid

    def end(self, seconds: float) -> int | None:
        deadline: float | None = time.monotonic() + seconds
        while self._pid is not None:
            try:
                done, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # it was waited for elsewhere in the process
                self._pid = None
                return None
            if done:
                self._pid = None
                return os.waitstatus_to_exitcode(status)
            if deadline is not None and time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
                deadline = None
            time.sleep(_STEP_SECONDS)
        return None


class _Spawned(Process):
    def __init__(
        self, index: int, channel: socket.socket, process: subprocess.Popen[bytes]
    ) -> None:
        super().__init__(index, channel)
        self._process = process

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process.poll() is None else None

    def end(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class _Served(Process):
    def __init__(
        self, index: int, channel: socket.socket, owner: server.Server, ticket: int
    ) -> None:
        super().__init__(index, channel)
        self._server = owner
        self._ticket: int | None = ticket

    @property
    def pid(self) -> int | None:
        if self._ticket is None:
            return None
        return next(iter(self._server.pids([self._ticket])), None)

    def end(self, seconds: float) -> int | None:
        if self._ticket is None:
            return None
        (code,) = self._server.end([self._ticket], seconds)
        self._ticket = None
        return code


def end_processes(processes: Sequence[Process], seconds: float) -> None:
    """Ends all processes, within some seconds in total; at once if that is interrupted."""
    deadline = time.monotonic() + seconds
    try:
        for process in processes:
            process.end(max(0.0, deadline - time.monotonic()))
    except BaseException:  # Ctrl-C
        for process in processes:
            process.end(0.0)
        raise


class Launcher:
    """Starts the workers of a pool.

    Args:
        works: what they do for each queue.
        num_workers: number of processes.
        start_method: "fork", "spawn" or "forkserver".
        pickler: stores the work for processes that are not forked from here: a module with dumps
            and loads, or a tuple of it and dicts of arguments for the two; None:
            torchdali.pickling.
        forks_with_cuda: whether to fork although this process uses CUDA.
    """

    def __init__(
        self,
        works: Sequence[Work],
        num_workers: int,
        start_method: str,
        pickler: Any,
        forks_with_cuda: bool,
    ) -> None:
        self.num_workers = num_workers
        self._works = works
        self._start_method = start_method
        self._pickler = pickler
        self._forks_with_cuda = forks_with_cuda
        self._payload: bytes | None = None

    def start(
        self, index: int, board: int, slabs: Mapping[int, Any], leave_parent: Callable[[], None]
    ) -> Process:
        """Starts a worker. One that is forked from here begins to work.

        Args:
            index: its number.
            board: descriptor of the board.
            slabs: those of jobs that were posted, by their numbers.
            leave_parent: closes what belongs to the parent, in a forked worker.

        Raises:
            ArgumentTypeError: the work cannot be sent to another process.
            PipelineError: the process uses a GPU, and a copy of it could not; or the system has no
                room for another process.
        """

        def begin(channel: socket.socket) -> None:
            leave_parent()
            run(index, self.num_workers, os.dup(board), channel, self._works, dict(slabs))

        try:
            if self._start_method == "fork":
                process = _fork(index, begin, self._forks_with_cuda)
                process.known.update(slabs)
                return process
            if self._start_method == "forkserver":
                server.start_server()  # it loads modules while the payload is made
            if self._payload is None:
                self._payload = _payload(self._works, self._pickler)
            return _spawn(index, self._start_method)
        except OSError as error:
            raise start_error(error) from error

    def send_work(self, process: Process, board: int) -> None:
        """Sends a worker that was not forked from here what it is to do.

        Raises:
            OSError: the worker is gone.
        """
        if self._payload is None:
            return
        header = pickle.dumps((process.index, self.num_workers, len(self._payload)))
        socket.send_fds(process.channel, [header], [board])
        view = memoryview(self._payload)
        for start in range(0, len(view), _MAX_PIECE):
            process.channel.send(view[start : start + _MAX_PIECE])


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _fork(index: int, begin: Callable[[socket.socket], None], with_cuda: bool) -> Process:
    """Starts a worker as a copy of this process.

    Args:
        index: its number.
        begin: called in the worker with its channel.
        with_cuda: whether this process may use a GPU.

    Raises:
        PipelineError: the process uses a GPU, and a copy of it could not.
    """
    torch = sys.modules.get("torch")
    if not with_cuda and torch is not None and torch.cuda.is_initialized():
        raise _make(
            PipelineError,
            "worker processes cannot be forked from a process that uses CUDA: the copy of its CUDA "
            "state does not work, and may hang",
            fix='pass py_start_method="forkserver" to the pipeline, or call start_py_workers() '
            "before CUDA is used",
        )
    ours, theirs = _pair()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _shm.end_with_parent(parent)
            # A collection would write to every object, and so copy all pages.
            gc.freeze()
            ours.close()
            begin(theirs)
            code = 0
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    theirs.close()
    return _Forked(index, ours, pid)


def _spawn(index: int, method: str) -> Process:
    """Starts a worker as a fresh interpreter ("spawn"), or as a copy of one ("forkserver")."""
    ours, theirs = _pair()
    with theirs:
        if method == "forkserver":
            owner = server.start_server()
            return _Served(index, ours, owner, owner.fork(theirs.fileno()))
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from torchdali._workers.process import launch; "
            f"launch({theirs.fileno()}, {os.getpid()})"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        return _Spawned(index, ours, process)


def _payload(works: Sequence[Work], pickler: Any) -> bytes:
    """Returns the bytes that a worker loads its work from; see Launcher.

    Raises:
        ArgumentTypeError: an object cannot be stored; the text names it.
    """
    module, dump_options, load_options = pickling, {}, {}
    if pickler is not None:
        parts = pickler if isinstance(pickler, (tuple, list)) else (pickler,)
        module = parts[0]
        dump_options = dict(parts[1]) if len(parts) > 1 else {}
        load_options = dict(parts[2]) if len(parts) > 2 else {}
    try:
        data = module.dumps(list(works), **dump_options)
    except Exception as error:
        culprit = pickling.find_culprit(
            [work.given for work in works], lambda value: module.dumps(value, **dump_options)
        )
        raise _make(
            ArgumentTypeError,
            "the source cannot be sent to a worker process: "
            + (f"{culprit}: " if culprit else "")
            + str(error),
            fix="make what cannot be sent inside the source when it is first called, pass "
            'py_start_method="fork", or pass a `py_callback_pickler` such as cloudpickle to the '
            "pipeline",
        ) from error
    return pickle.dumps((ProcessEnvironment(), module.__name__, load_options, data))


@contextlib.contextmanager
def sigint_blocked() -> Iterator[None]:
    """Starts processes that Ctrl-C cannot end before they ignore it.

    Ctrl-C goes to the whole process group. Workers inherit the mask, and unblock the signal when
    they ignore it.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
