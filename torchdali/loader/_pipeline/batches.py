# SPDX-License-Identifier: Apache-2.0
"""Takes the batches of an epoch from pipelines, and returns them as the user gets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchdali.loader._filling import Part
from torchdali.loader._pipeline.bad_samples import PipelineOutput, lost_batch
from torchdali.loader._pipeline.epochs import Before, EpochProgress, EpochShard
from torchdali.loader._pipeline.outputs import OutputConverter, with_mask
from torchdali.loader._pipeline.pipeline_set import PipelineSet
from torchdali.loader._pipeline.ranks import Ranks
from torchdali.loader._rows import joined_outputs

__all__ = ["EpochBatches"]


class EpochBatches:
    """The batches of the pipelines of a loader.

    What is interrupted is repeated: each assignment leaves a state to go on from.

    Args:
        pipelines: of the loader.
        mask: of the loader.
        ranks: returns the rank of this process.

    """

    def __init__(
        self, pipelines: PipelineSet, mask: bool | str, ranks: Callable[[], Ranks]
    ) -> None:
        self._pipelines, self._mask, self._ranks = pipelines, mask, ranks
        self._converters: list[OutputConverter] = []
        self._notes_sources = False

    @property
    def is_prepared(self) -> bool:
        """Whether prepare() was called."""
        return bool(self._converters)

    def prepare(self, converters: list[OutputConverter]) -> None:
        """Takes note of pipelines that are new, and built.

        Args:
            converters: one for each of them.
        """
        self._converters = converters
        self._notes_sources = self._pipelines.have_resumable_sources

    def next(self, progress: EpochProgress) -> Any:
        """Returns the next batch of an epoch.

        Raises:
            StopIteration: there is none.
            Exception: a batch has failed. The next call returns the one after it.
        """
        filler = progress.filler
        take = self._whole_batch if filler is None else self._batch_to_fill
        while True:
            filled = None if filler is None else filler.next(progress.has_no_more)
            if filler is not None and filled is not None:
                try:
                    batch = filled.batch()
                except Exception:
                    filler.held = filled.rest
                    raise
                filler.held = filled.rest
                return batch
            if progress.has_no_more:
                progress.over = True
                raise StopIteration
            try:
                found, batch = take(progress)
            except StopIteration:
                progress.ended = True
                continue
            if found:
                return batch

    def _outputs(self, progress: EpochProgress) -> list[PipelineOutput]:
        """Returns the outputs of the next batch, the same ones until `collected` is None."""
        pipelines = self._pipelines
        notes = self._notes_sources or progress.filler is not None
        if notes and pipelines.collected is None:
            # run() moves the sources on before the user has the batch.
            sources = pipelines.snapshots() if self._notes_sources else None
            progress.taking = Before(progress.taken, pipelines.bad_samples.count, sources)
        try:
            return pipelines.run(progress.taken, progress.shards)
        except StopIteration:
            raise
        except Exception:
            progress.taken, progress.taking = progress.taken + 1, None  # the batch is lost
            raise

    def _whole_batch(self, progress: EpochProgress) -> tuple[bool, Any]:
        """Returns whether the next batch has samples, and the batch."""
        number, pipelines = progress.taken, self._pipelines
        outputs = self._outputs(progress)
        try:
            batches = self._converted(outputs, progress.shards, number)
        except Exception:
            pipelines.collected, progress.taken, progress.taking = None, number + 1, None
            raise
        batch = batches if pipelines.is_list else batches[0] if batches else None
        found = bool(batches), batch
        # No call follows that Ctrl-C could interrupt: the caller gets the batch.
        pipelines.collected, progress.taken, progress.taking = None, number + 1, None
        return found

    def _converted(
        self, outputs: Sequence[PipelineOutput], shards: Sequence[EpochShard | None], number: int
    ) -> list[Any]:
        """Returns the batches of pipelines as the user gets them; those without samples are not."""
        batches = []
        for output in outputs:
            valid = output.valid(shards[output.pipeline], number)
            if valid:
                batch = self._converters[output.pipeline].batch(output.leaves, len(valid))
                batches.append(with_mask(batch, valid, self._mask))
        if not batches and self._ranks().world_size > 1:
            raise lost_batch(number)
        return batches

    def _batch_to_fill(self, progress: EpochProgress) -> tuple[bool, Any]:
        """Takes the next batch; returns whether the user gets it as it is, and the batch."""
        filler, pipelines, number = progress.filler, self._pipelines, progress.taken
        assert filler is not None
        (output,) = self._outputs(progress)
        before = progress.taking
        assert before is not None
        valid = output.valid(progress.shards[0], number)
        found, held, skip = (False, None), filler.held, filler.skip
        if valid:
            rows = _OutputRows(output.leaves, len(valid), self._make)
            try:
                if filler.passes(rows, pipelines.bad_samples.count > 0):
                    found = True, rows.whole()
                else:
                    held, skip = filler.with_batch(rows, before)
            except Exception:
                pipelines.collected, progress.taken, progress.taking = None, number + 1, None
                raise
        filler.held, filler.skip = held, skip
        pipelines.collected, progress.taken, progress.taking = None, number + 1, None
        return found

    def _make(self, leaves: Sequence[Any], count: int) -> Any:
        """Returns the outputs of the one pipeline as the user gets them."""
        batch = with_mask(self._converters[0].batch(leaves, count), [True] * count, self._mask)
        return [batch] if self._pipelines.is_list else batch


class _OutputRows:
    """The outputs of a pipeline, a row for each sample.

    Args:
        leaves: the outputs.
        count: how many of their samples belong to the epoch.
        make: makes the batch of the user of such outputs.
    """

    def __init__(
        self, leaves: Sequence[Any], count: int, make: Callable[[Sequence[Any], int], Any]
    ) -> None:
        self._leaves, self.count, self._make = leaves, count, make

    def whole(self) -> Any:
        """See Rows."""
        return self._make(self._leaves, self.count)

    def joined(self, parts: Sequence[Part]) -> Any:
        """See Rows."""
        leaves = [
            joined_outputs([(rows._leaves[i], start, end) for rows, start, end in parts], str(i))
            for i in range(len(self._leaves))
        ]
        return self._make(leaves, sum(end - start for _, start, end in parts))
