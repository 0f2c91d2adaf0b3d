# SPDX-License-Identifier: Apache-2.0
"""The interface of a pipeline to loaders, iterators and tools, in addition to its public methods.

``driver_of(pipeline)`` is the only way in: nothing outside ``torchdali.pipeline`` reads an
attribute of a pipeline that is not public. docs/design/pipeline.md describes the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from torchdali._common.bad_samples import BadSampleLog
from torchdali._graph.pytree import Structure
from torchdali._sources.turn import Fed
from torchdali.pipeline._checkpoint_format import Checkpoint
from torchdali.pipeline._checkpoints import ResumedAt
from torchdali.pipeline._failures import RunFailures
from torchdali.pipeline._options import Options
from torchdali.pipeline._run import Batches

__all__ = ["PipelineDriver", "SupportsDriver", "driver_of"]


class PipelineDriver(Protocol):
    """Drives one pipeline. What is said to need a built pipeline raises PipelineError otherwise.

    Attributes:
        options: the checked options.
        is_closed: whether close() was called.
        structure: how the function under pipeline_def returned its outputs; None elsewhere.
        make_again: makes another pipeline of the same definition, with other options as keywords;
            None if the definition is not under pipeline_def.
    """

    @property
    def options(self) -> Options: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def structure(self) -> Structure | None: ...
    @property
    def make_again(self) -> Callable[..., Any] | None: ...

    def require_layouts(self) -> None:
        """Has operators refuse images without a layout, unless their shape tells it.

        Otherwise they take them as channels-last, as in DALI. To be called before build().
        """

    def seed_if_unseeded(self, seed: int) -> None:
        """Sets the seed of a pipeline that was given none and has not run."""

    # -- of a built pipeline

    @property
    def seed(self) -> int:
        """The seed of random operators without a seed of their own."""

    @property
    def input_names(self) -> Sequence[str]:
        """Names of the external sources that an output needs."""

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was scheduled yet."""

    @property
    def follows_epoch_plans(self) -> bool:
        """Whether restart() is possible; it is not in debug mode."""

    def reader_shuffles(self, name: str) -> bool:
        """Returns whether a reader is to shuffle its epochs."""

    def restart(self, epoch_plan: Mapping[str, Any] | None, new_epoch: bool) -> None:
        """Drops the iterations in flight, and begins at another place of the data.

        Args:
            epoch_plan: what readers return next, as keywords of Executor.set_epoch_plan(); None for
                a pipeline without readers.
            new_epoch: external sources begin an epoch; otherwise they stay where they are.
        """

    # -- iterations that are taken whole or not at all

    def submit(self, feed: Callable[[], None]) -> Sequence[Fed]:
        """Starts an iteration of what a function feeds; if that fails, nothing was fed.

        Args:
            feed: calls feed_input() of the pipeline.

        Returns:
            What outputs_of() knows the iteration by.
        """

    def outputs_of(self, submitted: Sequence[Fed]) -> Batches:
        """Returns the outputs of what submit() has started, the same ones until settle().

        Iterations before it are dropped.
        """

    def settle(self) -> None:
        """The caller has the outputs that were returned."""

    @property
    def queue_depth(self) -> int:
        """Number of iterations that the built pipeline has in flight; it may change."""

    # -- samples that fail

    @property
    def bad_samples(self) -> BadSampleLog:
        """The samples of the epoch that have failed."""

    def set_error_policy(self, on_error: str | None, log: BadSampleLog) -> None:
        """Sets what happens to samples that fail, before the pipeline is built.

        Args:
            on_error: as the option of Pipeline; None: the pipeline's own.
            log: for those samples.

        Raises:
            ArgumentError: the pipeline has another policy, or is built already.
        """

    @property
    def failures(self) -> RunFailures:
        """The samples of the built pipeline that fail, and the rows that batches lack."""

    # -- checkpoints

    def snapshot(self) -> Checkpoint:
        """Returns the position of the built pipeline, also without enable_checkpointing."""

    def checkpoint_of(self, iterator: Mapping[str, Any]) -> bytes:
        """Returns a checkpoint that also holds the position of an iterator over the pipeline.

        Raises:
            PipelineError: the pipeline was made without enable_checkpointing.
        """

    def resume_from(self, checkpoint: Checkpoint) -> None:
        """Has the next build() start from a checkpoint; the engine is closed until then."""

    @property
    def resumed_at(self) -> ResumedAt | None:
        """Where the pipeline was resumed; None if it was not, or has run since."""

    # -- tools

    def trace_owners(self) -> list[int]:
        """Returns the numbers that mark the events of this pipeline in a profile."""

    def release_unused_memory(self) -> None:
        """Frees memory that is kept for the next batches."""


class SupportsDriver(Protocol):
    """A pipeline, or a substitute for one in tests."""

    def __torchdali_driver__(self) -> PipelineDriver: ...


def driver_of(pipeline: SupportsDriver) -> PipelineDriver:
    """Returns the driver of a pipeline; it refers to the pipeline's parts as they are now."""
    return pipeline.__torchdali_driver__()
