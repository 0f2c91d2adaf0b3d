# SPDX-License-Identifier: Apache-2.0
"""The base of the iterators of all frameworks: takes batches in order, and ends epochs.

`_DaliBaseIterator` is independent of frameworks: it passes on whole batches, and how many samples
of each belong to the epoch. See `_epochs` and docs/design/epochs.md for these numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make
from torchdali.pipeline._checkpoint_format import integer
from torchdali.plugin._arguments import epoch_size, resets_itself
from torchdali.plugin._bad_samples import _check_ranks, _CountsBadSamples, _good_samples
from torchdali.plugin._epochs import (
    LastBatchPolicy,
    _check_policy,
    _common_reader,
    _Epochs,
    _EpochsByReader,
    _EpochsBySize,
    _warn_of_reset,
)

__all__ = ["LastBatchPolicy"]


class _DaliBaseIterator(_CountsBadSamples):
    """Takes batches from pipelines, epoch after epoch.

    A framework's iterator derives from it and implements `_convert`.

    Args:
        pipelines: one Pipeline, or several that run side by side (one per device) and return one
            batch each; their batch sizes agree.
        size: samples of an epoch, of all pipelines together; -1: until the data ends.
        reader_name: name of the reader to ask for the epoch's size, shards and padding, instead of
            `size` and `last_batch_padded`.
        auto_reset: the next epoch begins by itself ("yes" or True), otherwise when `reset` is
            called or another loop starts.
        fill_last_batch: deprecated spelling of `last_batch_policy`.
        last_batch_padded: with `size`: the pipeline fills up an epoch's last batch itself, so that
            an epoch begins with a new batch.
        last_batch_policy: what to do with the last batch of an epoch.
        prepare_first_batch: take the first batch at once.

    Raises:
        ArgumentError: the arguments contradict each other, or the pipelines do.
        PipelineError: there is no batch to prepare.
    """

    def __init__(
        self,
        pipelines: Sequence[Any] | Any,
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        policy = _check_policy(last_batch_policy, fill_last_batch)
        if pipelines is None or (isinstance(pipelines, Sequence) and not pipelines):
            raise _make(ArgumentError, "`pipelines` is empty, expected one or more")
        self._pipelines = list(pipelines) if isinstance(pipelines, Sequence) else [pipelines]
        self._auto_reset = resets_itself(auto_reset)
        sizes = [pipeline.max_batch_size for pipeline in self._pipelines]
        if len(set(sizes)) > 1:
            raise _make(ArgumentError, f"the pipelines differ in batch size: {sizes}")
        self.batch_size: int = sizes[0]
        size = epoch_size(size, reader_name, last_batch_padded, len(self._pipelines))
        for pipeline in self._pipelines:
            pipeline.build()
        self._policy = policy
        self._epochs: _Epochs | None = None
        if reader_name is not None:
            reader = _common_reader(self._pipelines, reader_name)
            self._epochs = _EpochsByReader(reader, self.batch_size, policy)
        elif size != -1:
            self._epochs = _EpochsBySize(
                size, self.batch_size, len(self._pipelines), policy, last_batch_padded
            )
        self._taken = 0  # batches of this epoch
        self._ended = False  # the pipeline has no more data
        self._scheduled = False
        self._late_error: Exception | None = None
        # Of the batch that is being taken: outputs or errors of the pipelines that were asked, and
        # how many pipelines were scheduled again.
        self._collected: tuple[Any, ...] = ()
        self._rescheduled = 0
        self._first: Any = None
        self._checkpointing = self._check_checkpointing()
        resumed = self._resume()
        if not resumed:
            self._begin_epoch(0)
        self._given = self._taken  # batches of the epoch that this iterator does not return
        if prepare_first_batch and not (resumed and self._is_over()):
            self._before_first = self._make_checkpoints() if self._checkpointing else []
            try:
                self._first = self._fetch()
            except StopIteration:
                if not resumed:  # else the epoch was over already
                    raise _make(PipelineError, self._no_batch()) from None

    # -- checkpoints

    def _check_checkpointing(self) -> bool:
        """Returns whether the pipelines make checkpoints: all of them or none."""
        enabled = {driver.options.enable_checkpointing for driver in self._drivers()}
        if len(enabled) > 1:
            raise _make(
                ArgumentError,
                "some of the pipelines have enable_checkpointing, others do not",
                fix="make all of them with the same value",
            )
        return enabled == {True}

    def _facts(self) -> dict[str, Any]:
        """Returns what must be the same for a position to mean the same."""
        known = {} if self._epochs is None else self._epochs.facts()
        return {
            "pipelines": len(self._pipelines),
            "policy": None if self._epochs is None else self._policy.name,
            **known,
        }

    def _position(self) -> dict[str, Any]:
        epoch = {} if self._epochs is None else self._epochs.state()
        return {
            **self._facts(),
            "taken": self._taken,
            "ended": self._ended,
            **self._error_position(),
            **epoch,
        }

    def _make_checkpoints(self) -> list[bytes]:
        position = self._position()
        return [driver.checkpoint_of(position) for driver in self._drivers()]

    def checkpoints(self) -> list[bytes]:
        """Returns the position of pipelines and iterator, as one checkpoint per pipeline.

        Pipelines of the same definition, each made with `checkpoint=` its own, and an iterator over
        them continue after the last batch that this iterator returned. An iterator that
        was at the end of its epoch is there again: it ends, or reset() starts the next epoch.

        Raises:
            ArgumentError: the pipelines were made without enable_checkpointing.
        """
        if not self._checkpointing:
            raise _make(
                ArgumentError,
                "checkpoints() of an iterator over pipelines without enable_checkpointing",
                fix="pass enable_checkpointing=True where the pipelines are made",
            )
        # The batch that was prepared was not returned yet.
        if self._first is not None:
            return list(self._before_first)
        return self._make_checkpoints()

    def _resume(self) -> bool:
        """Restores the position from the pipelines' checkpoints; returns whether there are any."""
        found = [driver.resumed_at for driver in self._drivers()]
        if any(other != found[0] for other in found):
            raise _make(
                ArgumentError,
                "the checkpoints of the pipelines do not belong together",
                fix="resume all pipelines with what one call of checkpoints() returned",
            )
        if found[0] is None:
            return False
        iterations, position = found[0]
        if position is None:
            self._count_up_to(iterations)
            self._begin_epoch(0)
            return True
        for key, own in self._facts().items():
            if position.get(key) != own:
                raise _make(
                    ArgumentError,
                    f"`{key}` of the iterator is {own!r}, in the checkpoint it is "
                    f"{position.get(key)!r}",
                    fix="resume with an iterator like the one that made the checkpoint",
                )
        try:
            self._taken = integer(position, "taken")
            self._ended = bool(position.get("ended"))
            self._begin_epoch(position.get("number", 0), position.get("errors"))
            if self._epochs is not None:
                self._epochs.restore(position)
        except ValueError as error:
            raise _make(
                ArgumentError, f"the iterator's position in the checkpoint is damaged: {error}"
            ) from None
        return True

    def _count_up_to(self, iterations: int) -> None:
        """Finds the epoch of a checkpoint that Pipeline.checkpoint() made, by counting batches."""
        if self._epochs is None:
            return
        while iterations > (epoch := self._epochs.current()).batches:
            length = max(0, epoch.batches) + epoch.dropped
            if length == 0:
                break
            iterations -= length
            self._epochs.advance()
        self._taken = iterations

    def _no_batch(self) -> str:
        message = "there is no batch in the pipeline"
        if self._epochs is None or self._ended:
            return message
        return (
            f"{message}: an epoch has {self._epochs.current().size} samples, the batch size is "
            f"{self.batch_size} and LastBatchPolicy.DROP leaves out what does not fill a batch"
        )

    def _convert(self, outputs: list[tuple[Any, ...]], valid: tuple[int, ...] | None) -> Any:
        """Returns what the user gets.

        Args:
            outputs: one tuple of TensorList per pipeline.
            valid: how many samples of each pipeline's batch belong to the epoch (pipelines past
                its end have none and no entry); None: all.
        """
        raise NotImplementedError

    def _take(self) -> list[tuple[Any, ...]]:
        """Returns the next batch of every pipeline, and schedules the one after those in flight.

        The batch of a failing pipeline counts as taken, so that pipelines stay together.
        """
        if self._late_error is not None:
            error, self._late_error = self._late_error, None
            raise error
        if not self._scheduled:
            for pipeline in self._pipelines:
                pipeline.schedule_run()
            self._scheduled = True
        for pipeline in self._pipelines[len(self._collected) :]:
            try:
                # Nothing is called after share_outputs(), so that Ctrl-C cannot lose the outputs.
                self._collected = (*self._collected, pipeline.share_outputs())
            except StopIteration:
                self._ended = True
                raise
            except Exception as error:
                self._collected = (*self._collected, error)
        for pipeline in self._pipelines[self._rescheduled :]:
            try:
                # Tensors own their memory, so releasing them at once costs no copy.
                pipeline.release_outputs()
                pipeline.schedule_run()
            except Exception as error:  # of a later batch: this one is good
                self._late_error = self._late_error or error
            self._rescheduled += 1
        failures = [entry for entry in self._collected if isinstance(entry, Exception)]
        try:
            if failures:
                self._accept()
                raise failures[0]
        finally:
            del failures  # an error refers to this frame
        return [tuple(outputs) for outputs in self._collected]

    def _accept(self) -> None:
        """The batch that _take() has returned is done with; until then it is returned again."""
        self._collected, self._rescheduled = (), 0

    def _is_over(self) -> bool:
        if self._ended:
            return True
        return self._epochs is not None and self._taken >= self._epochs.current().batches

    def _next(self) -> Any:
        if self._first is not None:
            batch, self._first = self._first, None
            return batch
        try:
            return self._fetch()
        except StopIteration:
            if self._auto_reset:
                self.reset()
            raise

    def _fetch(self) -> Any:
        while True:
            if self._is_over():
                raise StopIteration
            valid = self._begin_batch()
            try:
                outputs = self._take()
            except StopIteration:
                raise
            except Exception:
                self._taken += 1  # the batch that failed
                raise
            try:
                rows = self._kept_rows()
                good = _good_samples(outputs, rows, valid)
                is_lost = good is not None and not any(good) and rows.count(None) < len(rows)
                if is_lost:
                    _check_ranks(1 if self._epochs is None else self._epochs.num_shards)
                batch = None if is_lost else self._convert(outputs, good)
            except Exception:
                self._taken += 1
                self._accept()
                raise
            # No call follows that Ctrl-C could interrupt: the caller gets the batch.
            self._taken, self._collected, self._rescheduled = self._taken + 1, (), 0
            if not is_lost:
                return batch
            self._given += 1

    def __next__(self) -> Any:
        return self._next()

    def next(self) -> Any:
        """Returns the next batch, as ``next(iterator)`` does."""
        return next(self)

    def __iter__(self) -> _DaliBaseIterator:
        if self._is_over() and self._first is None:
            self.reset()
        elif self._returned_some():
            _warn_of_reset()
        return self

    def _returned_some(self) -> bool:
        return self._taken - self._given > int(self._first is not None)

    def reset(self) -> None:
        """Starts the next epoch, after the last batch of this one was returned.

        Within an epoch it does nothing but warn, as in DALI.
        """
        if not self._is_over() or self._first is not None:
            if self._returned_some():
                _warn_of_reset()
            return
        if self._epochs is not None:
            if not self._ended:
                for _ in range(self._epochs.current().dropped):
                    self._drop()
            self._epochs.advance()
        self._taken = self._given = 0
        self._ended = False
        self._accept()
        for pipeline in self._pipelines:
            pipeline.reset()
            if self._scheduled and pipeline.empty():
                pipeline.schedule_run()
        self._number += 1
        self._begins_epoch = True

    def _drop(self) -> None:
        # A dropped batch must neither fail nor end the data of the next epoch.
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(Exception))
            for log in self.__torchdali_bad_samples__():
                stack.enter_context(log.paused())
            self._take()
            self._accept()

    def __len__(self) -> int:
        """Returns the batches of this epoch.

        Raises:
            TypeError: neither `size` nor `reader_name` was passed, so the length is unknown.
        """
        if self._epochs is None:
            raise _make(
                ArgumentTypeError,
                "the iterator has no length: the number of batches is not known in advance",
                fix="give `reader_name` or `size`",
            )
        return max(0, self._epochs.current().batches)

    @property
    def size(self) -> int:
        """Samples of this epoch in one shard (with `size`, in all pipelines); -1: not known.

        Where FILL takes samples of the next epoch, they count.
        """
        return -1 if self._epochs is None else self._epochs.current().size

    _size = size  # which programs read that were written before DALI had `size`
