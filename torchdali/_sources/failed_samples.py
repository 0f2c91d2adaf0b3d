# SPDX-License-Identifier: Apache-2.0
"""Samples that an external source failed to make; docs/design/bad_samples.md."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from torchdali._common.location import SourceLocation
from torchdali._common.raised import drop_frames
from torchdali._engine.extension import _C
from torchdali._sources.kinds import OWNER
from torchdali._sources.turn import ALL_SAMPLES, Failures
from torchdali.errors import PipelineError, _make

__all__ = ["Raised", "attempting", "failure", "failure_of_end", "fill_in", "split", "split_batch"]

_T = TypeVar("_T")


class Raised:
    """Stands for an item that a source did not make.

    Attributes:
        error: what it has raised.
    """

    __slots__ = ("error",)
    error: Exception


def attempting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that returns what another one returns, or a Raised.

    It raises StopIteration, and what is no Exception. It is C code: Python code could be
    interrupted after the call, and what was returned or raised would be lost.
    """
    return functools.partial(_C.attempt, Raised, function)


def failure(described: str, error: BaseException) -> tuple[str, BaseException]:
    """Returns an entry of Failures for what a source has raised.

    Args:
        described: describe_raised() of the exception.
        error: the exception, without frames, since it is kept for a while.
    """
    return f"the source raised {described}", error


def split(samples: Sequence[Any]) -> tuple[list[Any] | None, Failures]:
    """Returns samples, of which some may be a Raised, and the failures.

    A good sample takes the place of each one that failed. None: all have failed.
    """
    failures = {
        index: failure(drop_frames(sample.error), sample.error)
        for index, sample in enumerate(samples)
        if isinstance(sample, Raised)
    }
    if not failures:
        return list(samples), {}
    return fill_in([s for s in samples if not isinstance(s, Raised)], failures), failures


def fill_in(good: Sequence[_T], failures: Failures) -> list[_T] | None:
    """Returns a batch with a good sample in place of each one that failed; None: all failed."""
    left = iter(good)
    size = len(good) + len(failures)
    return [good[0] if i in failures else next(left) for i in range(size)] if good else None


def split_batch(batch: Any) -> tuple[Any, Failures]:
    """Returns the data of a batch, which may be a Raised, and the failures."""
    if not isinstance(batch, Raised):
        return batch, {}
    return None, {ALL_SAMPLES: failure(drop_frames(batch.error), batch.error)}


def failure_of_end(described: str, location: SourceLocation | None) -> Exception:
    """Returns the error for an iterator that has ended with an exception.

    Args:
        described: describe_raised() of the exception.
        location: the user's line.
    """
    return _make(
        PipelineError,
        f"the source raised {described}, and then had no more data. A generator ends when it "
        "raises, and so does an iterator that uses one, so samples may be missing",
        operator=OWNER,
        location=location,
        fix="use a callable that takes an index, or an iterator class that goes on after an "
        "exception",
    )
