# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: saves the position of a run, and restores it in a new run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._common.location import SourceLocation, user_stack_level
from torchdali._sources.python_source import UNKNOWN_POSITION
from torchdali.errors import ArgumentError, _make
from torchdali.pipeline._checkpoint_format import Checkpoint, Operator, write_file
from torchdali.pipeline._positions import RunState
from torchdali.pipeline._run import Run

__all__ = ["Checkpoints", "ResumedAt"]

# Iterations before a checkpoint, and the position of the iterator that made it (None: none did).
ResumedAt = tuple[int, Mapping[str, Any] | None]


class Checkpoints:
    """Makes checkpoints of a run.

    Args:
        run: that has done nothing yet.
        start: the checkpoint to start from; None: the beginning.
        enabled: whether checkpoints of external sources are possible.

    Warns:
        UserWarning: a checkpoint does not hold all of the position of an external source.

    Raises:
        ArgumentError: the checkpoint belongs to another pipeline.
    """

    def __init__(self, run: Run, start: Checkpoint | None, *, enabled: bool) -> None:
        self._run = run
        self._resumed_at: ResumedAt | None = None
        if not enabled and start is None:
            return
        for source in run.inputs:
            warning = source.checkpoint_warning
            # Resuming such a source causes another warning, with the number of items.
            if start is None or warning != UNKNOWN_POSITION:
                _warn_of_source(warning, source.location)
        if start is not None:
            _check(start, run)
            run.restore(_state(start, run))
            self._resumed_at = start.iterations, start.iterator
        run.positions.start(run.executor.iterations_taken, run.inputs)

    @property
    def resumed_at(self) -> ResumedAt | None:
        """Where the run was resumed; None if it was not, or has run since."""
        resumed = self._resumed_at
        if resumed is None or self._run.executor.iterations_taken != resumed[0]:
            return None
        return resumed

    def checkpoint(self, filename: str | os.PathLike[str] | None = None) -> bytes:
        """Returns the position of the pipeline, and writes it to a file if one is named.

        A pipeline of the same definition, made with `checkpoint=` these bytes, continues with the
        batch after the last one that was taken from this pipeline, whatever this one has scheduled
        ahead; with any number of threads, any prefetch depth, in another process, and whatever
        seed it is given.

        Args:
            filename: written as a whole or not at all; an older file is replaced.

        Returns:
            JSON, some hundred bytes; docs/design/checkpoints.md describes it.

        Raises:
            PipelineError: the pipeline was made without enable_checkpointing.
            FileError: the file cannot be written.

        Note:
            Readers, random operators, and external sources whose `source` is a callable that takes
            an index or has state_dict() and load_state_dict(), are resumed exactly. Data that was
            fed and not taken is not in the checkpoint, nor is the position of other sources
            (build() warns of those). Taking a checkpoint costs the same wherever the pipeline is,
            and so does resuming.
        """
        data = self.snapshot().encode()
        if filename is not None:
            write_file(filename, data)
        return data

    def snapshot(self, iterator: Mapping[str, Any] | None = None) -> Checkpoint:
        """Returns the position of the run: its readers, random operators, and external sources.

        Args:
            iterator: position of the iterator over the pipeline.
        """
        state = self._run.state()
        return Checkpoint(
            batch_size=self._run.batch_size,
            seed=self._run.seed,
            operators=[
                Operator(operator.op, operator.name, operator.seed, state.sources.get(name))
                for name, operator in _stateful(self._run)
            ],
            iterations=state.iterations,
            samples=state.samples,
            ended=state.ended,
            resets=state.resets,
            inputs=state.inputs,
            iterator=iterator,
        )


def _stateful(run: Run) -> Sequence[tuple[str, Operator]]:
    """Returns the operators that have state, with their names in the run."""
    found = []
    for node in run.nodes:
        if node.schema.source or node.schema.random:
            name = run.names[node.ordinal]
            # Automatic names depend on operators without state.
            given = None if name.startswith("__") else name
            found.append((name, Operator(node.schema.name, given, node.seed)))
    return found


def _check(checkpoint: Checkpoint, run: Run) -> None:
    """Raises ArgumentError if a checkpoint belongs to another pipeline."""
    if checkpoint.batch_size != run.batch_size:
        raise _other(
            f"`batch_size` is {run.batch_size}, in the checkpoint it is {checkpoint.batch_size}"
        )
    ours = [operator for _, operator in _stateful(run)]
    if len(ours) != len(checkpoint.operators):
        raise _other(
            f"it has {len(ours)} operators with state (sources and random ones), in the "
            f"checkpoint there are {len(checkpoint.operators)}"
        )
    for own, stored in zip(ours, checkpoint.operators, strict=True):
        if (own.op, own.name) != (stored.op, stored.name):
            raise _other(f"it has {own} where the checkpoint has {stored}")
        if own.seed != stored.seed:
            raise _other(f"the seed of {own} is {own.seed}, in the checkpoint {stored.seed}")
    if len(checkpoint.inputs) != len(run.inputs) or any(
        source.has_position != (state is not None)
        for source, state in zip(run.inputs, checkpoint.inputs, strict=True)
    ):
        raise _other("its external sources get their data in another way")


def _state(checkpoint: Checkpoint, run: Run) -> RunState:
    """Returns the state in a checkpoint of this pipeline."""
    return RunState(
        iterations=checkpoint.iterations,
        samples=checkpoint.samples,
        sources={
            name: stored.state
            for (name, _), stored in zip(_stateful(run), checkpoint.operators, strict=True)
            if stored.state is not None
        },
        inputs=checkpoint.inputs,
        ended=checkpoint.ended,
        resets=checkpoint.resets,
    )


def _warn_of_source(warning: str | None, location: SourceLocation | None) -> None:
    if warning is None:
        return
    warnings.warn(
        f"fn.external_source: {warning}. To fix it: let `source` take an index, or give it "
        f"state_dict() and load_state_dict()\n  defined at {location}",
        UserWarning,
        stacklevel=user_stack_level(),
    )


def _other(detail: str) -> Exception:
    return _make(
        ArgumentError,
        f"Pipeline: the checkpoint is of another pipeline: {detail}",
        fix="resume with the definition that the checkpoint was made with",
    )
