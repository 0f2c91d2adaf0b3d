# SPDX-License-Identifier: Apache-2.0
"""DataLoader(fill_batches=True): the stage that fills batches, and the checks of the argument."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from torch.utils.data import default_collate

from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.failures import EpochFailures
from torchdali.loader._dataset.progress import Filling, Step
from torchdali.loader._dataset.stages import Fetch, Stage
from torchdali.loader._filling import BatchFiller, Filled, Rows, not_alone
from torchdali.loader._pipeline.ranks import find_ranks
from torchdali.loader._rows import CollatedRows

__all__ = ["FillStage", "check_filling", "check_single_process"]


@dataclasses.dataclass(frozen=True)
class _Note:
    """What has to be known about a batch of which the user does not have all rows.

    Attributes:
        steps: that end with the batch.
        batches: with it, of the epoch.
        errors: samples of the epoch that have failed until its end.
    """

    steps: list[Step]
    batches: int
    errors: int


class FillStage(Stage):
    """Puts samples of the next batches in the places of those that were left out.

    The steps of a batch are those of the batches that it completes, so the progress of the loader
    stays before a batch of which the user has a part, and `Filling` has the number of its rows.
    What is interrupted is repeated: each assignment leaves a state to go on from.

    Args:
        loader: a DataLoader with `fill_batches`.
    """

    depth = 0

    def __init__(self, loader: Any) -> None:
        super().__init__()
        self._has_rows = loader.pipeline is not None  # what PipelineStage returns are Rows
        self._size: int = loader.batch_size
        self._drop_last: bool = loader.drop_last
        self._filler: BatchFiller[_Note] = BatchFiller(self._size, self._drop_last)
        self._failures: EpochFailures | None = None
        self._batches = 0  # of the loader, taken by this stage
        # The batch that next() returns, its steps, and what is held back after it.
        self._made: tuple[Any, list[Step], tuple[Any, ...]] | None = None

    def start_epoch(self, failures: EpochFailures, begin: Filling) -> None:
        """Begins an epoch, or continues one.

        Args:
            failures: of the epoch.
            begin: where the user is.
        """
        self.clear()
        self._failures, self._batches = failures, begin.batches
        self._filler = BatchFiller(self._size, self._drop_last, begin.rows)

    def clear(self) -> None:
        """See Stage."""
        super().clear()
        self._made, self._filler.held = None, ()

    def next(self, fetch: Fetch, fetched: Callable[[], None]) -> tuple[Any, list[Step]]:
        """See Stage."""
        filler = self._filler
        while self._made is None:
            filled = filler.next(self._ended) if filler.held else None
            if filled is not None:
                self._made = self._batch_of(filled)
            elif not self._ended:
                self._take(fetch, fetched)
            else:
                steps = [step for piece in filler.held for step in piece.note.steps]
                passed = [*_without_batch(steps), *self._passed]
                self._passed, filler.held = passed, ()  # a rest that is dropped
                raise StopIteration
        return self._made[0], self._made[1]

    def done(self) -> None:
        """See Stage."""
        if self._made is not None:
            self._filler.held, self._made = self._made[2], None

    def _take(self, fetch: Fetch, fetched: Callable[[], None]) -> None:
        """Takes a batch of the loader."""
        failures, filler = self._failures, self._filler
        assert failures is not None
        failures.begin_batch(self._batches)
        if self._fetched is None:
            try:
                self._fetched = fetch()
            except StopIteration:
                self._ended = True
                return
        fetched()
        data, steps = self._fetched
        batches = self._batches + 1
        if self._passed:
            steps = [*self._passed, *steps]
        try:
            for step in steps:
                if step.errors is not None:
                    failures.count(step.errors)
            errors = failures.count_so_far
            rows: Rows = data if self._has_rows else CollatedRows(data)
            if filler.passes(rows, errors > 0):
                if errors:
                    steps = _ending(_without_errors(steps), Filling(0, batches, errors))
                made = rows.whole(), steps, ()
                self._made, self._batches, self._passed, self._fetched = made, batches, [], None
            else:
                note = _Note(_without_errors(steps), batches, errors)
                held, skip = filler.with_batch(rows, note)
                filler.held, filler.skip, self._batches = held, skip, batches
                self._passed, self._fetched = [], None
        except Exception:
            lost = _without_batch(_without_errors(steps))
            self._passed, self._fetched = lost, None
            raise

    def _batch_of(self, filled: Filled[_Note]) -> tuple[Any, list[Step], tuple[Any, ...]]:
        """Returns what next() and done() need of a batch."""
        last = filled.complete[-1].note
        rows = filled.rest[0].first if filled.rest else 0
        steps = [step for piece in filled.complete for step in piece.note.steps]
        steps = _ending(_without_batch(steps), Filling(rows, last.batches, last.errors))
        try:
            return filled.batch(), steps, filled.rest
        except Exception:  # it costs the batch, as an error of a stage does
            lost, rest, passed = _without_batch(steps), filled.rest, self._passed
            if rest:
                note = dataclasses.replace(rest[0].note, steps=[*lost, *rest[0].note.steps])
                rest = (dataclasses.replace(rest[0], note=note), *rest[1:])
            else:
                passed = [*lost, *passed]
            self._passed, self._filler.held = passed, rest
            raise


def _without_batch(steps: list[Step]) -> list[Step]:
    return [dataclasses.replace(step, has_batch=False) for step in steps]


def _without_errors(steps: list[Step]) -> list[Step]:
    return [
        step if step.errors is None else dataclasses.replace(step, errors=None) for step in steps
    ]


def _ending(steps: list[Step], filling: Filling) -> list[Step]:
    """Returns steps of which the last one brings the user to a place, with a batch."""
    return [*steps[:-1], dataclasses.replace(steps[-1], has_batch=True, filling=filling)]


def check_filling(arguments: Any) -> None:
    """Checks the arguments of a DataLoader with `fill_batches`, given by their names.

    Raises:
        ArgumentError: batches cannot be filled.
    """
    collate = arguments["collate_fn"]
    own = collate is not None and collate is not default_collate and arguments["pipeline"] is None
    reasons = {
        f"on_error={arguments['on_error']!r}": (
            arguments["on_error"] != "skip",
            "it is for samples that are left out",
            'pass on_error="skip"',
        ),
        "batch_size=None": (
            arguments["batch_size"] is None and arguments["batch_sampler"] is None,
            "there are no batches",
            "pass a `batch_size`",
        ),
        "`batch_sampler`": (
            arguments["batch_sampler"] is not None,
            "a full batch has no size that is known",
            "pass `sampler` and `batch_size`",
        ),
        "`collate_fn`": (
            own,
            "which rows of what it returns are which samples is not known",
            "leave it out, or use `pipeline`",
        ),
        "in_order=False": (
            not arguments["in_order"] and arguments["num_workers"] > 0,
            "a loader that is resumed would not know whose rows the user has",
            "leave out `in_order`",
        ),
    }
    for given, (is_wrong, why, fix) in reasons.items():
        if is_wrong:
            raise _make(ArgumentError, f"DataLoader: `fill_batches` with {given}: {why}", fix=fix)


def check_single_process(loader: Any) -> None:
    """Raises ArgumentError if other processes have parts of the epoch of a loader."""
    count = max(find_ranks().world_size, getattr(loader.sampler, "num_replicas", 1))
    if count > 1:
        raise not_alone("DataLoader", count)
