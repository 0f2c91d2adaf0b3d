# SPDX-License-Identifier: Apache-2.0
"""A pipeline without an engine: a reader that counts, and a queue of batches in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchdali._common.bad_samples import BadSampleLog
from torchdali.pipeline._options import Options
from torchdali.tensors import TensorListCPU


def reader_stream(case: dict[str, Any], shard: int) -> Iterator[int]:
    """Yields the samples of a reader without shuffling, endlessly (docs/design/epochs.md)."""
    size, num_shards = case["size"], case["num_shards"]
    largest = -(-size // num_shards)
    while True:
        begin, end = shard * size // num_shards, (shard + 1) * size // num_shards
        yield from range(begin, end)
        if case["pad"]:
            whole_batches = -(-largest // case["batch"]) * case["batch"]
            yield from [end - 1] * (whole_batches - (end - begin))
        if not case["stick"]:
            shard = (shard + 1) % num_shards


class _NoFailures:
    """Stands for RunFailures of a run in which no sample fails."""

    kept_rows = None
    expected: int | None = None

    def begin_epoch(self, epoch: int, batches: int, errors: int) -> None: ...


class FakePipeline:
    """Returns batches made by a function, through DALI's methods.

    Args:
        batch_size: of every batch.
        make_batch: called for each iteration that is scheduled; its outputs as lists of tensors (a
            ragged batch) or tensors. StopIteration ends the data; any other exception is that of
            the batch.
        restart: called by reset() after the end of the data.
        depth: iterations in flight.
        meta: what reader_meta() returns.
    """

    device_id = None
    options = Options()
    resumed_at = None

    def __init__(
        self,
        batch_size: int,
        make_batch: Callable[[], list[Any]],
        *,
        restart: Callable[[], None] = lambda: None,
        depth: int = 2,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.max_batch_size = batch_size
        self._make_batch, self._restart, self._depth = make_batch, restart, depth
        self._meta = meta
        self._queue: deque[Any] = deque()
        self._ended = False
        self.shared = 0
        self.bad_samples = BadSampleLog()
        self.failures = _NoFailures()

    def __torchdali_driver__(self) -> FakePipeline:
        return self

    def build(self) -> None: ...

    def reader_meta(self, name: str) -> dict[str, Any]:
        if self._meta is None or name != "files":
            raise RuntimeError(f"no reader {name}")
        return self._meta

    def empty(self) -> bool:
        return not self._queue

    def schedule_run(self) -> None:
        while not self._ended and len(self._queue) < self._depth:
            try:
                self._queue.append(self._make_batch())
            except StopIteration:
                self._ended = True
            except Exception as error:
                self._queue.append(error)

    def share_outputs(self) -> tuple[TensorListCPU, ...]:
        if not self._queue:
            raise StopIteration
        batch = self._queue.popleft()
        if isinstance(batch, Exception):
            raise batch
        self.shared += 1
        return tuple(TensorListCPU(output) for output in batch)

    def release_outputs(self) -> None:
        self.shared -= 1

    def reset(self) -> None:
        if self._ended:
            self._ended = False
            self._restart()


def reader_pipeline(case: dict[str, Any], shard: int) -> FakePipeline:
    """Returns a pipeline whose one output is the label, int32 [1], of a reader's samples."""
    stream = reader_stream(case, shard)
    size, num_shards = case["size"], case["num_shards"]

    def make_batch() -> list[Any]:
        return [torch.tensor([[next(stream)] for _ in range(case["batch"])], dtype=torch.int32)]

    meta = {
        "epoch_size": size,
        "epoch_size_padded": -(-size // num_shards) * num_shards if case["pad"] else size,
        "number_of_shards": num_shards,
        "shard_id": shard,
        "pad_last_batch": case["pad"],
        "stick_to_shard": case["stick"],
    }
    return FakePipeline(case["batch"], make_batch, meta=meta)
