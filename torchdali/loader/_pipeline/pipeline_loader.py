# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: iterates over the batches of pipelines, epoch after epoch.

docs/design/loop.md describes epochs, ranks and states. DALI's iterators are in plugin/.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali.errors import ArgumentTypeError, PipelineError, _make
from torchdali.loader._filling import BatchFiller
from torchdali.loader._pipeline.arguments import (
    check_arguments,
    check_effects,
    check_filling,
    check_integer,
)
from torchdali.loader._pipeline.bad_samples import ErrorPolicy
from torchdali.loader._pipeline.batches import EpochBatches
from torchdali.loader._pipeline.epochs import (
    Buckets,
    EpochProgress,
    EpochShard,
    EpochStart,
    Position,
)
from torchdali.loader._pipeline.iterator import EpochIterator
from torchdali.loader._pipeline.outputs import OutputConverter, Padded
from torchdali.loader._pipeline.pipeline_set import PipelineSet
from torchdali.loader._pipeline.ranks import Ranks, find_ranks
from torchdali.loader._pipeline.seeds import Seeds
from torchdali.loader._pipeline.state import check_whole, position_of, read_state, write_state
from torchdali.pipeline import Pipeline
from torchdali.pipeline._checkpoint_format import Checkpoint
from torchdali.stats import PipelineStats

__all__ = ["Padded", "PipelineLoader"]


