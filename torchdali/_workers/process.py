# SPDX-License-Identifier: Apache-2.0
"""What runs in a worker process: claim a task, call the source, write what it returns.

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
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torchdali import _shm
from torchdali._infos import BatchInfo, SampleInfo

__all__ = ["SourceSpec", "launch", "run"]

_POLL_MS = 500  # how soon an idle worker notices that its parent is gone
# Of the parts of a message, which is to fit what the parent reads at once.
_MAX_TEXT = 1 << 14  # characters, of up to four bytes
_MAX_STORED = 1 << 15  # bytes
_FDS = 1

# Messages to the parent: ("done", job) or ("error", job, sample, exception as bytes or None, text);
# from the parent: (slab, num_outputs, max_samples) with a descriptor, or ("drop", slab).


@dataclass
class SourceSpec:
    """One external source as a worker sees it.

    Attributes:
        function: callable, iterable or generator function.
        kind: "sample" (called with a SampleInfo), "batch" (with an iteration), "batch_info" (with a
            BatchInfo) or "iterable" (iterated over, anew in every epoch).
        num_outputs: None: the source returns one thing, else a tuple of so many.
    """

    function: Any
    kind: str
    num_outputs: int | None


class SourceError(Exception):
    """What a source returned cannot be used."""


class _Worker:
    def __init__(
        self,
        index: int,
        board: Any,
        channel: socket.socket,
        sources: Sequence[SourceSpec],
        slabs: dict[int, Any],
    ) -> None:
        self._index = index
        self._board = board
        self._channel = channel
        self._sources = sources
        self._slabs = slabs
        self._iterators: dict[int, tuple[int, Iterator[Any]]] = {}  # source -> epoch, iterator
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
            try:
                self._do(task)
            except BaseException as error:
                self._report(task, error)
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

    def _report(self, task: Any, error: BaseException) -> None:
        sample = task.index if task.num_tasks == task.batch_size else None
        try:
            stored = pickle.dumps(error)
            pickle.loads(stored)
        except Exception:
            stored = None
        # Without the frames of this file.
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames or error.__traceback__)
        text = "".join(lines)
        if stored is not None and len(stored) > _MAX_STORED:
            stored = None
        self._channel.send(pickle.dumps(("error", task.job, sample, stored, text[-_MAX_TEXT:])))

    def _slab(self, number: int) -> Any:
        while number not in self._slabs:
            data, fds, _, _ = socket.recv_fds(self._channel, 1 << 12, _FDS)
            if not data:
                raise SystemExit  # the parent is gone
            message = pickle.loads(data)
            if message[0] == "drop":
                self._slabs.pop(message[1], None)
            else:
                own, num_outputs, max_samples = message
                self._slabs[own] = _shm.Slab.attach(fds[0], num_outputs, max_samples)
        return self._slabs[number]

    def _do(self, task: Any) -> None:
        source = self._sources[task.source]
        slab = self._slab(task.slab)
        if source.kind == "sample":
            first = task.iteration * task.batch_size
            info = SampleInfo(first + task.index, task.index, task.iteration, task.epoch)
            value = source.function(info)
            for output, item in enumerate(_outputs(value, source.num_outputs)):
                slab.store(output, task.index, _array(item))
            return
        if source.kind == "iterable":
            value = self._next(task, source)
        elif source.kind == "batch_info":
            value = source.function(BatchInfo(task.iteration, task.epoch))
        else:
            value = source.function(task.iteration)
        batches = [_batch(item) for item in _outputs(value, source.num_outputs)]
        counts = {len(batch) for batch in batches}
        if len(counts) > 1:
            raise SourceError(
                f"the outputs of one batch have as many samples, got {sorted(counts)}"
            )
        count = counts.pop()
        if not 0 < count <= task.batch_size:
            raise SourceError(f"a batch has 1 to {task.batch_size} samples, got {count}")
        slab.num_samples = count
        for output, batch in enumerate(batches):
            if isinstance(batch, np.ndarray):
                slab.store_batch(output, batch)
            else:
                for index, item in enumerate(batch):
                    slab.store(output, index, item)

    def _next(self, task: Any, source: SourceSpec) -> Any:
        epoch, iterator = self._iterators.get(task.source, (-1, iter(())))
        if epoch != task.epoch:
            function = source.function
            again = isinstance(function, Iterable) or hasattr(type(function), "__getitem__")
            iterator = iter(function if again else function())
            self._iterators[task.source] = task.epoch, iterator
        try:
            return next(iterator)
        except StopIteration:
            # More is asked for ahead: an iterator that would go on after its end must not.
            self._iterators[task.source] = task.epoch, iter(())
            raise


def _outputs(value: Any, count: int | None) -> Sequence[Any]:
    if count is None:
        return (value,)
    if not isinstance(value, (list, tuple)) or len(value) != count:
        got = f"{len(value)} values" if isinstance(value, (list, tuple)) else type(value).__name__
        raise SourceError(
            f"`num_outputs` is {count}, so the source gives tuples of {count}; got {got}"
        )
    return value


def _array(value: Any) -> np.ndarray[Any, Any]:
    """Returns a sample as a C-contiguous array; no copy where it is one."""
    if not isinstance(value, np.ndarray):
        if hasattr(value, "__cuda_array_interface__"):
            raise SourceError("a source in a worker process returns CPU arrays, got one on a GPU")
        if hasattr(value, "detach"):  # a torch tensor, which may require gradients
            value = value.detach()
        elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            value = np.from_dlpack(value)
        elif not (
            hasattr(value, "__array__")
            or hasattr(value, "__array_interface__")
            or isinstance(value, (bool, int, float, list))
        ):
            try:
                value = memoryview(value)
            except TypeError:
                raise SourceError(
                    f"expected a NumPy array or a CPU torch tensor, got {type(value).__name__}"
                ) from None
        value = np.asarray(value)
    if value.dtype.hasobject or value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        raise SourceError(f"DALI has no element type for an array of {value.dtype}")
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)


def _batch(value: Any) -> Any:
    """Returns a batch as one array or as a list of arrays."""
    if hasattr(value, "as_torch_list"):  # a TensorListCPU
        value = value.as_torch() if value.is_dense_tensor() else value.as_torch_list()
    if isinstance(value, (list, tuple)):
        return [_array(item) for item in value]
    array = _array(value)
    if array.ndim == 0:
        raise SourceError("a batch needs an axis for its samples, got a scalar")
    return array


def run(
    index: int,
    board_fd: int,
    channel: socket.socket,
    sources: Sequence[SourceSpec],
    slabs: dict[int, Any],
) -> None:
    """Works until the pipeline is closed or its process is gone; `slabs` are those it has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the parent is gone
        _Worker(index, _shm.Board(board_fd), channel, sources, slabs).loop()


