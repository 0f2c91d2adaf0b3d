# SPDX-License-Identifier: Apache-2.0
"""How worker processes are started and ended, for each start method."""

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
from collections.abc import Callable, Sequence
from typing import Any

from torchdali import pickling
from torchdali._workers import server
from torchdali._workers.process import Surroundings, Work
from torchdali.errors import ArgumentTypeError, PipelineError, _make

__all__ = ["Process", "end_processes", "fork", "payload", "send_payload", "spawn"]

_MAX_PIECE = 1 << 16
_STEP_SECONDS = 0.002


class Process:
    """One worker, as its parent sees it.

    Attributes:
        index: its number in the pool.
        channel: socket to it.
        known: numbers of the slabs that it has.
    """

    def __init__(self, index: int, channel: socket.socket) -> None:
        self.index = index
        self.channel = channel
        self.known: set[int] = set()

    @property
    def pid(self) -> int | None:
        """Its process id, None where it has ended."""
        raise NotImplementedError

    def end(self, seconds: float) -> int | None:
        """Waits for its end, kills it after so long; returns its exit code where that is known."""
        raise NotImplementedError


class _Forked(Process):
    def __init__(self, index: int, channel: socket.socket, pid: int) -> None:
        super().__init__(index, channel)
        self._pid: int | None = pid

    @property
    def pid(self) -> int | None:
        return self._pid

    def end(self, seconds: float) -> int | None:
        pid, self._pid = self._pid, None
        deadline: float | None = time.monotonic() + seconds
        while pid is not None:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                return None
            if done:
                return os.waitstatus_to_exitcode(status)
            if deadline is not None and time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
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
        ticket, self._ticket = self._ticket, None
        return None if ticket is None else self._server.end([ticket], seconds)[0]


def end_processes(processes: Sequence[Process], seconds: float) -> None:
    """Ends all, in so many seconds together."""
    deadline = time.monotonic() + seconds
    for process in processes:
        process.end(max(0.0, deadline - time.monotonic()))


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def fork(index: int, begin: Callable[[socket.socket], None], with_cuda: bool = False) -> Process:
    """Starts a worker as a copy of this process.

    Args:
        index: its number.
        begin: what it does with its channel.
        with_cuda: whether the process may use a GPU.

    Raises:
        PipelineError: the process uses a GPU, which a copy could not.
    """
    torch = sys.modules.get("torch")
    if not with_cuda and torch is not None and torch.cuda.is_initialized():
        raise _make(
            PipelineError,
            "worker processes cannot be forked from a process that uses CUDA: what they inherit of "
            "it does not work, and may hang them",
            fix='pass py_start_method="forkserver" to the pipeline, or call start_py_workers() '
            "before CUDA is used",
        )
    ours, theirs = _pair()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            # A collection would write to every object there is, and so copy all their pages.
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


def spawn(index: int, method: str) -> Process:
    """Starts a worker as a fresh interpreter ("spawn"), or as a copy of one ("forkserver")."""
    ours, theirs = _pair()
    with theirs:
        if method == "forkserver":
            owner = server.start_server()
            return _Served(index, ours, owner, owner.fork(theirs.fileno()))
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from torchdali._workers.process import launch; launch({theirs.fileno()})"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        return _Spawned(index, ours, process)


def send_payload(process: Process, num_workers: int, board: int, data: bytes) -> None:
    """Sends a worker that was not forked from here what it is to do.

    Raises:
        OSError: it is gone.
    """
    header = pickle.dumps((process.index, num_workers, len(data)))
    socket.send_fds(process.channel, [header], [board])
    view = memoryview(data)
    for start in range(0, len(data), _MAX_PIECE):
        process.channel.send(view[start : start + _MAX_PIECE])


def payload(works: Sequence[Work], pickler: Any) -> bytes:
    """Returns what a worker loads its work from.

    Args:
        works: for each queue.
        pickler: None: torchdali.pickling; a module with dumps and loads, or a tuple of it and their
            keyword arguments.

    Raises:
        ArgumentTypeError: something in it cannot be stored; the text says what.
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
            'py_start_method="fork", or give the pipeline a `py_callback_pickler` such as '
            "cloudpickle",
        ) from error
    return pickle.dumps((Surroundings(), module.__name__, load_options, data))