class PipelineLoader(ListsBadSamples):
    """Yields batches of tensors, in the structure that the pipeline's definition returns.

    An epoch is one pass over the data set of the pipeline's reader, divided among the ranks as
    torch's DistributedSampler does it: a permutation of the whole data set by `seed` and epoch, of
    which each rank has every `world_size`-th sample.

    Every iter() begins a new epoch, whether or not the previous one was finished; batches that were
    prefetched for that are dropped. An epoch of which no batch was taken begins again. `set_epoch`
    chooses the epoch. After load_state_dict(), iter() continues inside the epoch.

    Args:
        pipelines: a function under pipeline_def (or another that returns a Pipeline), a Pipeline,
            or a list of those, which run side by side: then a batch is a list with one entry each,
            and each of them is a shard.
        batch_size: samples of a batch; None: as the pipeline says. Also an attribute, which may be
            changed between epochs.
        pipeline_args: keyword arguments for functions in `pipelines`.
        size: samples of an epoch over all ranks, for pipelines without a reader. None: the epoch
            ends with the data of the external sources, and there is no len().
        reader: name of the reader whose data set an epoch goes over, if there are several of
            different sizes.
        shuffle: permute the samples in each epoch; None: if the reader says so (`random_shuffle`,
            `shuffle_after_epoch`).
        bucket_by: make batches of samples of like length, as the reader knows it ("size",
            "duration"), on all ranks at a time; None: if the reader says so (`bucket_by`).
        bucket_window: batches that are sorted together; None: 100, or as the reader says.
        seed: of the permutations, the same on all ranks. None: drawn from `generator`, with several
            ranks 0, as in DistributedSampler.
        generator: torch's, of the seeds that are not given: of the permutations, and of pipelines
            without `seed`. They are drawn once, when the loader is first used, and are part of
            state_dict(). None: torch's global one.
        rank: of this process; None: from torch.distributed, or torchrun's environment, or 0.
        world_size: number of processes, passed together with `rank`.
        shards: "equal": ranks have equally many samples, some of them twice if the size is not
            divisible (with `drop_last` some are left out); "padded": the same, but missing samples
            repeat the last one and are False in the mask; "exact": every sample once, so that ranks
            may differ by one sample, and by a batch.
        drop_last: drop the last batch if it is not full.
        pad_last: pad the last batch with samples that are False in the mask; None: if the reader
            says so (`pad_last_batch`).
        mask: bool [N] that says which samples are no padding: True yields pairs of batch and mask;
            a string adds the mask under that key to the dict that the definition returns.
        ragged: form of outputs whose samples differ in shape: "list" of tensors, "padded"
            (`Padded`: data and lengths) or "nested" (torch.nested, jagged); for all outputs, or a
            dict from their paths, such as "boxes" or "target.boxes" or "1".
        labels: dense integer outputs with one element per sample become int64 [N]; False: they stay
            as they are, such as int32 [N, 1].
        on_error, max_errors, errors_file: as arguments of Pipeline, for samples that fail; None: as
            the pipeline says. A batch without samples is passed over.
        fill_batches: with on_error="skip": samples of the next batches take the places of those
            that were left out, so that all batches of an epoch but the last one are full. len() is
            then the greatest number of batches. For one pipeline in one process.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong, or contradicts another or a reader.

    Note:
        `shard_id` and `num_shards` of a reader, if they are set, replace rank and number of ranks.
        `stick_to_shard` and the seed of a reader have no effect on the order. An error in a batch
        is raised in its place; the loop may continue with the next batch. One thread at a time.

    Example:
        loader = PipelineLoader(train_pipeline, batch_size=64, pipeline_args={"root": "photos"})
        for epoch in range(10):
            for batch in loader:
                train_step(batch["image"], batch["label"])
    """

    def __init__(
        self,
        pipelines: Pipeline
        | Callable[..., Pipeline]
        | Sequence[Pipeline | Callable[..., Pipeline]],
        *,
        batch_size: int | None = None,
        pipeline_args: Mapping[str, Any] | None = None,
        size: int | None = None,
        reader: str | None = None,
        shuffle: bool | None = None,
        bucket_by: str | None = None,
        bucket_window: int | None = None,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        shards: str = "equal",
        drop_last: bool = False,
        pad_last: bool | None = None,
        mask: bool | str = False,
        ragged: str | Mapping[str, str] | None = None,
        labels: bool = True,
        on_error: str | None = None,
        fill_batches: bool = False,
        max_errors: int | None = None,
        errors_file: str | os.PathLike[str] | None = None,
    ) -> None:
        check_arguments(locals())
        self._rank, self._world_size = rank, world_size
        policy = ErrorPolicy(on_error, max_errors, errors_file)
        self._pipelines = PipelineSet(pipelines, pipeline_args, reader, size, policy)
        self._batch_size = batch_size
        self._shuffle, self._buckets = shuffle, Buckets.of(bucket_by, bucket_window)
        self._seeds = Seeds(seed, generator)
        self._policy, self._drop_last, self._pad_last = shards, drop_last, pad_last
        self._ragged, self._labels, self._fills = ragged, labels, fill_batches
        self._batches = EpochBatches(self._pipelines, mask, self._ranks)
        self._next = Position()  # where the next iter() begins
        self._next_mid_epoch = False  # whether external sources are inside the epoch there
        self._epoch_chosen = False  # set_epoch() was called after the last batch
        self._loaded: dict[str, Any] | None = None  # state that the next iter() continues from
        self._progress: EpochProgress | None = None  # of the last iterator

    # -- epochs

    @property
    def epoch(self) -> int:
        """Number of the current epoch, or of the one that the next iter() begins."""
        return self._position().epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch that the next iter() begins.

        If a state was loaded that is inside this very epoch, iter() continues there. An iterator
        that has not returned a batch yet begins this epoch, too.
        """
        check_integer("epoch", epoch, 0)
        if self._loaded is not None:
            if self._loaded["epoch"] == epoch:
                return
            self._prepare()  # takes the seeds of the state
        progress = self._progress
        if progress is not None and progress.is_unused:
            # Lightning has called iter() already when it sets the epoch.
            if progress.position.epoch != epoch:
                self._next, self._next_mid_epoch = Position(epoch), False
                progress.restart(*self._begin_epoch())
            return
        self._epoch_chosen = True
        if self._next.epoch != epoch or self._next.batches:
            self._next, self._next_mid_epoch = Position(epoch), False

    @property
    def batch_sampler(self) -> SimpleNamespace:
        """Makes ``loader.batch_sampler.sampler.set_epoch(n)`` work, which Lightning calls."""
        return SimpleNamespace(sampler=self)

    @property
    def batch_size(self) -> int:
        """Samples of a batch. A new value takes effect at the next iter()."""
        if self._batch_size is None:
            self._batch_size = self._pipelines.batch_size(None)
        return self._batch_size

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        check_integer("batch_size", batch_size, 1)
        self._batch_size = batch_size

    def __len__(self) -> int:
        """Returns the batches on this rank of the current epoch, or of the next one.

        Raises:
            TypeError: the length of the data is not known: no reader, and no `size`.
        """
        running = self._running
        if running is not None:
            shard = running.shards[0]
        else:
            self._prepare()
            shard = self._shard(self._pipelines.shards(self._ranks())[0])
        if shard is None:
            raise _make(
                ArgumentTypeError,
                "the loader has no length: the number of samples is not known in advance",
                fix="pass `size`",
            )
        return replace(shard, drop_last=bool(self._drop_last)).total_batches

    def __iter__(self) -> EpochIterator:
        """Begins an epoch, or continues from a loaded state; drops what was prefetched."""
        progress = self._progress
        unused = progress is not None and progress.is_unused
        if self._loaded is None and unused and not self._epoch_chosen:
            assert progress is not None
            self._next, self._next_mid_epoch = progress.position, progress.mid_epoch
        self._prepare()
        self._progress = EpochProgress(*self._begin_epoch())
        return EpochIterator(self._next_batch, self.__len__, self._progress)

    def _begin_epoch(self) -> EpochStart:
        """Begins the next epoch; returns the arguments of its EpochProgress."""
        begin, mid_epoch = self._next, self._next_mid_epoch
        shards = [self._shard(ranks) for ranks in self._pipelines.shards(self._ranks())]
        self._pipelines.begin_epoch(shards, mid_epoch, begin)
        self._next, self._next_mid_epoch = Position(begin.epoch + 1), False
        self._epoch_chosen = False
        size, drops, fills = self.batch_size, bool(self._drop_last), self._fills
        return begin, shards, mid_epoch, BatchFiller(size, drops, begin.rows) if fills else None

    def _ranks(self) -> Ranks:
        return find_ranks(self._rank, self._world_size)

    @property
    def _running(self) -> EpochProgress | None:
        """The progress that the loader is at; None if the epoch is over or another was chosen."""
        progress = self._progress
        return None if progress is None or progress.over or self._epoch_chosen else progress

    def _position(self) -> Position:
        running = self._running
        if running is not None:
            before = running.before
            errors = self.error_count if before is None else before.errors
            return replace(running.position, errors=errors)
        if self._loaded is not None:
            return position_of(self._loaded)
        return self._next

    def _prepare(self) -> None:
        """Has the pipelines made, built for the batch size, and brought to the loaded state."""
        loaded, checkpoints = self._loaded, None
        if loaded is not None:
            checkpoints = [Checkpoint.decode(text) for text in loaded["pipelines"]]
            self._seeds.resume(loaded["seed"], checkpoints[0].seed)
        is_new = self._pipelines.prepare(self._batch_size, checkpoints, self._seeds.pipelines)
        if is_new or not self._batches.is_prepared:
            structures = self._pipelines.structures
            self._batches.prepare(
                [OutputConverter(one, self._ragged, self._labels) for one in structures]
            )
            last = {"drop_last": self._drop_last, "pad_last": self._pad_last}
            check_effects(self._pipelines, self._shuffle, self._buckets.by, self._policy, last)
            if self._fills:
                check_filling(self._pipelines, self._ranks(), self._pad_last)
        if loaded is None:
            return
        self._pipelines.check_state(loaded, self._facts(), self._ranks())
        if not self._fills:
            check_whole(loaded)
        self._loaded, self._progress = None, None
        self._next = position_of(loaded)
        self._next_mid_epoch = bool(loaded["within"])

    def _facts(self) -> dict[str, Any]:
        """Returns the facts that the meaning of a position depends on."""
        seed = self._seeds.order(self._pipelines.shards_are_here(self._ranks()))
        facts = {"size": self._pipelines.size, "seed": seed, "shuffle": self._shuffles()}
        return facts | self._buckets.facts

    def _shuffles(self) -> bool:
        return self._pipelines.shuffles if self._shuffle is None else bool(self._shuffle)

    def _shard(self, ranks: Ranks) -> EpochShard | None:
        """Returns the next epoch on a shard; None if its size is not known."""
        size = self._pipelines.size
        if size is None:
            return None
        pads = self._pipelines.pads and not self._drop_last
        return EpochShard(
            size=size,
            begin=self._next,
            shard=ranks.rank,
            num_shards=ranks.world_size,
            batch_size=self.batch_size,
            policy=self._policy,
            drop_last=bool(self._drop_last) and not self._fills,
            pad_last=pads if self._pad_last is None else bool(self._pad_last),
            seed=self._seeds.order(self._pipelines.shards_are_here(self._ranks())),
            shuffle=self._shuffles(),
            buckets=self._buckets,
        )

    # -- batches

    def _next_batch(self, progress: EpochProgress) -> Any:
        """Returns the next batch of an epoch, for its iterator."""
        if progress.over:
            raise StopIteration
        if self._progress is not progress:
            raise _make(
                PipelineError,
                "the loop is over: another iter(), set_epoch() or load_state_dict() came after it",
                fix="make a second PipelineLoader to iterate twice at the same time",
            )
        chosen, self._epoch_chosen = self._epoch_chosen, False
        try:
            return self._batches.next(progress)
        except StopIteration:
            self._epoch_chosen = chosen
            raise

    # -- states

    def state_dict(self) -> dict[str, Any]:
        """Returns where the loader is, after the last batch that it returned; some hundred bytes.

        With data from readers, the state of any rank can be loaded on all ranks, whatever their
        number and the batch size are then.

        Raises:
            PipelineError: there are external sources, and no enable_checkpointing.
        """
        if self._loaded is not None:
            return dict(self._loaded)
        self._prepare()
        running = self._running
        before = None if running is None else running.before
        checkpoints = None if before is None else before.checkpoints
        return write_state(
            self._position(),
            self._facts(),
            mid_epoch=running is not None or self._next_mid_epoch,
            world_size=self._pipelines.shards(self._ranks())[0].world_size,
            pipelines=checkpoints or self._pipelines.snapshots(),
        )

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Has the next iter() continue where state_dict() was called.

        Raises:
            ArgumentTypeError, ArgumentError: it is no such state. A state that does not fit the
                pipelines is found when they are built, by len() or iter().
        """
        self._loaded = read_state(state_dict)
        self._progress, self._epoch_chosen = None, False

    # -- figures and the end

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of samples that failed."""
        return [self._pipelines.bad_samples]

    def stats(self, reset: bool = False) -> PipelineStats | list[PipelineStats]:
        """Returns how the time is spent: see Pipeline.stats().

        Args:
            reset: set the counters to zero after reading them.

        Returns:
            The figures of the pipeline, or a list of them if the loader has a list of pipelines.
        """
        self._prepare()
        return self._pipelines.stats(reset)

    def __torchdali_trace_owners__(self) -> list[int]:
        """Returns the numbers that mark the events of the pipelines in a profile."""
        return self._pipelines.trace_owners()

    def close(self) -> None:
        """Closes the pipelines that the loader has made, and ends the iteration over them."""
        self._progress = None
        self._pipelines.close()
