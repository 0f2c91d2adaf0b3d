# SPDX-License-Identifier: Apache-2.0
"""The fork server: an interpreter that has loaded NumPy and forks the workers of one process.

A process has one server. It is started when the first pipeline needs it, and kept until the process
ends, so that later pipelines only wait for a fork. Both ends of its socket are implemented here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from torchdali import _shm

__all__ = ["Server", "end", "forked", "serve", "start_server"]

_POLL_MS = 500  # how soon it notices that its parent is gone, if the socket does not report it
_STEP_SECONDS = 0.002
_MAX_MESSAGE = 1 << 16

# Requests: ("fork", ticket, numbers of the descriptors that follow that of the channel);
# ("end", request, tickets, seconds), answered by (request, exit codes); ("pids", request, tickets),
# answered by (request, process ids).


class Server:
    """The parent's side of the server. Any thread may use it.

    A forked child of the parent starts its own server.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._tickets = 0
        self._requests = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from torchdali._workers.process import launch; "
            f"launch({theirs.fileno()}, {os.getpid()}, serves=True)"
        )
        with theirs:
            # Ctrl-C goes to the whole process group, also to a process that is still starting.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", code],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    @property
    def is_usable(self) -> bool:
        """Whether it runs, and belongs to this process."""
        return self._owner == os.getpid() and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def fork(self, channel: int) -> int:
        """Requests a worker; returns its ticket without waiting.

        Args:
            channel: descriptor of the worker's end of a socket.

        Raises:
            OSError: the server is gone.
        """
        # The worker prints to where this process prints.
        numbers = [fd for fd in (1, 2) if _is_open(fd)]
        with self._lock:
            self._tickets += 1
            message = pickle.dumps(("fork", self._tickets, numbers))
            socket.send_fds(self._control, [message], [channel, *numbers])
            return self._tickets

    def end(self, tickets: Sequence[int], seconds: float) -> list[int | None]:
        """Waits until workers have ended; kills those that have not ended in time.

        Returns:
            Exit codes as subprocess has them; None if a code is unknown.
        """
        codes: list[int | None] | None = self._ask("end", list(tickets), seconds)
        return codes or [None] * len(tickets)

    def pids(self, tickets: Sequence[int]) -> list[int]:
        """Returns the process ids of workers that have not ended."""
        return self._ask("pids", list(tickets)) or []

    def _ask(self, kind: str, *arguments: Any) -> Any:
        with self._lock:
            self._requests += 1
            own = self._requests
            try:
                self._control.send(pickle.dumps((kind, own, *arguments)))
                while True:
                    request, answer = pickle.loads(self._control.recv(_MAX_MESSAGE))
                    if request == own:  # an earlier one was interrupted (Ctrl-C) in this function
                        return answer
            except (OSError, EOFError):
                return None  # the server is gone, and its workers end when they notice

    def close(self) -> None:
        """Ends the server and all its workers."""
        self._control.close()
        if self._owner == os.getpid():
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        else:
            self._process.returncode = 0  # only the parent may wait for it


_server: Server | None = None
_starting = threading.Lock()


def start_server() -> Server:
    """Returns the server of this process, started if necessary. Does not wait for it."""
    global _server
    with _starting:
        if _server is None or not _server.is_usable:
            if _server is not None:
                _server.close()
            _server = Server()
        return _server


def end() -> None:
    """Ends the server of this process; the next pipeline that needs one starts another."""
    global _server
    with _starting:
        server, _server = _server, None
    if server is not None:
        server.close()


def forked() -> None:
    """Closes the parent's server in a forked child; the server watches the socket for its end."""
    global _server, _starting
    _starting = threading.Lock()
    server, _server = _server, None
    if server is not None:
        server.close()


os.register_at_fork(after_in_child=forked)
atexit.register(end)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


# -- the server's side


class _Children:
    """The workers by ticket. Exit codes are kept until they are requested."""

    def __init__(self) -> None:
        self.running: dict[int, int] = {}  # process id -> ticket
        self._codes: dict[int, int] = {}

    def reap(self) -> None:
        while self.running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            ticket = self.running.pop(pid, None)
            if ticket is not None:
                self._codes[ticket] = os.waitstatus_to_exitcode(status)

    def end(self, tickets: Sequence[int], seconds: float) -> list[int | None]:
        deadline: float | None = time.monotonic() + seconds
        while True:
            self.reap()
            left = self.pids(tickets)
            if not left:
                return [self._codes.pop(ticket, None) for ticket in tickets]
            if deadline is not None and time.monotonic() > deadline:
                self.kill(left)
                deadline = None
            time.sleep(_STEP_SECONDS)

    def pids(self, tickets: Sequence[int]) -> list[int]:
        return [pid for pid, ticket in self.running.items() if ticket in tickets]

    def kill(self, pids: Sequence[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def serve(control: socket.socket, work: Callable[[socket.socket], None]) -> None:
    """Forks workers until the parent is gone.

    Args:
        control: socket to the Server of the parent.
        work: called in a worker with its channel.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    children = _Children()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while os.getppid() == parent:
        if not poll.poll(_POLL_MS):
            children.reap()
            continue
        try:
            message, fds, _, _ = socket.recv_fds(control, _MAX_MESSAGE, 3)
        except ConnectionError:
            break
        if not message:
            break
        kind, number, *rest = pickle.loads(message)
        if kind == "fork":
            (numbers,) = rest
            _fork(control, children, work, number, numbers, fds)
            continue
        answer = children.end(*rest) if kind == "end" else children.pids(*rest)
        with contextlib.suppress(OSError):
            control.send(pickle.dumps((number, answer)))
    children.kill(list(children.running))


def _fork(
    control: socket.socket,
    children: _Children,
    work: Callable[[socket.socket], None],
    ticket: int,
    numbers: Sequence[int],
    fds: Sequence[int],
) -> None:
    own = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        channel = socket.socket(fileno=os.dup(fds[0]))
        with channel, contextlib.suppress(OSError):
            channel.send(pickle.dumps(("end", f"a worker process cannot be forked: {error}")))
        pid = -1
    if pid == 0:
        code = 1
        try:
            _shm.end_with_parent(own)
            control.close()
            for number, fd in zip(numbers, fds[1:], strict=True):
                os.dup2(fd, number)
                os.close(fd)
            work(socket.socket(fileno=fds[0]))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    for fd in fds:
        os.close(fd)
    if pid > 0:
        children.running[pid] = ticket
