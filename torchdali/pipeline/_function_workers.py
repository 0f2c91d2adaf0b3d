# SPDX-License-Identifier: Apache-2.0
"""fn.python_function(workers="processes"): the function as the engine calls it, in the parent."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from torchdali._sources.turn import ALL_SAMPLES
from torchdali._workers.functions import FunctionError, FunctionWork, pack
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali._workers.results import Output, failures_of, outputs_of
from torchdali._workers.sources import SourceError
from torchdali.data_node import OpNode
from torchdali.errors import PipelineError, _make

__all__ = ["ProcessFunction"]

_KINDS = {
    "python_function": "numpy",
    "dl_tensor_python_function": "dlpack",
    "torch_python_function": "torch",
}


class _Failed(Exception):
    """What _functions._describe_exception() makes an error of.

    Attributes:
        in_worker: text, cause and sample (-1: none).
    """

    def __init__(self, text: str, cause: BaseException | None, sample: int) -> None:
        super().__init__(text)
        self.in_worker = text, cause, sample


def _describe(described: str, error: BaseException) -> tuple[str, BaseException | None]:
    """Returns what to say of a function that failed for a sample, and what it has raised."""
    if isinstance(error, (FunctionError, SourceError)):  # a wrong result
        return str(error), None
    return f"raised {described}", error


class ProcessFunction:
    """A function of the user's that is called in worker processes. Any thread of the engine's.

    A function that is called for samples has one pool, whose workers share each batch. One that is
    called for batches has pools of one worker each, so that several batches are in hand at a time.

    Args:
        node: the use of the operator.
        num_workers, start_method, pickler, timeout: of the pipeline, as in Pool.
        batch_size: the pipeline's.
        lets_samples_fail: as for FunctionWork.
    """

    def __init__(
        self,
        node: OpNode,
        num_workers: int,
        start_method: str,
        batch_size: int,
        pickler: Any,
        timeout: float | None,
        lets_samples_fail: bool,
    ) -> None:
        args = node.args
        self.user_function = args["function"]
        self._num_outputs = args.get("num_outputs", 1)
        by_name = node.schema.by_name
        whole = args.get("batch_processing", by_name["batch_processing"].default)
        self._is_whole = bool(whole)
        self._closing = threading.Event()
        self._free: queue.SimpleQueue[Pool | None] = queue.SimpleQueue()
        self._pools = [
            Pool(
                [
                    FunctionWork(
                        self.user_function,
                        _KINDS[node.schema.name],
                        self._num_outputs,
                        batch_size,
                        whole,
                        bool(args.get("seed_generators")),
                        lets_samples_fail,
                    )
                ],
                1 if whole else num_workers,
                start_method,
                pickler,
                timeout,
            )
            for _ in range(num_workers if whole else 1)
        ]
        started = []
        try:
            for pool in self._pools:
                pool.start()
                started.append(pool)
        except WorkerFailure as failure:
            raise _make(
                PipelineError,
                f"worker processes cannot be started: {failure.text}",
                operator=node.schema.fn_name,
                location=node.location,
            ) from None
        finally:
            if len(started) < len(self._pools):
                for pool in started:
                    pool.close()
        for pool in self._pools:
            self._free.put(pool)

    def __call__(
        self, samples: Sequence[tuple[int, int, int]], *inputs: Sequence[npt.NDArray[Any]]
    ) -> tuple[tuple[Output, ...] | None, dict[int, tuple[str, BaseException | None]]]:
        """Returns the outputs for a batch, in memory that is shared with a worker.

        Samples that failed are left out. Their positions, or ALL_SAMPLES, are returned too, with
        what to say of the function and the exception.

        Args:
            samples: (seed, id, index in the batch) of each.
            inputs: for each input its samples.
        """
        pool = self._free.get()
        if pool is None:
            self._free.put(None)
            raise _Failed("was not called: the pipeline is closed", None, -1)
        try:
            if pool.needs_restart:
                pool.restart()
            pool.post(0, request=lambda slab: pack(slab, inputs, samples))
            lease = pool.take(0, self._check_open)
        except StopIteration as error:
            raise _Failed("raised StopIteration in a worker process", error, -1) from None
        except WorkerFailure as failure:
            text = f"failed in a worker process:\n{failure.text.rstrip()}"
            position = failure.sample
            sample = -1 if position is None else samples[position][2]
            raise _Failed(text, failure.cause, sample) from None
        finally:
            self._free.put(pool)
        failed = {index: _describe(*raised) for index, raised in failures_of(lease).items()}
        if failed and self._is_whole:
            failed = {ALL_SAMPLES: failed[0]}
        outputs = tuple(outputs_of(lease, self._num_outputs)) if self._num_outputs else None
        return outputs, failed

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise _Failed("was still running when the pipeline was closed", None, -1)

    def close(self) -> None:
        """Ends the workers. Calls that wait raise."""
        self._closing.set()
        for _ in self._pools:  # none is in use when all are here
            self._free.get()
        self._free.put(None)
        for pool in self._pools:
            pool.close()
