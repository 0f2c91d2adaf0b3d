# SPDX-License-Identifier: Apache-2.0
"""Runs the pipeline of a DataLoader for batches of a loader that was made of it."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from torchdali.errors import ArgumentError, PipelineError, _make
from torchdali.loader._dataset.fetch import NO_SAMPLES
from torchdali.loader._dataset.late_batches import LateBatch, register
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.pipeline_stage import PipelineStage
from torchdali.loader._dataset.random_stream import RandomStream

__all__ = ["LatePipeline"]

_SETTINGS = (
    *("pipeline", "pipeline_options", "jpeg_index", "fields"),
    *("batch_size", "batch_sampler", "generator"),
)


class _Ahead(NamedTuple):
    """A batch that was begun before it was asked for."""

    batch: LateBatch
    begun: Any
    position: int


class LatePipeline:
    """Makes what LateBatch.value() returns.

    Random values follow from the order in which batches are asked for. One batch is begun before:
    the one that is probably next. If another one is, the pipeline goes back.

    Args:
        loader: a DataLoader with `pipeline`.

    Attributes:
        key: of its batches.
    """

    def __init__(self, loader: Any) -> None:
        self.key = uuid.uuid4().hex
        self._owner = os.getpid()
        # Not the loader itself, which refers to this.
        self._loader = SimpleNamespace(
            **{name: getattr(loader, name) for name in _SETTINGS}, on_error="raise",
            fill_batches=False,
        )  # fmt: skip
        options = ("on_error", "fill_batches")
        self._lost = [name for name in options if getattr(loader, name) not in (False, "raise")]
        self._lock = threading.RLock()
        self._stage: PipelineStage | None = None
        self._stream = RandomStream(0, 0)
        self._arrived: list[weakref.ref[LateBatch]] = []
        self._ahead: _Ahead | None = None
        self._last: LateBatch | None = None
        self._user: int | None = None  # the thread that asks for batches
        register(self.key, self)

    @property
    def is_here(self) -> bool:
        """Whether it was made in this process; forked workers have a copy."""
        return os.getpid() == self._owner

    def arrived(self, batch: LateBatch) -> None:
        """A batch has come to this process."""
        if threading.get_ident() != self._user:
            return  # nothing was asked for, or it is torch's thread that pins memory
        with self._lock:
            self._arrived.append(weakref.ref(batch))
            self._begin_next()

    def value_of(self, batch: LateBatch) -> Any:
        """Returns what the pipeline makes of a batch.

        Raises:
            ArgumentError: the DataLoader has options that others do not know.
            PipelineError: all samples have failed.
            Exception: the pipeline has failed.
        """
        if self._lost:
            raise _make(
                ArgumentError,
                f"DataLoader: the loader that was made of this one has lost `{self._lost[0]}`",
                fix=f"leave out `{self._lost[0]}`, or keep the DataLoader out of prepare() and "
                "pass `device` and a DistributedSampler",
            )
        with self._lock:
            self._user = threading.get_ident()
            stage = self._prepared()
            ahead, self._ahead = self._ahead, None
            if ahead is not None and ahead.batch is batch:
                begun = ahead.begun
            else:
                if ahead is not None:  # it was another one that came next
                    self._stream.samples = ahead.position
                    stage.start_epoch(self._stream.seed, self._stream.position)
                begun = self._begin(stage, batch)
            self._last = batch
            try:
                made = stage.finish(begun)
                stage.release(begun)
            finally:
                self._begin_next()
            if made is NO_SAMPLES:
                raise _make(PipelineError, "DataLoader: all samples of a batch have failed")
            return made

    def _prepared(self) -> PipelineStage:
        if self._stage is None:
            self._stage = stage = PipelineStage(self._loader, LoaderState())
            generator = self._loader.generator
            seed = torch.initial_seed() if generator is None else generator.initial_seed()
            if stage.given_seed is not None:
                seed = stage.given_seed
            # Ranks that have the same seed draw other values.
            distributed = torch.distributed
            ranks = distributed.is_available() and distributed.is_initialized()
            rank = distributed.get_rank() if ranks else 0
            self._stream = RandomStream(seed & (1 << 63) - 1, rank)
            stage.start_epoch(self._stream.seed, self._stream.position)
        return self._stage

    def _begin(self, stage: PipelineStage, batch: LateBatch) -> Any:
        begun = stage.begin(batch.fields)
        self._stream.samples += batch.fields.size
        return begun

    def _begin_next(self) -> None:
        """Begins the batch that is probably asked for next, if it is here."""
        batches = [batch for one in self._arrived if (batch := one()) is not None]
        batches = [b for b in batches if b is not self._last and not b.is_made]
        self._arrived = [weakref.ref(batch) for batch in batches]
        if self._ahead is not None or self._stage is None or self._last is None:
            return
        place = self._last.place
        if place is not None:  # workers take turns
            place = (place[0] + 1) % place[1], place[1]
        batch = next((batch for batch in batches if batch.place == place), None)
        if batch is None:
            return
        position = self._stream.samples
        try:
            self._ahead = _Ahead(batch, self._begin(self._stage, batch), position)
        except Exception:
            self._ahead = None  # raised when the batch is asked for
