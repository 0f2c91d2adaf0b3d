# SPDX-License-Identifier: Apache-2.0
"""What a run knows about samples that failed and did not fail their iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali._common.bad_samples import BadSampleLog, Noted

__all__ = ["RunFailures"]


class RunFailures:
    """The samples of a run that failed; docs/design/bad_samples.md.

    Args:
        executor: the engine of the run.
        lets_samples_fail: whether an operator or the pipeline has an `on_error` but "raise".

    Attributes:
        lets_samples_fail: as the argument.
        log: records the samples.
        expected: how many samples of the batch that is taken next belong to the epoch; None: all.
            Others do not count if they fail.
        kept_rows: the samples of the last batch that the rows of the outputs stand for; None: all.
        value_rows: the samples whose values they have; None: all.
    """

    def __init__(self, executor: Any, lets_samples_fail: bool) -> None:
        self._executor = executor
        self.lets_samples_fail = lets_samples_fail
        self.log = BadSampleLog(0)
        self.expected: int | None = None
        self.kept_rows: Sequence[int] | None = None
        self.value_rows: Sequence[int] | None = None
        self._noted = Noted()
        self._first_batch = 0  # iterations that were taken when the epoch began

    def note(self) -> None:
        """Records the samples of the iteration that wait() has returned.

        Raises:
            DataError: too many samples of the epoch have failed.
        """
        executor = self._executor
        found = executor.take_bad_samples()
        if found is None:
            self.kept_rows = self.value_rows = None
            return
        errors, self.kept_rows, self.value_rows = found
        if self.expected is not None:
            errors = [error for error in errors if error.sample < self.expected]
        # An interrupted caller gets the same iteration again.
        if errors:
            batch = executor.iterations_taken - self._first_batch
            try:
                self.log.note(errors, batch, self._noted, executor.oldest)
            except Exception:
                executor.holds = False  # the next call returns the iteration after it
                raise

    def begin_epoch(self, epoch: int, batches: int = 0, errors: int = 0) -> None:
        """Counts anew.

        Args:
            epoch: its number.
            batches: of the epoch that were taken already.
            errors: samples in them that failed.
        """
        self.log.begin_epoch(epoch, errors)
        if self.lets_samples_fail:
            self._first_batch = self._executor.iterations_taken - batches
