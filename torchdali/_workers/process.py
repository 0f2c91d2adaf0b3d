# SPDX-License-Identifier: Apache-2.0
"""Runs in a worker process: claims tasks, does the work, and reports to the parent.

Imports neither torch nor the rest of torchdali, so that a worker starts quickly and stays small.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from torchdali import _shm
from torchdali._storage import options as storage_options
from torchdali._workers import server
from torchdali._workers.task_errors import MAX_TEXT, pickled, traceback_text

__all__ = ["ProcessEnvironment", "Work", "launch", "run"]

_POLL_MS = 500  # how soon an idle worker notices that its parent is gone
_NO_DESCRIPTORS = (
    "a worker process has no descriptor left for shared memory. To fix it: raise the limit of open "
    "files (`ulimit -n`), close files in the source, or request fewer batches ahead"
)
# Messages to the parent: ("done", job), ("start", text): the work cannot be loaded, ("end", text):
# the worker has to end, or ("error", job, sample, exception as bytes or None, text); from the
# parent: (slab, num_outputs, max_samples) with a descriptor.


class Work:
    """What workers do for the jobs of one queue. Each worker has a copy.

    Attributes:
        num_outputs, max_samples: of a slab, which has room for `num_outputs * max_samples` arrays
            that are stored by number, and any number of others.
        num_tasks: number of tasks that a job is divided into. Any worker may do any of them.
        slab_bytes: initial size of a slab for data.
        worker: the only worker that does jobs without a worker of their own; -1: any.
    """

    def __init__(
        self,
        num_outputs: int = 1,
        max_samples: int = 1,
        num_tasks: int = 1,
        slab_bytes: int = 0,
        worker: int = -1,
    ) -> None:
        self.num_outputs = num_outputs
        self.max_samples = max_samples
        self.num_tasks = num_tasks
        self.slab_bytes = slab_bytes
        self.worker = worker

    @property
    def given(self) -> Any:
        """The objects that the user has passed, for errors."""
        return self

    def begin(self, worker: int, num_workers: int) -> None:
        """Prepares a worker, before its first task."""

    def do(self, task: Any, slab: Any) -> None:
        """Does a task: reads `slab.request`, writes into `slab`.

        An exception, also StopIteration, ends the job, and is raised when the parent takes it.
        """
        raise NotImplementedError

    def sample(self, index: int) -> int | None:
        """Returns the sample that a task is about; None if it is about the whole batch."""
        del index
        return None


class _Worker:
    def __init__(
        self,
        index: int,
        board: Any,
        channel: socket.socket,
        works: Sequence[Work],
        slabs: dict[int, Any],
    ) -> None:
        self._index = index
        self._board = board
        self._channel = channel
        self._works = works
        self._slabs = slabs
        self._parent = os.getppid()
        self._poll = select.poll()
        self._poll.register(channel, 0)  # reports only that the channel was closed

    def loop(self) -> None:
        while True:
            task = self._board.next(self._index, _POLL_MS)
            if task is False:
                return
            if task is None:
                if self._parent_is_gone():
                    return
                continue
            work = self._works[task.source]
            try:
                work.do(task, self._slab(task.slab))
            except BaseException as error:
                self._report(task, work.sample(task.index), error)
                self._finish(task, failed=True)
            else:
                self._finish(task, failed=False)

    def _parent_is_gone(self) -> bool:
        """Returns whether the parent has ended, or has closed the channel."""
        events = self._poll.poll(0)
        return os.getppid() != self._parent or any(event & select.POLLHUP for _, event in events)

    def _finish(self, task: Any, failed: bool) -> None:
        if self._board.finish(task, failed):
            self._channel.send(pickle.dumps(("done", task.job)))

    def _report(self, task: Any, sample: int | None, error: BaseException) -> None:
        message = "error", task.job, sample, pickled(error), traceback_text(error)
        self._channel.send(pickle.dumps(message))

    def _slab(self, number: int) -> Any:
        while number not in self._slabs:
            data, fds, _, _ = socket.recv_fds(self._channel, 1 << 12, 1)
            if not data:
                raise SystemExit  # the parent is gone
            if not fds:  # the system has dropped the descriptor
                self._channel.send(pickle.dumps(("end", _NO_DESCRIPTORS)))
                raise SystemExit
            own, num_outputs, max_samples = pickle.loads(data)
            self._slabs[own] = _shm.Slab.attach(fds[0], num_outputs, max_samples)
        return self._slabs[number]


def run(
    index: int,
    num_workers: int,
    board_fd: int,
    channel: socket.socket,
    works: Sequence[Work],
    slabs: dict[int, Any],
) -> None:
    """Does tasks until the pool is closed or the parent is gone.

    Args:
        index: number of the worker.
        num_workers: of the pool.
        board_fd: descriptor of the board.
        channel: socket to the parent.
        works: the work of each queue.
        slabs: those that the worker has already, by their numbers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    board = _shm.Board(board_fd)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the parent is gone
        try:
            for work in works:
                work.begin(index, num_workers)
        except BaseException:
            _report_start_error(channel)
            return
        _Worker(index, board, channel, works, slabs).loop()


def _report_start_error(channel: socket.socket) -> None:
    channel.send(pickle.dumps(("start", traceback.format_exc()[-MAX_TEXT:])))


class ProcessEnvironment:
    """The paths, variables and limits of the parent that a worker is to have too."""

    def __init__(self) -> None:
        self._path = list(sys.path)
        self._argv = list(sys.argv)
        self._environment = dict(os.environ)
        self._processors = os.sched_getaffinity(0)
        self._storage = storage_options.pack()
        self._umask = os.umask(0o77)
        os.umask(self._umask)
        try:
            self._folder: str | None = os.getcwd()
        except FileNotFoundError:
            self._folder = None

    def apply(self) -> None:
        """Sets them in this process."""
        sys.path[:] = self._path
        sys.argv[:] = self._argv
        os.environ.clear()
        os.environ.update(self._environment)
        os.umask(self._umask)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, self._processors)
        with contextlib.suppress(OSError):
            if self._folder is not None:
                os.chdir(self._folder)
        storage_options.unpack(self._storage)


def _serve(channel: socket.socket) -> None:
    """Receives the work of a worker from its channel, and does it."""
    header, fds, _, _ = socket.recv_fds(channel, 1 << 12, 1)
    if not header:
        return
    index, num_workers, size = pickle.loads(header)
    payload = bytearray()
    while len(payload) < size:
        piece = channel.recv(1 << 17)
        if not piece:
            return
        payload += piece
    try:
        environment, pickler, options, data = pickle.loads(payload)
        del payload
        environment.apply()
        works = importlib.import_module(pickler).loads(data, **options)
        del data
    except BaseException:
        _report_start_error(channel)
        return
    run(index, num_workers, fds[0], channel, works, {})


def launch(descriptor: int, parent: int, *, serves: bool = False) -> None:
    """Main function of a fresh interpreter.

    Args:
        descriptor: of a socket to the parent.
        parent: its process id.
        serves: be the fork server, and not a worker.
    """
    _shm.end_with_parent(parent)
    end = socket.socket(fileno=descriptor)
    importlib.import_module("torchdali._workers.sources")  # imports NumPy for all workers
    if serves:
        server.serve(end, _serve)
    else:
        _serve(end)
