# SPDX-License-Identifier: Apache-2.0
"""DALIServer: the main process's side of a proxy."""

from __future__ import annotations

import atexit
import os
import threading
import uuid
import weakref
from collections import deque
from concurrent.futures import Future
from types import TracebackType
from typing import Any

import torch

from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make
from torchdali.loader._dataset.stages import map_tensors
from torchdali.pipeline import Pipeline
from torchdali.pipeline._driver import driver_of
from torchdali.plugin.pytorch.experimental._requests import (
    BatchRef,
    Call,
    Proxy,
    Request,
    SampleRef,
    register,
)

__all__ = ["DALIServer"]


class DALIServer:
    """Runs a pipeline for the samples of datasets, in the process that trains.

    `proxy` is called in datasets, in worker processes too, and what it returns becomes tensors in
    this process: by the DataLoader of this module, or by produce_data(). Used as a context manager,
    it stops its thread at the end.

    Args:
        pipeline: with an fn.external_source without `source` for each input, which is faster with
            `no_copy`. Its batch size is the greatest number of samples of a batch.
        deterministic: batches are run in the order in which the loader returns them, and not as
            soon as they come from workers, so that random values do not depend on the speed of
            workers.

    Raises:
        ArgumentTypeError: `pipeline` is no Pipeline.
        ArgumentError: nothing can be fed to it.
        TorchdaliError: it cannot be built.

    Example:
        with DALIServer(pipe) as server:
            dataset = ImageFolder(root, transform=server.proxy, loader=read_bytes)
            for images, labels in DataLoader(server, dataset, batch_size=64, num_workers=8):
                train_step(images, labels)
    """

    def __init__(self, pipeline: Any, deterministic: bool = False) -> None:
        if not isinstance(pipeline, Pipeline):
            raise _make(
                ArgumentTypeError,
                f"DALIServer: `pipeline` is a {type(pipeline).__name__}, expected a Pipeline",
                fix="call the function under @pipeline_def with its `batch_size`",
            )
        pipeline.build()
        names = list(driver_of(pipeline).input_names)
        if not names:
            raise _make(
                ArgumentError,
                "DALIServer: the pipeline has no external source that could be fed",
                fix="begin it with fn.external_source(name=...), without `source`",
            )
        self._pipeline, self._deterministic = pipeline, bool(deterministic)
        self._key, self._owner = uuid.uuid4().hex, os.getpid()
        self._proxy = Proxy(self._key, names, pipeline.num_outputs)
        self._waiting: deque[Request] = deque()
        self._changed = threading.Condition()
        self._running = threading.Lock()  # while a thread that was stopped runs its last request
        self._thread: threading.Thread | None = None
        register(self._key, self)
        _alive.add(self)

    @property
    def proxy(self) -> Proxy:
        """What datasets call: ``proxy(image)``, ``proxy(a, b)``, ``proxy(a=a, b=b)``."""
        return self._proxy

    @property
    def is_here(self) -> bool:
        """Whether it was made in this process; a copy in a forked one has no thread."""
        return os.getpid() == self._owner

    @property
    def is_running(self) -> bool:
        """Whether there is a thread."""
        return self._thread is not None

    # -- the thread

    def __enter__(self) -> DALIServer:
        self.start_thread()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.stop_thread()

    def start_thread(self) -> None:
        """Starts the thread that runs the pipeline; without effect if there is one."""
        with self._changed:
            if self._thread is None:
                # A daemon: a program that ends without stop_thread() does not wait for it.
                self._thread = threading.Thread(
                    target=self._serve, name="torchdali proxy", daemon=True
                )
                self._thread.start()

    def stop_thread(self) -> None:
        """Ends the thread after what was asked for. It is started again when it is needed."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _serve(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                while self._thread is me and not self._waiting:
                    self._changed.wait()
                if self._thread is not me and (self._thread is not None or not self._waiting):
                    return  # stopped; there may be another one by now
                request = self._waiting.popleft()
            try:
                with self._running:
                    outputs = self._run(request)
            except BaseException as error:  # also SystemExit of a function: somebody waits
                request.answer.set_exception(error)
            else:
                request.answer.set_result(outputs)
            del request

    def _run(self, request: Request) -> list[Any]:
        pipeline, size = self._pipeline, request.size
        if size > pipeline.max_batch_size:
            raise _make(
                ArgumentError,
                f"DALIServer: a batch has {size} samples, the `batch_size` of the pipeline is "
                f"{pipeline.max_batch_size}",
                fix="make the pipeline with the batch size of the loader, or a greater one",
            )
        try:
            made = pipeline.run(**request.columns)
        except StopIteration:
            raise _make(
                PipelineError,
                "DALIServer: a source of the pipeline itself has ended",
                fix="let it start again (`cycle`), or pass its data to the proxy",
            ) from None
        for index, output in enumerate(made):
            if len(output) != size:
                raise _make(
                    PipelineError,
                    f"DALIServer: the output {index} has {len(output)} samples, the batch {size}",
                    fix='the other fields of a batch would not fit: use on_error="replace" or '
                    '"raise", and operators that keep the number of samples',
                )
        values = [b.as_torch() if b.is_dense_tensor() else b.as_torch_list() for b in made]
        if any(value[0].is_cuda for value in values if len(value)):
            torch.cuda.current_stream().synchronize()  # users may have another stream
        return values

    # -- requests

    def received(self, request: Request) -> None:
        """A batch of calls has come to this process: runs it, unless `deterministic`."""
        if not self._deterministic:
            self.submit(request)

    def submit(self, request: Request) -> None:
        """Has the thread run the pipeline for a request; without effect if it was told."""
        with self._changed:
            if request.answer is None:
                self.start_thread()
                request.answer = Future()
                self._waiting.append(request)
                self._changed.notify_all()

    def outputs_of(self, request: Request) -> list[Any]:
        """Returns the outputs for a request: a tensor [N, ...] or a list of N tensors each.

        Raises:
            Exception: the pipeline has failed.
        """
        self.submit(request)
        outputs: list[Any] = request.answer.result()
        return outputs

    def submit_all(self, obj: Any) -> None:
        """Has the thread run the pipeline for all that a structure asks for."""
        for ref in _refs(obj):
            if isinstance(ref, BatchRef):
                self.submit(ref.request)

    def produce_data(self, obj: Any) -> Any:
        """Returns a batch whose pipelines were run: their outputs replace what stands for them.

        Args:
            obj: a structure of dicts, lists, tuples and dataclasses, as a loader returns it.

        Raises:
            Exception: the pipeline has failed for this batch. The next one is not affected.
        """
        refs = _refs(obj)
        if not refs:
            return obj
        requests = self._requests_of([ref for ref in refs if isinstance(ref, SampleRef)])

        def value(ref: Any) -> Any:
            if isinstance(ref, BatchRef):
                return ref.value()
            if isinstance(ref, SampleRef):
                request, row = requests[id(ref.call)]
                return request.outputs()[ref.index][row]
            return ref

        return map_tensors(obj, value)

    def _requests_of(self, refs: list[SampleRef]) -> dict[int, tuple[Request, int]]:
        """Returns requests for calls that were not collated, as large as the pipeline takes."""
        calls: dict[str, dict[int, Call]] = {}
        for ref in refs:
            calls.setdefault(ref.call.server, {})[id(ref.call)] = ref.call
        found = {}
        for of_server in calls.values():
            own, size = list(of_server.values()), self._pipeline.max_batch_size
            for start in range(0, len(own), size):
                part = own[start : start + size]
                request = part[0].batch_with(part)
                found.update({id(call): (request, row) for row, call in enumerate(part)})
        return found


def _refs(obj: Any) -> list[Any]:
    """Returns all that stands for outputs in a structure."""
    found: list[Any] = []

    def note(value: Any) -> Any:
        if isinstance(value, (BatchRef, SampleRef)):
            found.append(value)
        return value

    map_tensors(obj, note)
    return found


_alive: weakref.WeakSet[DALIServer] = weakref.WeakSet()


@atexit.register
def _stop_threads() -> None:
    """Ends the threads before the interpreter does: they may be in code of the engine."""
    for server in list(_alive):
        if server.is_here:
            server.stop_thread()
