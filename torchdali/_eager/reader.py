# SPDX-License-Identifier: Apache-2.0
"""The epochs of a reader by itself, for DALI's eager modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdali._eager import settings
from torchdali._eager.program import draw_seed
from torchdali._engine.schema import OperatorSchema
from torchdali._graph.record import create
from torchdali.data_node import DataNode
from torchdali.pipeline import Pipeline
from torchdali.tensors import TensorListCPU

__all__ = ["Reader", "first_samples"]


class Reader:
    """A pipeline of one reader, which ends its epochs with the samples of its shard.

    Args:
        schema: of the reader.
        kwargs: its arguments.
        batch_size: of all batches but the last one of an epoch.
        checkpoint: where another one stopped, as checkpoint() returned it.
        enable_checkpointing: whether checkpoint() may be called.

    Raises:
        TorchdaliError: the arguments are wrong, or there is no data.
    """

    def __init__(
        self,
        schema: OperatorSchema,
        kwargs: Mapping[str, Any],
        batch_size: int,
        *,
        enable_checkpointing: bool = False,
        checkpoint: Any = None,
    ) -> None:
        given = {name: value for name, value in kwargs.items() if value is not None}
        self.pads = bool(given.get("pad_last_batch", False))
        self.batch_size = batch_size
        self._pipeline = Pipeline(
            batch_size,
            settings.get_num_threads(),
            None,
            seed=draw_seed() if given.get("random_shuffle") and "seed" not in given else 0,
            enable_checkpointing=enable_checkpointing,
            checkpoint=checkpoint,
        )
        with self._pipeline:
            made = create(schema, [], {**given, "name": "reader", "pad_last_batch": True})
            if isinstance(made, dict):
                self.names: tuple[str, ...] | None = tuple(made)
                made = list(made.values())
            else:
                self.names = None
            self._pipeline.set_outputs(*([made] if isinstance(made, DataNode) else made))
        self._pipeline.build()
        self.metadata: dict[str, Any] = self._pipeline.reader_meta("reader")
        self.epoch = 0

    def checkpoint(self) -> bytes:
        """Returns where the reader is."""
        return self._pipeline.checkpoint()

    @property
    def num_samples(self) -> int:
        """Samples of the epoch that begins next."""
        meta = self.metadata
        size, shards = meta["epoch_size"], meta["number_of_shards"]
        moved = 0 if meta["stick_to_shard"] else self.epoch
        shard = (meta["shard_id"] + moved) % shards
        return int((shard + 1) * size // shards - shard * size // shards)

    @property
    def num_batches(self) -> int:
        """Batches of every epoch: those of the largest shard."""
        meta = self.metadata
        largest = -(-meta["epoch_size"] // meta["number_of_shards"])
        return int(-(-largest // self.batch_size))

    def batches(self, skip: int = 0) -> Iterator[tuple[TensorListCPU, ...]]:
        """Yields the batches of the next epoch; the last one has the samples that are left.

        Args:
            skip: batches of it that were read before.
        """
        count = self.num_samples
        for index in range(skip, self.num_batches):
            left = self.batch_size if self.pads else count - index * self.batch_size
            last = index + 1 == self.num_batches
            outputs = self._pipeline.run()
            if last:
                self.epoch += 1
            if left > 0:
                yield tuple(first_samples(output, left) for output in outputs)


def first_samples(batch: TensorListCPU, count: int) -> TensorListCPU:
    """Returns a batch of the first samples, or the batch if it has no more."""
    if count >= len(batch):
        return batch
    return TensorListCPU([batch[i] for i in range(count)], batch.layout())
