# SPDX-License-Identifier: Apache-2.0
"""Runs iterations of data that is passed in with them, and takes it back if that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchdali._sources.turn import Fed
from torchdali.pipeline._run import Batches, Run

__all__ = ["next_of", "share_of", "submit"]


def next_of(run: Run, feed: Callable[[], None], *, stay_steady: bool) -> Batches:
    """Returns Run.next() after batches were fed.

    If that fails, or the caller is interrupted before it has the outputs, Feeding.undo_passed()
    takes the batches back.

    Args:
        run: of a pipeline.
        feed: calls feed_input().
        stay_steady: see Run.next().
    """
    feeding = run.feeding
    mark = feeding.mark()
    try:
        feed()
        feeding.passed = feeding.fed_since(mark)
    except BaseException:
        feeding.undo(mark)
        raise
    return run.next(stay_steady=stay_steady)


def submit(run: Run, feed: Callable[[], None]) -> Sequence[Fed]:
    """Starts an iteration of batches that are fed; if that fails, they are taken back.

    Args:
        run: of a pipeline.
        feed: calls feed_input().

    Returns:
        What has been fed, by which share_of() knows the iteration.
    """
    run.is_steady = False
    feeding = run.feeding
    mark, fed = feeding.mark(), None
    try:
        feed()
        fed = feeding.fed_since(mark)
        if not run.inputs:
            run.schedule()
        elif run.inputs.are_ready(run.turn):
            run.fill(run.depth + run.executor.holds)
        run.raise_deferred()
    except BaseException:
        feeding.undo(mark) if fed is None else feeding.withdraw(fed)
        raise
    return [batch for _, batch in fed]


def share_of(run: Run, fed: Sequence[Fed]) -> Batches:
    """Returns the outputs of the iteration that submit() has started.

    Iterations before it are dropped: they belong to batches that the caller has given up.

    Args:
        run: of a pipeline.
        fed: what submit() has returned.

    Raises:
        PipelineError: its outputs were returned, or it has failed.
        Exception: the iteration failed.
    """
    if fed:
        run.feeding.drop_before(fed[0], run.fill)
    return run.share()
