# SPDX-License-Identifier: Apache-2.0
"""The pipelines behind a loader: made, built, restarted and run side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._graph.pytree import Structure
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    UnsupportedError,
    _make,
)
from torchdali.loader._pipeline.epochs import Deal
from torchdali.loader._pipeline.ranks import Ranks
from torchdali.loader._pipeline.state import check_facts
from torchdali.pipeline import Pipeline
from torchdali.pipeline._checkpoint_format import Checkpoint
from torchdali.pipeline._driver import driver_of

__all__ = ["Pipelines"]


class Pipelines:
    """One or more pipelines of the same kind.

    Args:
        given: pipelines, or functions that make them; one or a list.
        arguments: keyword arguments of the functions.
        reader: name of the reader that an epoch goes over; None: there is no choice.
        size: samples of an epoch where there is no reader.
    """

    def __init__(
        self,
        given: Any,
        arguments: Mapping[str, Any] | None,
        reader: str | None,
        size: int | None,
    ) -> None:
        self.many = isinstance(given, (list, tuple))
        self._given = list(given) if self.many else [given]
        if not self._given:
            raise _make(ArgumentError, "`pipelines` is empty, expected one or more")
        for one in self._given:
            if not isinstance(one, Pipeline) and not callable(one):
                raise _make(
                    ArgumentTypeError,
                    f"`pipelines` has a {type(one).__name__}, expected a Pipeline or a function "
                    "under pipeline_def",
                )
        self._arguments = dict(arguments or {})
        if self._arguments and all(isinstance(one, Pipeline) for one in self._given):
            raise _make(ArgumentError, "`pipeline_args` are for functions, not for pipelines")
        self._reader, self._given_size = reader, size
        self._made: list[Pipeline] = []
        self._built = False
        self._fresh = True  # external sources are at the beginning of an epoch
        self._metas: list[Mapping[str, Any]] = []  # of the reader, one a pipeline
        self.size: int | None = None
        self.shuffles = False
        self.pads = False

    @property
    def structures(self) -> list[Structure]:
        """How the outputs of each pipeline hang together."""
        return [
            driver_of(pipeline).structure or Structure.flat(pipeline.num_outputs)
            for pipeline in self._made
        ]

    def _have_inputs(self) -> bool:
        """Returns whether a pipeline has external sources; builds the pipelines for it."""
        for pipeline in self._made:
            pipeline.build()
        return any(driver_of(pipeline).input_names for pipeline in self._made)

    def batch_size(self, batch_size: int | None) -> int:
        """Returns the batch size that the pipelines are made with."""
        self._make_all(batch_size)
        return self._made[0].max_batch_size

    def _make_all(self, batch_size: int | None) -> None:
        if self._made:
            return
        sized = {} if batch_size is None else {"batch_size": batch_size}
        made = [
            one if isinstance(one, Pipeline) else _checked(one(**self._arguments, **sized))
            for one in self._given
        ]
        sizes = [pipeline.max_batch_size for pipeline in made]
        if len(set(sizes)) > 1:
            raise _make(ArgumentError, f"the pipelines differ in batch size: {sizes}")
        self._made = made

    def prepare(self, batch_size: int | None, checkpoints: Sequence[Checkpoint] | None) -> bool:
        """Makes and builds pipelines for batches of a size; returns whether they are new.

        Args:
            batch_size: of the epochs to come; None: as they are.
            checkpoints: where to go on, which sets seeds and external sources.
        """
        self._make_all(batch_size)
        new = not self._built
        largest = self._made[0].max_batch_size
        if batch_size is not None and (
            batch_size > largest or (batch_size != largest and self._have_inputs())
        ):
            self._remake(batch_size)
            new = True
        if checkpoints is not None:
            self._resume(checkpoints)
        if new:
            for pipeline in self._made:
                pipeline.build()
                if not driver_of(pipeline).follows_epoch_plans:
                    raise _make(
                        UnsupportedError,
                        "a PipelineLoader cannot drive a pipeline in debug mode, whose operators "
                        "run as they are called",
                        fix="call run() of the pipeline, or make it without debug=True",
                    )
                if checkpoints is None and pipeline.is_restored_from_checkpoint:
                    raise _make(
                        ArgumentError,
                        "a pipeline with `checkpoint` cannot be in a PipelineLoader",
                        fix="resume with load_state_dict() of the loader",
                    )
            self._fresh = all(driver_of(pipeline).is_untouched for pipeline in self._made)
            self._look()
            self._built = True
        return new

    def _remake(self, batch_size: int) -> None:
        old, self._made = self._made, []
        for given, pipeline in zip(self._given, old, strict=True):
            if isinstance(given, Pipeline):
                make_again = driver_of(pipeline).make_again
                if make_again is None:
                    self._made = old
                    raise _make(
                        ArgumentError,
                        f"`batch_size` is {batch_size}, the pipeline was made for "
                        f"{pipeline.max_batch_size}",
                        fix="give the function under pipeline_def instead of a pipeline",
                    )
                self._made.append(make_again(batch_size=batch_size))
            else:
                self._made.append(_checked(given(**self._arguments, batch_size=batch_size)))
        for given, pipeline in zip(self._given, old, strict=True):
            if pipeline is not given:
                pipeline.close()
        self._built = False

    def _look(self) -> None:
        """Finds out what the readers say about an epoch."""
        self._metas, names = [], set()
        for pipeline in self._made:
            metas = pipeline.reader_meta()
            name = self._reader
            if name is None and metas:
                name = next(iter(metas))
                sizes = {own: meta["epoch_size"] for own, meta in metas.items()}
                if len(set(sizes.values())) > 1:
                    raise _make(
                        ArgumentError,
                        f"the readers of the pipeline differ in size: {sizes}",
                        fix="name the one that an epoch goes over: `reader`",
                    )
            if name is not None:
                self._metas.append(pipeline.reader_meta(name))
                names.add(name)
                self.shuffles = driver_of(pipeline).reader_shuffles(name)
        if self._metas and self._given_size is not None:
            raise _make(
                ArgumentError,
                f"`size` is {self._given_size}, but the reader `{names.pop()}` knows its own",
                fix="leave `size` out",
            )
        sizes_of = {meta["epoch_size"] for meta in self._metas}
        if len(sizes_of) > 1 or len(self._metas) not in (0, len(self._made)):
            raise _make(ArgumentError, "the pipelines do not read the same data set")
        self.size = sizes_of.pop() if sizes_of else self._given_size
        self.pads = any(meta["pad_last_batch"] for meta in self._metas)
        if self.size is None and not self._have_inputs():
            raise _make(
                ArgumentError,
                "the pipeline has neither a reader nor an external source, so its data never ends",
                fix="give `size`, the samples of an epoch",
            )

    def shards(self, ranks: Ranks) -> list[Ranks]:
        """Returns the shard of each pipeline.

        Raises:
            ArgumentError: the readers' own shards contradict the ranks.
        """
        count = len(self._made)
        found = [Ranks(ranks.rank * count + i, ranks.world_size * count) for i in range(count)]
        if not any(meta["number_of_shards"] > 1 for meta in self._metas):
            return found
        own = [Ranks(meta["shard_id"], meta["number_of_shards"]) for meta in self._metas]
        if ranks.world_size == 1:
            if count > 1 and len(set(own)) < count:
                raise _make(ArgumentError, "the pipelines read the same shard")
            return own
        if own != found:
            raise _make(
                ArgumentError,
                f"the reader has `shard_id` {own[0].rank} and `num_shards` {own[0].world_size}, "
                f"but this is shard {found[0].rank} of {found[0].world_size}",
                fix="leave both out: the loader deals the samples out",
            )
        return found

    def restart(self, deals: Sequence[Deal | None], goes_on: bool) -> None:
        """Drops what is scheduled and begins an epoch.

        Args:
            deals: what each pipeline gives.
            goes_on: external sources stay where they are.
        """
        for pipeline, deal in zip(self._made, deals, strict=True):
            driver = driver_of(pipeline)
            whole = bool(driver.input_names)
            begins = whole and not (goes_on or self._fresh)
            driver.restart(None if deal is None else deal.plan(whole), begins)
        self._fresh = False

    def run(self, number: int, deals: Sequence[Deal | None]) -> list[tuple[int, Any]]:
        """Returns batch `number` of the epoch: the outputs of each pipeline that has one.

        Raises:
            StopIteration: the data of one of them is at its end.
            Exception: of the first that failed; all of them are behind the batch.
        """
        outputs: list[tuple[int, Any]] = []
        failure: Exception | None = None
        for i, (pipeline, deal) in enumerate(zip(self._made, deals, strict=True)):
            if deal is not None and number >= deal.batches:
                continue
            try:
                outputs.append((i, pipeline.run()))
            except Exception as error:
                if failure is None or isinstance(error, StopIteration):
                    failure = error
        try:
            if failure is not None:
                raise failure
        finally:
            failure = None  # it would make a cycle with its traceback
        return outputs

    # -- states

    def snapshots(self) -> list[Checkpoint]:
        """Returns where each pipeline is.

        Raises:
            PipelineError: one has external sources and no enable_checkpointing.
        """
        for pipeline in self._made:
            driver = driver_of(pipeline)
            if driver.input_names and not driver.options.enable_checkpointing:
                raise _make(
                    PipelineError,
                    "state_dict() of a loader whose pipeline has external sources",
                    fix="pass enable_checkpointing=True where the pipeline is made",
                )
        return [driver_of(pipeline).snapshot() for pipeline in self._made]

    def _resume(self, checkpoints: Sequence[Checkpoint]) -> None:
        if len(checkpoints) != len(self._made):
            # Without external sources they differ in nothing that matters.
            checkpoints = [checkpoints[0]] * len(self._made)
        for pipeline, stored in zip(self._made, checkpoints, strict=True):
            checkpoint = stored
            if not stored.inputs:
                checkpoint = dataclasses.replace(stored, batch_size=pipeline.batch_size)
                if self._built and self._metas and driver_of(pipeline).seed == stored.seed:
                    continue  # the rest of the state is the plan
            driver_of(pipeline).resume_from(checkpoint)
            pipeline.build()
            self._fresh = not checkpoint.iterations

    def check_state(self, state: Mapping[str, Any], facts: Mapping[str, Any], ranks: Ranks) -> None:
        """Holds a state against the pipelines as they are.

        Raises:
            ArgumentError: it is of other data, or of another number of ranks and the position of
                external sources cannot be translated.
        """
        check_facts(state, facts)
        if not self._have_inputs():
            return
        world_size = self.shards(ranks)[0].world_size
        if state["world_size"] != world_size:
            raise _make(
                ArgumentError,
                f"the state was made on {state['world_size']} ranks, this is one of {world_size}: "
                "where external sources go on is not known",
                fix="resume with as many ranks, or read with a reader",
            )

    def stats(self, reset: bool) -> Any:
        """Returns the figures of the pipeline, or a list of those of several."""
        found = [pipeline.stats(reset=reset) for pipeline in self._made]
        return found if self.many else found[0]

    def trace_owners(self) -> list[int]:
        """Returns whose events in a profile are those of the pipelines."""
        return [number for pipeline in self._made for number in driver_of(pipeline).trace_owners()]

    def close(self) -> None:
        """Closes the pipelines that were made here."""
        for given, pipeline in zip(self._given, self._made, strict=False):
            if pipeline is not given:
                pipeline.close()
        self._made, self._built = [], False


def _checked(made: Any) -> Pipeline:
    if not isinstance(made, Pipeline):
        raise _make(
            ArgumentTypeError,
            f"`pipelines` has a function that returns a {type(made).__name__}, expected a Pipeline",
            fix="put the function under pipeline_def",
        )
    return made