def _serve(channel: socket.socket) -> None:
    """Takes what the worker is to do from the channel, and does it."""
    header, fds, _, _ = socket.recv_fds(channel, 1 << 12, _FDS)
    if not header:
        return
    index, size = pickle.loads(header)
    payload = bytearray()
    while len(payload) < size:
        piece = channel.recv(1 << 17)
        if not piece:
            return
        payload += piece
    try:
        pickler, options, data = pickle.loads(payload)
        sources = importlib.import_module(pickler).loads(data, **options)
    except BaseException:
        channel.send(pickle.dumps(("start", traceback.format_exc()[-_MAX_TEXT:])))
        return
    run(index, fds[0], channel, sources, {})


def launch(descriptors: Sequence[int]) -> None:
    """Starts in a fresh interpreter: one worker for each descriptor of a channel.

    Where there are several, this process forks them and waits, so that Python and NumPy are loaded
    once. It ends them when it is asked to terminate, or when its parent is gone.
    """
    channels = [socket.socket(fileno=fd) for fd in descriptors]
    if len(channels) == 1:
        _serve(channels[0])
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    children: set[int] = set()

    def end(*_: Any) -> None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    for number, channel in enumerate(channels):
        pid = os.fork()
        if pid == 0:
            for other in channels[:number] + channels[number + 1 :]:
                other.close()
            code = 1
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                _serve(channel)
                code = 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        children.add(pid)
    for channel in channels:
        channel.close()
    while children and os.getppid() == parent:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        children.discard(pid)
        if not pid:
            time.sleep(_POLL_MS / 10000)
    end()
