# SPDX-License-Identifier: Apache-2.0
"""When and on how many threads the dynamic mode evaluates."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from torchdali._eager import devices, settings
from torchdali._eager.batch import Batch
from torchdali.errors import UnsupportedError, _make
from torchdali.types import EvalMode

__all__ = ["EvalContext", "EvalMode", "note", "set_num_threads"]


class EvalContext:
    """Inside a `with` statement: the number of threads, and the calls that are made.

    Args:
        num_threads: that batches run on; None: as it is. It holds for the process.
        device_id: not available: torch.cuda.device() chooses the GPU.
        cuda_stream: not available: torch.cuda.stream() does it.
        thread_pool: not available.

    Raises:
        UnsupportedError: an argument is not available in this version.
    """

    def __init__(
        self,
        *,
        num_threads: int | None = None,
        device_id: int | None = None,
        cuda_stream: Any = None,
        thread_pool: Any = None,
    ) -> None:
        if device_id is not None or cuda_stream is not None:
            raise _make(
                UnsupportedError,
                "EvalContext: device_id and cuda_stream are not available",
                fix="use torch.cuda.device() and torch.cuda.stream()",
            )
        if thread_pool is not None:
            raise _make(
                UnsupportedError, "EvalContext: thread_pool is not available", fix="use num_threads"
            )
        self._num_threads = num_threads
        self._before: list[int | None] = []
        self._results: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def num_threads(self) -> int:
        """The number of threads that batches run on."""
        return self._num_threads or settings.get_num_threads()

    @property
    def device_id(self) -> None:
        """None: that of torch."""
        return None

    @property
    def cuda_stream(self) -> None:
        """None: that of torch."""
        return None

    @property
    def thread_pool(self) -> None:
        """None: all calls share the threads of the process."""
        return None

    @staticmethod
    def current() -> EvalContext:
        """Returns the context that the current thread is in."""
        return _contexts.entered[-1] if _contexts.entered else _default

    @staticmethod
    def default() -> EvalContext:
        """Returns the context of threads that are in no other one."""
        return _default

    def note(self, results: list[Any]) -> None:
        """Remembers results for evaluate_all()."""
        if self is not _default:
            self._results.update(results)

    def evaluate_all(self) -> None:
        """Computes what was called in the context and is still referred to."""
        for result in list(self._results):
            result.evaluate()
        self._results.clear()

    def __enter__(self) -> EvalContext:
        _contexts.entered.append(self)
        if self._num_threads is not None:
            self._before.append(settings.chosen_num_threads())
            settings.set_num_threads(self._num_threads)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        try:
            if exc_type is None:
                self.evaluate_all()
        finally:
            _contexts.entered.pop()
            if self._num_threads is not None:
                settings.set_num_threads(self._before.pop())


def set_num_threads(n: int | None) -> None:
    """Sets the number of threads that batches run on, for the process.

    Args:
        n: at least 1; None: that of torch.

    Raises:
        ArgumentError: it is less.
    """
    settings.set_num_threads(n)


class _Contexts(threading.local):
    def __init__(self) -> None:
        self.entered: list[EvalContext] = []


_contexts = _Contexts()
_default = EvalContext()


def note(batches: list[Batch], results: list[Any]) -> None:
    """Evaluates the results of a call, or leaves that to later, as mode and context say."""
    if EvalMode.current() in (EvalMode.sync_cpu, EvalMode.sync_full):
        for batch in batches:
            batch.evaluate()
            if EvalMode.current() == EvalMode.sync_full:
                devices.synchronize(batch.gpu_id)
    else:
        EvalContext.current().note(results)
