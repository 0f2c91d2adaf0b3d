# SPDX-License-Identifier: Apache-2.0
"""Samples of pipelines that fail: what a loader was told about them, and batches without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._common.bad_samples import BadSampleLog
from torchdali.errors import DataError, _make
from torchdali.loader._pipeline.epochs import EpochShard
from torchdali.pipeline._driver import PipelineDriver

__all__ = ["ErrorPolicy", "PipelineOutput", "lost_batch"]


@dataclass(frozen=True)
class ErrorPolicy:
    """What a loader was told about samples that fail.

    Attributes:
        on_error, max_errors, path: `errors_file` and the other arguments; None: as pipelines say.
    """

    on_error: str | None = None
    max_errors: int | None = None
    path: Any = None

    def new_log(self) -> BadSampleLog:
        """Returns the log for the pipelines of a loader."""
        return BadSampleLog(self.max_errors, self.path)

    def apply(self, pipelines: Sequence[PipelineDriver], log: BadSampleLog) -> None:
        """Sets the policy of pipelines, before they are built, and has them use one log."""
        for pipeline in pipelines:
            if self.max_errors is None:
                log.max_errors = pipeline.options.max_errors
            log.path = log.path or pipeline.options.errors_file
            pipeline.set_error_policy(self.on_error, log)


@dataclass(frozen=True)
class PipelineOutput:
    """A batch of one pipeline.

    Attributes:
        pipeline: its index.
        leaves: the outputs.
        rows: the sample of the batch that each sample of the outputs is; None: all.
    """

    pipeline: int
    leaves: Sequence[Any]
    rows: Sequence[int] | None

    def valid(self, shard: EpochShard | None, number: int) -> list[bool]:
        """Returns for the samples that the user gets whether they belong to the epoch.

        Args:
            shard: of the pipeline; None: its size is not known.
            number: of the batch.
        """
        count = len(self.leaves[0])
        if shard is None:
            return [True] * count
        valid = shard.valid(number)
        if self.rows is None:
            return valid[:count]
        return [valid[row] for row in self.rows if row < len(valid)]


def lost_batch(number: int) -> Exception:
    """Returns the error of a rank that would have fewer batches than others."""
    return _make(
        DataError,
        f"all samples of batch {number} have failed, so this rank would have fewer batches than "
        "others",
        fix="repair the data, or use larger batches",
    )
