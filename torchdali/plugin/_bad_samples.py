# SPDX-License-Identifier: Apache-2.0
"""Batches of iterators in which samples have failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali.errors import DataError, _make
from torchdali.pipeline._driver import PipelineDriver, driver_of
from torchdali.plugin._epochs import _Epochs
from torchdali.stats import PipelineStats

__all__: list[str] = []


class _CountsBadSamples(ListsBadSamples):
    """The part of an iterator that counts the samples that fail, and reports on its pipelines."""

    _pipelines: list[Any]
    _taken: int  # batches of the epoch
    _epochs: _Epochs | None
    _number = 0  # of the epoch
    _begins_epoch = False  # with the next batch; until then the failures are those of the last one

    def _drivers(self) -> list[PipelineDriver]:
        return [driver_of(pipeline) for pipeline in self._pipelines]

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of samples that failed."""
        return [driver.bad_samples for driver in self._drivers()]

    def _begin_epoch(self, number: int, errors: Sequence[int] | None = None) -> None:
        """Begins to count; `errors`: failures of each pipeline in the epoch so far."""
        self._number, self._begins_epoch = number, False
        for i, driver in enumerate(self._drivers()):
            driver.failures.begin_epoch(number, self._taken, errors[i] if errors else 0)

    def _error_position(self) -> dict[str, Any]:
        """Returns the arguments of _begin_epoch(), for checkpoints."""
        begun = not self._begins_epoch
        errors = [driver.bad_samples.count if begun else 0 for driver in self._drivers()]
        return {"number": self._number, "errors": errors}

    def _expect(self, valid: tuple[int, ...] | None) -> None:
        """Says how many samples of the next batches belong to the epoch; None: all."""
        for i, driver in enumerate(self._drivers()):
            driver.failures.expected = None if valid is None else valid[i] if i < len(valid) else 0

    def _kept_rows(self) -> list[Sequence[int] | None]:
        return [driver.failures.kept_rows for driver in self._drivers()]

    def _begin_batch(self) -> tuple[int, ...] | None:
        """Returns how many samples of the next batch belong to the epoch; None: all."""
        if self._begins_epoch:
            self._begin_epoch(self._number)
        valid: tuple[int, ...] | None = None
        if self._epochs is not None:
            epoch = self._epochs.current()
            if self._taken + 1 == epoch.batches:
                valid = epoch.last
        self._expect(valid)
        return valid

    def stats(self, reset: bool = False) -> list[PipelineStats]:
        """Returns how the time is spent, for each pipeline: see Pipeline.stats().

        Args:
            reset: reset the counters afterwards.
        """
        return [pipeline.stats(reset=reset) for pipeline in self._pipelines]

    def __torchdali_trace_owners__(self) -> list[int]:
        """Returns the numbers that mark the events of the pipelines in a profile."""
        return [number for driver in self._drivers() for number in driver.trace_owners()]


def _good_samples(
    outputs: Sequence[tuple[Any, ...]],
    rows: Sequence[Sequence[int] | None],
    valid: tuple[int, ...] | None,
) -> tuple[int, ...] | None:
    """Returns how many samples of each pipeline's batch are good and belong to the epoch.

    Args:
        outputs: one tuple of TensorList per pipeline.
        rows: for each pipeline the samples of its batch that the outputs have; None: all.
        valid: how many samples of the batches belong to the epoch; None: all.
    """
    if all(of_pipeline is None for of_pipeline in rows):
        return valid
    counts = [len(output[0]) for output in outputs]
    if valid is None:
        return tuple(counts)
    return tuple(
        count if own is None else sum(row < count for row in own)
        for count, own in zip(valid, rows, strict=False)
    )


def _check_ranks(num_shards: int) -> None:
    """Raises DataError if a batch without samples cannot be passed over."""
    if num_shards > 1:
        raise _make(
            DataError,
            "all samples of a batch have failed, so this rank would have fewer batches than others",
            fix="repair the data, or use larger batches",
        )
