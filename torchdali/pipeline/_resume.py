# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a pipeline: taken between two runs, and gone on from in a fresh pipeline."""

from __future__ import annotations

import collections
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._common.enums import PipelineAPIType
from torchdali._common.location import user_stack_level
from torchdali.data_node import OpNode
from torchdali.errors import ArgumentError, PipelineError, _make
from torchdali.pipeline._checkpoint import Checkpoint, Operator, write_file
from torchdali.pipeline._run import RunningPipeline

__all__ = ["ResumablePipeline"]


class ResumablePipeline(RunningPipeline):
    """The part of Pipeline that makes checkpoints and starts from one."""

    def _prepare(self) -> None:
        super()._prepare()
        if self._checkpoint_given is not None and not self._options.enable_checkpointing:
            raise _make(
                PipelineError,
                "Pipeline: `checkpoint` was given without enable_checkpointing",
                fix="pass enable_checkpointing=True too",
            )
        self._resumed_from: Checkpoint | None = (
            None if self._checkpoint_given is None else Checkpoint.decode(self._checkpoint_given)
        )
        self._checkpoint_given = None
        self._is_restored = False
        self._resumption: tuple[int, Mapping[str, Any] | None] | None = None
        self._seed_in_use = 0
        self._stateful: list[tuple[str, Operator]] = []  # name in this pipeline, what it is

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline was built from a checkpoint."""
        return self._is_restored

    @property
    def _resumed_at(self) -> tuple[int, Mapping[str, Any] | None] | None:
        """Iterations before the checkpoint, and the position of the iterator that made it.

        None where there was no checkpoint, or the pipeline has run since.
        """
        resumption = self._resumption
        if resumption is None or self._live_executor().iterations_taken != resumption[0]:
            return None
        return resumption

    def checkpoint(self, filename: str | os.PathLike[str] | None = None) -> bytes:
        """Returns where the pipeline is, and writes it to a file where one is named.

        A pipeline of the same definition, made with `checkpoint=` these bytes, goes on with the
        batch behind the last one that was taken from this pipeline, whatever it has scheduled
        ahead; with any number of threads, any prefetch depth, in another process, and whatever
        seed it is given.

        Args:
            filename: written as a whole or not at all; an older file is replaced.

        Returns:
            JSON, some hundred bytes; docs/design/checkpoints.md says what is in it.

        Raises:
            PipelineError: the pipeline was made without enable_checkpointing.
            FileError: the file cannot be written.

        Note:
            Readers, random operators, and external sources whose `source` is a callable that takes
            an index or has state_dict() and load_state_dict(), are resumed exactly. What was given
            to feed_input() and not taken is not in the checkpoint, nor is the position of other
            sources (build() warns of those). Taking one costs the same wherever the pipeline is,
            and so does resuming.
        """
        data = self._make_checkpoint(None)
        if filename is not None:
            write_file(filename, data)
        return data

    def _make_checkpoint(self, iterator: Mapping[str, Any] | None) -> bytes:
        """Returns a checkpoint that also holds the position of the iterator that asks for it."""
        if not self._options.enable_checkpointing:
            raise _make(
                PipelineError,
                "Pipeline: checkpoint() of a pipeline that was made without enable_checkpointing",
                fix="pass enable_checkpointing=True where the pipeline is made",
            )
        self.build()
        return self._snapshot(iterator).encode()

    def _snapshot(self, iterator: Mapping[str, Any] | None = None) -> Checkpoint:
        """Returns where the built pipeline is; readers, random operators, and tracked sources."""
        executor = self._live_executor()
        state = executor.state()
        inputs = self._inputs_taken(executor.iterations_taken)
        epochs = [entry["epoch"] for entry in inputs if entry is not None]
        return Checkpoint(
            batch_size=self.batch_size,
            seed=self._seed_in_use,
            operators=[
                Operator(operator.op, operator.name, operator.seed, state["sources"].get(name))
                for name, operator in self._stateful
            ],
            iterations=state["iterations"],
            samples=state["samples"],
            ended=self._last_iter and not executor.pending and self._deferred is None,
            resets=max([self._epoch + self._resets_due - epoch for epoch in epochs], default=0),
            inputs=inputs,
            iterator=iterator,
        )

    def _live_executor(self) -> Any:
        if self._executor is None:
            raise _make(PipelineError, "Pipeline: the pipeline is closed")
        return self._executor

    def _inputs_taken(self, taken: int) -> Sequence[Mapping[str, Any] | None]:
        """Returns the positions of the external sources behind iteration `taken`."""
        marks = self._marks
        while len(marks) > 1 and marks[1][0] <= taken:
            marks.popleft()
        return marks[0][1] if marks else []

    def _start(self, executor: Any, nodes: Sequence[OpNode], names: Mapping[int, str]) -> None:
        """Brings what build() has made to where the checkpoint was taken, or to the start."""
        self._stateful = [
            (
                names[node.ordinal],
                Operator(
                    node.schema.name,
                    # Names that nobody gave depend on operators without state.
                    None if names[node.ordinal].startswith("__") else names[node.ordinal],
                    node.seed,
                ),
            )
            for node in nodes
            if node.schema.source or node.schema.random
        ]
        if not self._options.enable_checkpointing and self._resumed_from is None:
            return
        for source in self._inputs:
            self._warn_of_source(source.forgetful, source.location)
        checkpoint, self._resumed_from = self._resumed_from, None
        if checkpoint is not None:
            try:
                self._resume(checkpoint, executor)
            except BaseException:
                self._resumed_from = checkpoint
                raise
        self._tracks_inputs = any(source.pulls for source in self._inputs)
        state = [source.state() for source in self._inputs]
        self._marks = collections.deque([(executor.iterations_taken, state)])
        self._is_restored = checkpoint is not None

    def _resume(self, checkpoint: Checkpoint, executor: Any) -> None:
        if checkpoint.batch_size != self.batch_size:
            raise _other(
                f"`batch_size` is {self.batch_size}, in the checkpoint it is "
                f"{checkpoint.batch_size}"
            )
        ours = [operator for _, operator in self._stateful]
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
        if len(checkpoint.inputs) != len(self._inputs) or any(
            source.pulls != (state is not None)
            for source, state in zip(self._inputs, checkpoint.inputs, strict=True)
        ):
            raise _other("its external sources get their data in another way")
        executor.restore(
            iterations=checkpoint.iterations,
            samples=checkpoint.samples,
            sources={
                name: dict(stored.state)
                for (name, _), stored in zip(self._stateful, checkpoint.operators, strict=True)
                if stored.state is not None
            },
        )
        for source, state in zip(self._inputs, checkpoint.inputs, strict=True):
            if state is not None:
                source.restore(state)
                self._epoch = max(self._epoch, state["epoch"])
        self._resets_due = checkpoint.resets
        self._last_iter = checkpoint.ended
        self._resumption = (checkpoint.iterations, checkpoint.iterator)

    def _restart(self, plan: Mapping[str, Any] | None, begins: bool) -> None:
        """Drops what is scheduled; for PipelineLoader, which may begin an epoch at any time.

        Args:
            plan: the keywords of Executor.set_epoch_plan(); None for a pipeline without readers.
            begins: external sources begin an epoch; otherwise they go on where they are.
        """
        self._use(PipelineAPIType.BASIC)
        executor = self._executor
        executor.cancel()
        self._steady, self._deferred = False, None
        if begins:
            self._resets_due = 0
            self._begin_epoch()
        if plan is not None:
            executor.set_epoch_plan(**plan)
            self._last_iter = False
        self._marks.clear()
        self._mark()

    def _warn_of_source(self, reason: str | None, location: Any) -> None:
        if reason is None:
            return
        warnings.warn(
            f"fn.external_source: a checkpoint does not hold the position of a `source` that is "
            f"{reason}; after resuming it starts from its beginning, unless you bring it to its "
            "place yourself. To fix it: let `source` take an index, or give it state_dict() and "
            f"load_state_dict()\n  defined at {location}",
            UserWarning,
            stacklevel=user_stack_level(),
        )


def _other(detail: str) -> Exception:
    return _make(
        ArgumentError,
        f"Pipeline: the checkpoint is of another pipeline: {detail}",
        fix="resume with the definition that the checkpoint was made with",
    )
