# SPDX-License-Identifier: Apache-2.0
"""DataLoader(pipeline=): the engine makes batches of what a dataset returns."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from torchdali.loader._dataset.columns import Fields
from torchdali.loader._dataset.fed_pipeline import FedPipeline
from torchdali.loader._dataset.fetch import NO_SAMPLES
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.made_rows import MadeRows
from torchdali.loader._dataset.pipeline_options import PipelineOptions
from torchdali.loader._dataset.stages import Stage
from torchdali.loader.fields import FieldMarks

__all__ = ["PipelineStage"]


class PipelineStage(Stage):
    """Feeds batches to a pipeline, and returns its outputs in the structure of its function.

    Args:
        loader: a DataLoader with `pipeline`.
        state: of the loader.
    """

    def __init__(self, loader: Any, state: LoaderState) -> None:
        super().__init__()
        self._function = loader.pipeline
        self._options = PipelineOptions(loader.pipeline_options, loader.jpeg_index)
        self._marks = FieldMarks(loader.pipeline, loader.fields, self._options.fields)
        self.depth = self._options.depth - 1
        size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
        self._batch_size = size if isinstance(size, int) else 0
        self._idle: list[FedPipeline] = state.idle_pipelines
        self._clock = state.clock
        self._is_filled = loader.fill_batches  # by the next stage
        self._on_error = None if loader.on_error == "raise" else loader.on_error
        self._bad_samples = state.bad_samples
        # Makes the batch of the user, of MadeRows.
        self._finish_batch = getattr(loader, "finish_batch", MadeRows.whole)
        self._current: FedPipeline | None = None
        self._seed = 0
        # The batch that was begun last, and the number of its first sample. Without a batch: that
        # of the next sample.
        self._begun: tuple[Fields | None, int] = None, 0

    @property
    def given_seed(self) -> int | None:
        """The seed in `pipeline_options`; None: there is none."""
        return self._options.seed

    def start_epoch(self, seed: int, position: int) -> None:
        """Sets where the random values of the next batches begin.

        Args:
            seed: of the random operators.
            position: number of the next sample.
        """
        self.clear()
        self._seed, self._begun = seed, (None, position)
        self._put_aside()

    def _put_aside(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            self._idle.append(current)

    def begin(self, batch: Any) -> Any:
        """See Stage."""
        assert isinstance(batch, Fields)
        current = self._current
        before = self._begun
        position = self._position_of(batch)
        try:
            if current is None or not current.fits(batch) or current.position != position:
                current = self._current = self._pipeline_for(batch, position)
            return current, current.submit(batch), batch
        except Exception:
            self._begun = before  # a batch that cannot be fed has no random values
            raise

    def _position_of(self, batch: Fields) -> int:
        """Returns the number of the first sample of a batch, the same one if it is begun again."""
        before, position = self._begun
        if before is not batch:
            position += 0 if before is None else before.size
            self._begun = batch, position
        return position

    def _pipeline_for(self, batch: Fields, position: int) -> FedPipeline:
        """Returns a pipeline that continues at a position."""
        idle = self._idle.pop() if self._idle and self._current is None else None
        if idle is None or not idle.fits(batch):
            self._batch_size = max(batch.size, self._batch_size)
            idle = FedPipeline(
                self._function,
                batch,
                self._marks,
                self._options,
                self._batch_size,
                self._seed,
                (self._on_error, self._bad_samples),
            )
            self._clock.pipeline = weakref.ref(idle.pipeline)
        idle.move_to(self._seed, position)
        return idle

    def finish(self, begun: Any) -> Any:
        """See Stage. The engine drops the batches that clear() has dropped."""
        pipeline, submitted, batch = begun
        self._bad_samples.sources = self._sources_of(batch)
        made = pipeline.outputs_of(submitted, batch)
        self.depth = pipeline.depth - 1  # it may have been chosen anew
        if made is None:
            return NO_SAMPLES
        return made if self._is_filled else self._finish_batch(made)

    def _sources_of(self, batch: Fields) -> Sequence[str] | None:  # noqa: ARG002 (of subclasses)
        """Returns where the samples of a batch are from, for records; None: unknown."""
        indices = self.progress.indices_of(self._finishing) if self.progress else None
        return indices and [f"index {index!r}" for index in indices]

    def release(self, begun: Any) -> None:
        """See Stage."""
        begun[0].settle()

    def __del__(self) -> None:
        self._put_aside()
