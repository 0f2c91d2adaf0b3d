# SPDX-License-Identifier: Apache-2.0
"""What runs in a worker process: claim a task, do the work, tell the parent.

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
from torchdali._workers import server

__all__ = ["Surroundings", "Work", "launch", "run"]

_POLL_MS = 500  # how soon an idle worker notices that its parent is gone
# Of the parts of a message, which is to fit what the parent reads at once.
_MAX_TEXT = 1 << 14  # characters, of up to four bytes
_MAX_STORED = 1 << 15  # bytes

# Messages to the parent: ("done", job), ("start", text): no work can be done, or
# ("error", job, sample, exception as bytes or None, text); from the parent:
# (slab, num_outputs, max_samples) with a descriptor.


class Work:
    """What workers do for the jobs of one queue; each of them has a copy.

    Attributes:
        num_outputs, max_samples: of a slab, which holds `num_outputs * max_samples` arrays that are
            stored by number, and any number of others.
        num_tasks: into how many parts a job is divided; any worker may do any of them.
        slab_bytes: room for data that a slab has from the start.
        worker: the only one that does them, where a job does not name one; -1: any.
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
        """What of it the user has given, for errors."""
        return self

    def begin(self, worker: int, num_workers: int) -> None:
        """Prepares a worker, before its first task."""

    def do(self, task: Any, slab: Any) -> None:
        """Does a task: reads `slab.request`, writes into `slab`.

        StopIteration, as any exception, ends the job, and is raised where the parent takes it.
        """
        raise NotImplementedError

    def sample(self, index: int) -> int | None:
        """Returns which sample of the batch a task is about, None where it is not about one."""
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
        self._poll.register(channel, 0)  # its end is reported all the same

    def loop(self) -> None:
        while True:
            task = self._board.next(self._index, _POLL_MS)
            if task is False:
                return
            if task is None:
                if self._alone():
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

    def _alone(self) -> bool:
        """Returns whether the parent is gone, or has closed the channel."""
        events = self._poll.poll(0)
        return os.getppid() != self._parent or any(event & select.POLLHUP for _, event in events)

    def _finish(self, task: Any, failed: bool) -> None:
        if self._board.finish(task, failed):
            self._channel.send(pickle.dumps(("done", task.job)))

    def _report(self, task: Any, sample: int | None, error: BaseException) -> None:
        try:
            stored = pickle.dumps(error)
            pickle.loads(stored)
        except Exception:
            stored = None
        # Without the frames of this file.
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_globals.get("__package__") == __package__:
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames or error.__traceback__)
        text = "".join(lines)
        if stored is not None and len(stored) > _MAX_STORED:
            stored = None
        self._channel.send(pickle.dumps(("error", task.job, sample, stored, text[-_MAX_TEXT:])))

    def _slab(self, number: int) -> Any:
        while number not in self._slabs:
            data, fds, _, _ = socket.recv_fds(self._channel, 1 << 12, 1)
            if not data:
                raise SystemExit  # the parent is gone
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
    """Works until the pool is closed or its process is gone; `slabs` are those it has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    board = _shm.Board(board_fd)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the parent is gone
        try:
            for work in works:
                work.begin(index, num_workers)
        except BaseException:
            _refuse(channel)
            return
        _Worker(index, board, channel, works, slabs).loop()


def _refuse(channel: socket.socket) -> None:
    channel.send(pickle.dumps(("start", traceback.format_exc()[-_MAX_TEXT:])))


class Surroundings:
    """What a process started from the parent may expect to be as it is there."""

    def __init__(self) -> None:
        self._path = list(sys.path)
        self._argv = list(sys.argv)
        self._environment = dict(os.environ)
        self._processors = os.sched_getaffinity(0)
        self._umask = os.umask(0o77)
        os.umask(self._umask)
        try:
            self._folder: str | None = os.getcwd()
        except FileNotFoundError:
            self._folder = None

    def enter(self) -> None:
        """Makes them those of this process."""
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


def _serve(channel: socket.socket) -> None:
    """Takes what the worker is to do from the channel, and does it."""
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
        surroundings, pickler, options, data = pickle.loads(payload)
        del payload
        surroundings.enter()
        works = importlib.import_module(pickler).loads(data, **options)
        del data
    except BaseException:
        _refuse(channel)
        return
    run(index, num_workers, fds[0], channel, works, {})


def launch(descriptor: int, serves: bool = False) -> None:
    """Starts in a fresh interpreter: a worker at a channel, or the fork server at a socket."""
    end = socket.socket(fileno=descriptor)
    importlib.import_module("torchdali._workers.sources")  # and with it NumPy, for all workers
    if serves:
        server.serve(end, _serve)
    else:
        _serve(end)
