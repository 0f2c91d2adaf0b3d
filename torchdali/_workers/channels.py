# SPDX-License-Identifier: Apache-2.0
"""Receives the messages of workers; process.py sends them."""

from __future__ import annotations

import contextlib
import pickle
import select
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from torchdali._workers.starting import Process

__all__ = ["Channels", "last_messages"]

_MAX_MESSAGE = 1 << 17
_Message = tuple[Any, ...]


class Channels:
    """The sockets to some workers."""

    def __init__(self, processes: Sequence[Process] = ()) -> None:
        self._poll = select.poll()
        self._processes = {process.channel.fileno(): process for process in processes}
        for process in processes:
            self._poll.register(process.channel, select.POLLIN)

    def receive(self, milliseconds: float | None) -> Iterator[tuple[Process, _Message | None]]:
        """Waits until a worker has sent something, and yields all messages.

        Args:
            milliseconds: the longest time to wait; None: no limit.

        Yields:
            The worker, and its message; None instead of a message if the worker has ended.
        """
        for fd, _ in self._poll.poll(milliseconds):
            process = self._processes[fd]
            while True:
                try:
                    data = process.channel.recv(_MAX_MESSAGE, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    break
                except ConnectionError:
                    data = b""
                if not data:
                    yield process, None
                    break
                yield process, pickle.loads(data)


def last_messages(process: Process) -> Iterator[_Message]:
    """Yields the messages that a worker sent before it ended."""
    with contextlib.suppress(OSError):
        while data := process.channel.recv(_MAX_MESSAGE, socket.MSG_DONTWAIT):
            yield pickle.loads(data)
