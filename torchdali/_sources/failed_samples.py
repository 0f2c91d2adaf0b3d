# SPDX-License-Identifier: Apache-2.0
"""Samples that the callable of an external source failed to make; docs/design/bad_samples.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._common.raised import describe_raised
from torchdali._sources.turn import Failures

__all__ = ["FailedSample", "attempt", "split"]


@dataclass(frozen=True, eq=False)
class FailedSample:
    """Stands for a sample that was not made.

    Attributes:
        error: what the callable raised.
    """

    error: Exception


def attempt(function: Callable[..., Any], *args: Any) -> Any:
    """Returns what a function returns, or a FailedSample.

    Raises:
        StopIteration: the data has ended.
    """
    try:
        return function(*args)
    except StopIteration:
        raise
    except Exception as error:
        return FailedSample(error)


def split(samples: Sequence[Any]) -> tuple[list[Any], Failures]:
    """Returns the samples, each failed one replaced by a good one; and the failures.

    If all have failed, there are no samples.
    """
    good = [sample for sample in samples if not isinstance(sample, FailedSample)]
    if len(good) == len(samples):
        return good, {}
    failures = {
        index: (f"the source raised {describe_raised(sample.error)}", sample.error)
        for index, sample in enumerate(samples)
        if isinstance(sample, FailedSample)
    }
    if not good:
        return [], failures
    return [good[0] if index in failures else s for index, s in enumerate(samples)], failures
