# SPDX-License-Identifier: Apache-2.0
"""What users set for operators on tensors, and the threads that batches run on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

import torch

from torchdali._engine.extension import _C
from torchdali.errors import ArgumentError, LayoutError, _make

__all__ = [
    "chosen_num_threads",
    "deferred",
    "get_default_layout",
    "get_num_threads",
    "is_deferred",
    "set_default_layout",
    "set_num_threads",
    "threads",
]

_LAYOUTS = ("HWC", "CHW")


class _OfThread(threading.local):
    deferred = True


class _Settings:
    """Of the process."""

    def __init__(self) -> None:
        self.num_threads: int | None = None
        self.layout = "HWC"
        self.threads: _Threads | None = None


class _Threads:
    """Worker threads that all programs share.

    Attributes:
        count: of the threads.
        engine: an executor without operators, which owns them.
        lock: of the program that uses them.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.engine = _C.Executor([], [], batch_size=1, num_threads=count)
        self.lock = threading.Lock()


_of_thread = _OfThread()
_settings = _Settings()


def set_default_layout(layout: str) -> None:
    """Sets the layout of tensors and arrays with three axes that are passed without one.

    Args:
        layout: "HWC", as at the start, or "CHW", as code for torch usually has it. Results have
            the layout of what they were made from; those of decoders are HWC in both cases.

    Raises:
        LayoutError: it is neither.
    """
    if layout not in _LAYOUTS:
        raise _make(LayoutError, f'set_default_layout takes "HWC" or "CHW", got {layout!r}')
    _settings.layout = layout


def get_default_layout() -> str:
    """Returns what set_default_layout() has set."""
    return _settings.layout


def set_num_threads(count: int | None) -> None:
    """Sets the number of threads that the samples of a batch are shared among.

    Args:
        count: at least 1; None: that of torch (``torch.get_num_threads()``), as at the start. In a
            worker process of a DataLoader that is 1.

    Raises:
        ArgumentError: it is less.
    """
    if count is not None and count < 1:
        raise _make(ArgumentError, f"set_num_threads takes a number from 1, got {count}")
    _settings.num_threads = count


def chosen_num_threads() -> int | None:
    """Returns what set_num_threads() has set."""
    return _settings.num_threads


def get_num_threads() -> int:
    """Returns the number of threads that batches run on."""
    return _settings.num_threads or torch.get_num_threads()


def threads() -> _Threads:
    """Returns the threads that batches run on; starts them if necessary."""
    count = get_num_threads()
    if _settings.threads is None or _settings.threads.count != count:
        _settings.threads = _Threads(count)
    return _settings.threads


def _forget_threads() -> None:
    _settings.threads = None


os.register_at_fork(after_in_child=_forget_threads)  # the process does not have them


def is_deferred() -> bool:
    """Returns whether calls on batches of this thread wait until their result is read."""
    return _of_thread.deferred


@contextlib.contextmanager
def deferred(enabled: bool) -> Iterator[None]:
    """Says whether calls on batches wait until their result is read, inside a `with` statement.

    Calls that wait run together, fused as in a pipeline. Without waiting, each one runs when it is
    called, which shows where an error or the time comes from.

    Args:
        enabled: True as at the start, or False. Of the current thread.
    """
    before = _of_thread.deferred
    _of_thread.deferred = enabled
    try:
        yield
    finally:
        _of_thread.deferred = before
