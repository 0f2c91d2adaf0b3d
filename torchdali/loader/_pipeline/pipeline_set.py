# SPDX-License-Identifier: Apache-2.0
"""The pipelines of a loader: made, built, restarted and run side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._graph.pytree import Structure
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    _make,
)
from torchdali.loader._pipeline.bad_samples import ErrorPolicy, PipelineOutput
from torchdali.loader._pipeline.epochs import EpochShard, Position
from torchdali.loader._pipeline.given import as_pipeline, check_usable
from torchdali.loader._pipeline.ranks import Ranks
from torchdali.loader._pipeline.state import check_facts
from torchdali.pipeline import Pipeline
from torchdali.pipeline._checkpoint_format import Checkpoint
from torchdali.pipeline._driver import driver_of
from torchdali.stats import PipelineStats

__all__ = ["PipelineSet"]


class PipelineSet:
    """One or more pipelines of the same batch size and data set.

    Args:
        given: pipelines, or functions that make them; one or a list.
        arguments: keyword arguments of the functions.
        reader: name of the reader whose data set an epoch goes over; None: all readers agree.
        size: samples of an epoch for pipelines without a reader.
        policy: for samples that fail.

    Attributes:
        bad_samples: those samples.
        is_list: whether `given` is a list.
        size: samples of an epoch; None if unknown.
        shuffles: whether the reader shuffles its epochs.
        pads: whether a reader pads its last batch.
        collected: of the batch that is being taken, the outputs or errors of the pipelines that
            were asked; None: no batch is being taken.
    """

    def __init__(
        self,
        given: Any,
        arguments: Mapping[str, Any] | None,
        reader: str | None,
        size: int | None,
        policy: ErrorPolicy,
    ) -> None:
        self._policy, self.bad_samples = policy, policy.new_log()
        self.is_list = isinstance(given, (list, tuple))
        self._given = list(given) if self.is_list else [given]
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
        self._pipelines: list[Pipeline] = []
        self.collected: tuple[Any, ...] | None = None
        self._is_built = False
        self._seed: int | None = None  # of pipelines that were given none
        self._inputs_are_fresh = True  # external sources are at the beginning of an epoch
        self._reader_metas: list[Mapping[str, Any]] = []  # one for each pipeline
        self.size: int | None = None
        self.shuffles = False
        self.pads = False

    @property
    def structures(self) -> list[Structure]:
        """The structure of the outputs of each pipeline."""
        return [
            driver_of(pipeline).structure or Structure.flat(pipeline.num_outputs)
            for pipeline in self._pipelines
        ]

    def _have_inputs(self) -> bool:
        """Returns whether a pipeline has external sources; builds the pipelines for it."""
        for pipeline in self._pipelines:
            pipeline.build()
        return any(driver_of(pipeline).input_names for pipeline in self._pipelines)

    # -- making and building

    def batch_size(self, batch_size: int | None) -> int:
        """Returns the batch size that the pipelines are made with."""
        self._make_all(batch_size)
        return self._pipelines[0].max_batch_size

    def _make_all(self, batch_size: int | None) -> None:
        if self._pipelines:
            return
        sized = {} if batch_size is None else {"batch_size": batch_size}
        made = [
            one if isinstance(one, Pipeline) else as_pipeline(one(**self._arguments, **sized))
            for one in self._given
        ]
        sizes = [pipeline.max_batch_size for pipeline in made]
        if len(set(sizes)) > 1:
            raise _make(ArgumentError, f"the pipelines differ in batch size: {sizes}")
        self._pipelines = made
        self._policy.apply([driver_of(pipeline) for pipeline in self._pipelines], self.bad_samples)

    def prepare(
        self, batch_size: int | None, checkpoints: Sequence[Checkpoint] | None, seed: int
    ) -> bool:
        """Makes and builds pipelines for batches of a size; returns whether they are new.

        Args:
            batch_size: of the next epochs; None: as the pipelines were made.
            checkpoints: where to continue, which sets seeds and external sources; None: nowhere.
            seed: of pipelines that were given none and have none yet.
        """
        self._make_all(batch_size)
        self._seed = seed
        if not self._is_built:
            self._seed_all()
        is_new = not self._is_built
        largest = self._pipelines[0].max_batch_size
        if batch_size is not None and (
            batch_size > largest or (batch_size != largest and self._have_inputs())
        ):
            self._make_again(batch_size)
            is_new = True
        if checkpoints is not None:
            self._resume(checkpoints)
        if is_new:
            for pipeline in self._pipelines:
                pipeline.build()
                check_usable(pipeline, resumes=checkpoints is not None)
            drivers = [driver_of(pipeline) for pipeline in self._pipelines]
            self._inputs_are_fresh = all(driver.is_untouched for driver in drivers)
            self._read_reader_meta()
            self._is_built = True
        return is_new

    def _make_again(self, batch_size: int) -> None:
        """Replaces the pipelines by others with another batch size."""
        old, self._pipelines = self._pipelines, []
        for given, pipeline in zip(self._given, old, strict=True):
            if isinstance(given, Pipeline):
                make_again = driver_of(pipeline).make_again
                if make_again is None:
                    self._pipelines = old
                    raise _make(
                        ArgumentError,
                        f"`batch_size` is {batch_size}, the pipeline was made for "
                        f"{pipeline.max_batch_size}",
                        fix="pass the function under pipeline_def instead of a pipeline",
                    )
                self._pipelines.append(make_again(batch_size=batch_size))
            else:
                made = given(**self._arguments, batch_size=batch_size)
                self._pipelines.append(as_pipeline(made))
        for given, pipeline in zip(self._given, old, strict=True):
            if pipeline is not given:
                pipeline.close()
        self._is_built = False
        self._policy.apply([driver_of(pipeline) for pipeline in self._pipelines], self.bad_samples)
        self._seed_all()

    def _seed_all(self) -> None:
        assert self._seed is not None
        for pipeline in self._pipelines:
            driver_of(pipeline).seed_if_unseeded(self._seed)

    def _read_reader_meta(self) -> None:
        """Sets `size`, `shuffles` and `pads` by what the readers report."""
        self._reader_metas, names = [], set()
        for pipeline in self._pipelines:
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
                self._reader_metas.append(pipeline.reader_meta(name))
                names.add(name)
                self.shuffles = driver_of(pipeline).reader_shuffles(name)
        if self._reader_metas and self._given_size is not None:
            raise _make(
                ArgumentError,
                f"`size` is {self._given_size}, but the reader `{names.pop()}` knows its own",
                fix="leave out `size`",
            )
        sizes_of = {meta["epoch_size"] for meta in self._reader_metas}
        if len(sizes_of) > 1 or len(self._reader_metas) not in (0, len(self._pipelines)):
            raise _make(ArgumentError, "the pipelines do not read the same data set")
        self.size = sizes_of.pop() if sizes_of else self._given_size
        self.pads = any(meta["pad_last_batch"] for meta in self._reader_metas)
        if self.size is None and not self._have_inputs():
            raise _make(
                ArgumentError,
                "the pipeline has neither a reader nor an external source, so its data never ends",
                fix="pass `size`, the samples of an epoch",
            )

    @property
    def has_reader(self) -> bool:
        """Whether the built pipelines have readers."""
        return bool(self._reader_metas)

    @property
    def on_error(self) -> str:
        """What happens to samples that fail: "skip" also if an operator says so and no one else."""
        driver = driver_of(self._pipelines[0])
        by_default = "skip" if driver.failures.lets_samples_fail else "raise"
        return self._policy.on_error or driver.options.on_error or by_default

    # -- epochs

    def shards_are_here(self, ranks: Ranks) -> bool:
        """Returns whether no other process has a part of the data set."""
        return ranks.world_size == 1 and all(
            meta["number_of_shards"] == 1 for meta in self._reader_metas
        )

    def shards(self, ranks: Ranks) -> list[Ranks]:
        """Returns the shard of each pipeline.

        Raises:
            ArgumentError: the readers' own shards contradict the ranks.
        """
        count = len(self._pipelines)
        found = [Ranks(ranks.rank * count + i, ranks.world_size * count) for i in range(count)]
        if not any(meta["number_of_shards"] > 1 for meta in self._reader_metas):
            return found
        own = [Ranks(meta["shard_id"], meta["number_of_shards"]) for meta in self._reader_metas]
        if ranks.world_size == 1:
            if count > 1 and len(set(own)) < count:
                raise _make(ArgumentError, "the pipelines read the same shard")
            return own
        if own != found:
            raise _make(
                ArgumentError,
                f"the reader has `shard_id` {own[0].rank} and `num_shards` {own[0].world_size}, "
                f"but this is shard {found[0].rank} of {found[0].world_size}",
                fix="leave out both: the loader divides the samples among the ranks",
            )
        return found

    def begin_epoch(
        self, shards: Sequence[EpochShard | None], mid_epoch: bool, begin: Position
    ) -> None:
        """Drops the iterations in flight and begins an epoch.

        Args:
            shards: what each pipeline returns.
            mid_epoch: external sources stay where they are, inside the epoch.
            begin: where the epoch begins.
        """
        self.collected = None
        for pipeline, shard in zip(self._pipelines, shards, strict=True):
            driver = driver_of(pipeline)
            has_inputs = bool(driver.input_names)
            epoch_plan = None if shard is None else shard.epoch_plan(whole_batches=has_inputs)
            new_epoch = has_inputs and not (mid_epoch or self._inputs_are_fresh)
            driver.restart(epoch_plan, new_epoch)
            driver.failures.begin_epoch(begin.epoch, begin.batches, begin.errors)
        self._inputs_are_fresh = False

    def run(self, number: int, shards: Sequence[EpochShard | None]) -> list[PipelineOutput]:
        """Returns batch `number` of the epoch: the outputs of each pipeline that has one.

        The same batch is returned again until the caller has set `collected` to None.

        Raises:
            StopIteration: the data of a pipeline has ended.
            Exception: the error of the first pipeline that failed. All of them are after the batch.
        """
        if self.collected is None:
            self.collected = ()
        for i in range(len(self.collected), len(self._pipelines)):
            shard = shards[i]
            if shard is not None and number >= shard.batches:
                self.collected = (*self.collected, None)
                continue
            driver = driver_of(self._pipelines[i])
            driver.failures.expected = None if shard is None else sum(shard.valid(number))
            try:
                # Nothing is called after run(), so that Ctrl-C cannot lose the outputs.
                self.collected = (*self.collected, self._pipelines[i].run())
            except Exception as error:
                self.collected = (*self.collected, error)
        failures = [entry for entry in self.collected if isinstance(entry, Exception)]
        failures.sort(key=lambda error: not isinstance(error, StopIteration))
        try:
            if failures:
                self.collected = None
                raise failures[0]
        finally:
            del failures  # an error refers to this frame
        return [
            PipelineOutput(i, entry, driver_of(self._pipelines[i]).failures.kept_rows)
            for i, entry in enumerate(self.collected)
            if entry is not None
        ]

    # -- states

    def snapshots(self) -> list[Checkpoint]:
        """Returns where each pipeline is.

        Raises:
            PipelineError: a pipeline has external sources and no enable_checkpointing.
        """
        drivers = [driver_of(pipeline) for pipeline in self._pipelines]
        for driver in drivers:
            if driver.input_names and not driver.options.enable_checkpointing:
                raise _make(
                    PipelineError,
                    "state_dict() of a loader whose pipeline has external sources",
                    fix="pass enable_checkpointing=True where the pipeline is made",
                )
        return [driver.snapshot() for driver in drivers]

    @property
    def have_resumable_sources(self) -> bool:
        """Whether there are external sources whose position state_dict() needs, and can tell."""
        drivers = [driver_of(pipeline) for pipeline in self._pipelines]
        checkpoints = all(driver.options.enable_checkpointing for driver in drivers)
        return checkpoints and any(driver.input_names for driver in drivers)

    def _resume(self, checkpoints: Sequence[Checkpoint]) -> None:
        if len(checkpoints) != len(self._pipelines):
            # Without external sources, checkpoints of ranks differ in nothing that is used here.
            checkpoints = [checkpoints[0]] * len(self._pipelines)
        for pipeline, stored in zip(self._pipelines, checkpoints, strict=True):
            checkpoint = stored
            if not stored.inputs:
                checkpoint = dataclasses.replace(stored, batch_size=pipeline.batch_size)
                is_built = self._is_built and self._reader_metas
                if is_built and driver_of(pipeline).seed == stored.seed:
                    continue  # the epoch plan has the rest of the state
            driver_of(pipeline).resume_from(checkpoint)
            pipeline.build()
            self._inputs_are_fresh = not checkpoint.iterations

    def check_state(self, state: Mapping[str, Any], facts: Mapping[str, Any], ranks: Ranks) -> None:
        """Checks a state against the pipelines.

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
                "the position of external sources on other ranks is not known",
                fix="resume with as many ranks, or read with a reader",
            )

    # -- figures and the end

    def stats(self, reset: bool) -> PipelineStats | list[PipelineStats]:
        """Returns the figures of the pipeline, or a list of them for a list of pipelines."""
        found = [pipeline.stats(reset=reset) for pipeline in self._pipelines]
        return found if self.is_list else found[0]

    def trace_owners(self) -> list[int]:
        """Returns the numbers that mark the events of the pipelines in a profile."""
        return [n for pipeline in self._pipelines for n in driver_of(pipeline).trace_owners()]

    def close(self) -> None:
        """Closes the pipelines that were made here."""
        for given, pipeline in zip(self._given, self._pipelines, strict=False):
            if pipeline is not given:
                pipeline.close()
        self._pipelines, self._is_built = [], False
