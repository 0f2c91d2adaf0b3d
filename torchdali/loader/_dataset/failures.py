# SPDX-License-Identifier: Apache-2.0
"""Samples of a loader's epoch that failed, in the dataset or in the engine."""

from __future__ import annotations

import warnings
from typing import Any

from torchdali._common.bad_samples import BadSampleLog
from torchdali._common.location import user_stack_level
from torchdali.errors import BadSample
from torchdali.loader._dataset.fetch import SampleErrors
from torchdali.loader._dataset.resuming import is_between_epochs

__all__ = ["EpochFailures"]


class EpochFailures:
    """The samples of an epoch that failed, as far as the user has its batches.

    Args:
        loader: a DataLoader.
        log: of the loader.
        state: of the loader, to continue from; None: nothing.
    """

    def __init__(self, loader: Any, log: BadSampleLog, state: dict[str, Any] | None) -> None:
        self._log, self._on_error = log, loader.on_error
        self._dataset = getattr(loader, "dataset_name", type(loader.dataset).__name__)
        log.max_errors, log.path = loader.max_errors, loader.errors_file
        if state is None:
            log.begin_epoch(log.epoch + 1)
        elif is_between_epochs(state):
            log.begin_epoch(state["epoch"] + 1)
        else:
            log.begin_epoch(state["epoch"], state["errors"])
        self._is_silent = log.count > 0  # the warning was given

    @property
    def count_so_far(self) -> int:
        """Samples of the epoch that have failed."""
        return self._log.count

    def begin_batch(self, number: int) -> None:
        """Numbers the batch that the user gets next."""
        self._log.batch = number

    def count(self, errors: SampleErrors | None) -> None:
        """Counts samples of the dataset, which the user does not get; once.

        Raises:
            DataError: there are too many of them.
        """
        if errors is None or not errors.count:
            return
        self._warn(errors.first)
        epoch, batch = self._log.epoch, self._log.batch or 0
        records = [
            BadSample(epoch, batch, sample, source, None, error, message)
            for sample, source, error, message in errors.records
        ]
        self._log.add(records, None, errors)

    def warn_of_engine(self) -> None:
        """Warns if samples have failed in the engine."""
        if self._log.records and not self._is_silent:
            first = self._log.records[0]
            self._warn(f"{first.source}: {first.error}: {first.message}")

    def _warn(self, first: str) -> None:
        if self._is_silent:
            return
        self._is_silent = True
        done = {
            "skip": "are left out (on_error='skip')",
            "replace": "are replaced by others (on_error='replace')",
            "raise": "are left out or replaced (`on_error` of the operator)",
        }[self._on_error]
        warnings.warn(
            f"a sample of {self._dataset} could not be read; such samples {done}, "
            f"and listed in `errors`. The first one, {first}",
            stacklevel=user_stack_level(),
        )
