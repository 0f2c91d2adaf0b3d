# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: what a training loop iterates over, made of pipelines.

How epochs, ranks and states hang together: docs/design/loop.md. DALI's iterators are in plugin/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make
from torchdali.loader._pipeline.epochs import SHARDS, Deal, Position
from torchdali.loader._pipeline.outputs import Outputs, Padded, with_mask
from torchdali.loader._pipeline.pipelines import Pipelines
from torchdali.loader._pipeline.ranks import Ranks, find_ranks
from torchdali.loader._pipeline.state import read_state, write_state
from torchdali.pipeline import Pipeline
from torchdali.pipeline._checkpoint_format import Checkpoint
from torchdali.stats import PipelineStats

__all__ = ["Padded", "PipelineLoader"]


class PipelineLoader:
    """Gives batches of tensors, in the structure that the pipeline's definition returns.

    An epoch is one pass over the data set of the pipeline's reader, dealt out to the ranks as
    torch's DistributedSampler does: a permutation of the whole data set by `seed` and epoch, of
    which each rank has every `world_size`-th sample.

    Every iter() begins a new epoch, whether the one before was finished or left (but one that has
    given nothing yet begins again); what was prefetched for that is dropped. `set_epoch` chooses
    which. After load_state_dict(), iter() goes on inside the epoch.

    Args:
        pipelines: a function under pipeline_def (or another that returns a Pipeline), a Pipeline,
            or a list of those, which run side by side: then a batch is a list with one entry each,
            and each is a shard of its own.
        batch_size: samples of a batch; None: as the pipeline says. An attribute too, which may be
            changed between epochs.
        pipeline_args: keyword arguments for functions in `pipelines`.
        size: samples of an epoch over all ranks, for pipelines without a reader. None: the epoch
            ends with the data of the external sources, and there is no len().
        reader: name of the reader whose data set an epoch goes over, where there are several of
            different sizes.
        shuffle: permute the samples in each epoch; None: where the reader says so
            (`random_shuffle`, `shuffle_after_epoch`).
        seed: of the permutations, the same on all ranks.
        rank: of this process; None: from torch.distributed, or torchrun's environment, or 0.
        world_size: number of processes, given together with `rank`.
        shards: "equal": ranks have equally many samples, some twice where they do not divide (with
            `drop_last` some are left out); "padded": the same, but what is missing repeats the last
            sample and is False in the mask; "exact": every sample once, so that ranks may differ
            by one sample, and by a batch.
        drop_last: leave the last batch out where it is not full.
        pad_last: fill the last batch up, by samples that are False in the mask; None: where the
            reader says so (`pad_last_batch`).
        mask: bool [N] that says which samples are no padding: True gives pairs of batch and mask, a
            string adds the mask under that key to the dict that the definition returns.
        ragged: form of outputs whose samples differ in shape: "list" of tensors, "padded"
            (`Padded`: data and lengths) or "nested" (torch.nested, jagged); for all outputs, or a
            dict from their paths, such as "boxes" or "target.boxes" or "1".
        labels: dense integer outputs with one element a sample become int64 [N]; False: they stay
            as they are, e.g. int32 [N, 1].

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong, or contradicts another or a reader.

    Note:
        Readers whose own `shard_id` and `num_shards` are given keep these as rank and number of
        ranks. Their `stick_to_shard` and seeds have no effect on the order. An error in a batch is
        raised where it would come; the loop may go on with the one after it. One thread at a time.

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
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        shards: str = "equal",
        drop_last: bool = False,
        pad_last: bool | None = None,
        mask: bool | str = False,
        ragged: str | Mapping[str, str] | None = None,
        labels: bool = True,
    ) -> None:
        if shards not in SHARDS:
            known = ", ".join(f'"{name}"' for name in SHARDS)
            raise _make(ArgumentError, f"`shards` is {shards!r}, expected one of {known}")
        if not isinstance(mask, (bool, str)):
            raise _make(ArgumentTypeError, f"`mask` is {mask!r}, expected a bool or a string")
        if drop_last and pad_last:
            raise _make(ArgumentError, "`drop_last` and `pad_last` exclude each other")
        _check_integer("seed", seed, 0)
        for name, value in {"batch_size": batch_size, "size": size}.items():
            if value is not None:
                _check_integer(name, value, 1)
        if rank is not None or world_size is not None:
            find_ranks(rank, world_size)
        self._rank, self._world_size = rank, world_size
        self._pipelines = Pipelines(pipelines, pipeline_args, reader, size)
        self._batch_size = batch_size
        self._shuffle, self._seed = shuffle, seed
        self._shards, self._drop_last, self._pad_last = shards, drop_last, pad_last
        self._mask, self._ragged, self._labels = mask, ragged, labels
        self._next = Position()  # where the next iter() begins
        self._goes_on = False  # there: inside an epoch of external sources
        self._chosen = False  # by set_epoch(), since the loop began
        self._state: dict[str, Any] | None = None  # loaded, and not used yet
        self._loop: _Loop | None = None  # whose position is the loader's
        self._outputs: list[Outputs] = []

    # -- epochs

    @property
    def epoch(self) -> int:
        """Number of the epoch that runs, or that the next iter() begins."""
        return self._position().epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch that the next iter() begins.

        Where a state was loaded that lies inside this very epoch, iter() goes on there. A loop that
        has not given a batch yet is the next one still, and begins there.
        """
        _check_integer("epoch", epoch, 0)
        if self._state is not None:
            if self._state["epoch"] == epoch:
                return
            self._ready()  # for its seeds
        loop = self._loop
        if loop is not None and loop.unused:
            # Lightning has called iter() already when it says which epoch that is.
            if loop.position.epoch != epoch:
                self._next, self._goes_on = Position(epoch), False
                self._begin(loop)
            return
        self._chosen = True
        if self._next.epoch != epoch or self._next.batches:
            self._next, self._goes_on = Position(epoch), False

    @property
    def batch_sampler(self) -> SimpleNamespace:
        """What Lightning looks for: ``loader.batch_sampler.sampler.set_epoch(n)``."""
        return SimpleNamespace(sampler=self)

    @property
    def batch_size(self) -> int:
        """Samples of a batch; a new value holds from the next iter() on."""
        if self._batch_size is None:
            self._batch_size = self._pipelines.batch_size(None)
        return self._batch_size

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        _check_integer("batch_size", batch_size, 1)
        self._batch_size = batch_size

    def __len__(self) -> int:
        """Returns the batches of the epoch that runs, or that the next iter() begins, on this rank.

        Raises:
            TypeError: the length of the data is not known: no reader, and no `size`.
        """
        if self._runs:
            assert self._loop is not None
            deal = self._loop.deal
        else:
            self._ready()
            deal = self._deal(self._pipelines.shards(self._ranks())[0])
        if deal is None:
            raise _make(
                ArgumentTypeError,
                "the loader has no length: the number of samples is not known in advance",
                fix="give `size`",
            )
        return deal.total_batches

    def __iter__(self) -> _Loop:
        """Begins an epoch, or goes on where a loaded state says; drops what was prefetched."""
        loop = self._loop
        if self._state is None and loop is not None and loop.unused and not self._chosen:
            self._next, self._goes_on = loop.position, loop.goes_on
        self._ready()
        self._loop = _Loop(self)
        self._begin(self._loop)
        return self._loop

    def _begin(self, loop: _Loop) -> None:
        deals = [self._deal(shard) for shard in self._pipelines.shards(self._ranks())]
        self._pipelines.restart(deals, self._goes_on)
        loop.begin(self._next, deals, self._goes_on)
        self._next, self._goes_on, self._chosen = Position(self._next.epoch + 1), False, False

    def _ranks(self) -> Ranks:
        return find_ranks(self._rank, self._world_size)

    @property
    def _runs(self) -> bool:
        """Whether the loop says where the loader is: it is not over, and no epoch was chosen."""
        return self._loop is not None and not self._loop.over and not self._chosen

    def _position(self) -> Position:
        if self._runs:
            assert self._loop is not None
            return self._loop.position
        if self._state is not None:
            return Position(*(self._state[key] for key in ("epoch", "consumed", "batches")))
        return self._next

    def _ready(self) -> None:
        """Has the pipelines made, built for the batch size, and at the state that was loaded."""
        state, checkpoints = self._state, None
        if state is not None:
            checkpoints = [Checkpoint.decode(text) for text in state["pipelines"]]
        if self._pipelines.prepare(self._batch_size, checkpoints) or not self._outputs:
            self._outputs = [
                Outputs(structure, self._ragged, self._labels)
                for structure in self._pipelines.structures
            ]
        if state is None:
            return
        self._pipelines.check_state(state, self._facts(), self._ranks())
        self._state, self._loop = None, None
        self._next = Position(state["epoch"], state["consumed"], state["batches"])
        self._goes_on = bool(state["within"])

    def _facts(self) -> dict[str, Any]:
        """Returns what the meaning of a position depends on."""
        return {
            "size": self._pipelines.size,
            "seed": self._seed,
            "shuffle": self._shuffles(),
        }

    def _shuffles(self) -> bool:
        return self._pipelines.shuffles if self._shuffle is None else bool(self._shuffle)

    def _deal(self, shard: Ranks) -> Deal | None:
        size = self._pipelines.size
        if size is None:
            return None
        pads = self._pipelines.pads and not self._drop_last
        return Deal(
            size=size,
            begin=self._next,
            shard=shard.rank,
            num_shards=shard.world_size,
            batch_size=self.batch_size,
            policy=self._shards,
            drop_last=bool(self._drop_last),
            pad_last=pads if self._pad_last is None else bool(self._pad_last),
            seed=self._seed,
            shuffle=self._shuffles(),
        )

    def _convert(self, number: int, leaves: Sequence[Any], deal: Deal | None, taken: int) -> Any:
        """Returns what the user gets of one pipeline's batch."""
        count = len(leaves[0])
        valid = [True] * count
        if deal is not None:
            valid = deal.valid(taken)[:count]
            count = len(valid)
        batch = self._outputs[number].batch(leaves, count)
        return with_mask(batch, valid, self._mask)

    # -- states

    def state_dict(self) -> dict[str, Any]:
        """Returns where the loader is, behind the last batch that it gave; some hundred bytes.

        With data from readers, the state of any rank serves all ranks, whatever their number and
        the batch size when it is loaded.

        Raises:
            PipelineError: there are external sources, and no enable_checkpointing.
        """
        if self._state is not None:
            return dict(self._state)
        self._ready()
        return write_state(
            self._position(),
            self._facts(),
            within=self._runs or self._goes_on,
            world_size=self._pipelines.shards(self._ranks())[0].world_size,
            pipelines=self._pipelines.snapshots(),
        )

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Has the next iter() go on where state_dict() was called.

        Raises:
            ArgumentTypeError, ArgumentError: it is no such state. What does not fit the pipelines
                is found when they are built, by len() or iter().
        """
        self._state = read_state(state_dict)
        self._loop, self._chosen = None, False

    def stats(self, reset: bool = False) -> PipelineStats | list[PipelineStats]:
        """Returns where the time goes: see Pipeline.stats().

        Args:
            reset: begin to count anew, behind what is returned.

        Returns:
            The figures of the pipeline, or a list of them where the loader has a list of pipelines.
        """
        self._ready()
        stats: PipelineStats | list[PipelineStats] = self._pipelines.stats(reset)
        return stats

    def __torchdali_trace_owners__(self) -> list[int]:
        """Returns the numbers that mark the events of the pipelines in a profile."""
        return self._pipelines.trace_owners()

    def close(self) -> None:
        """Ends the pipelines that the loader has made, and the loop over them."""
        self._loop = None
        self._pipelines.close()


class _Loop:
    """One pass over an epoch, or over what is left of it."""

    def __init__(self, loader: PipelineLoader) -> None:
        self._loader = loader
        self._deals: Sequence[Deal | None] = ()
        self._taken = 0
        self._begin = Position()
        self.goes_on = False
        self.over = False

    def begin(self, position: Position, deals: Sequence[Deal | None], goes_on: bool) -> None:
        """Begins at a position; `goes_on`: external sources are inside the epoch."""
        self._begin, self._deals, self.goes_on = position, deals, goes_on

    @property
    def unused(self) -> bool:
        """Whether it has given nothing yet."""
        return not self._taken and not self.over

    @property
    def deal(self) -> Deal | None:
        """The epoch as the first pipeline sees it."""
        return self._deals[0]

    @property
    def position(self) -> Position:
        """Behind the last batch."""
        if not self._taken:
            return self._begin
        if self.deal is not None:
            return self.deal.behind(self._taken - 1)
        return Position(self._begin.epoch, 0, self._begin.batches + self._taken)

    def __iter__(self) -> _Loop:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        loader = self._loader
        if self.over:
            raise StopIteration
        if loader._loop is not self:
            raise _make(
                PipelineError,
                "the loop is over: another iter(), set_epoch() or load_state_dict() came after it",
                fix="make a second PipelineLoader to iterate twice at the same time",
            )
        if self.deal is not None and self._taken >= max(d.batches for d in self._deals if d):
            self._end()
        number = self._taken
        loader._chosen = False
        try:
            outputs = loader._pipelines.run(number, self._deals)
        except StopIteration:
            self._end()
        except Exception:
            self._taken += 1  # it comes no more
            raise
        self._taken += 1
        made = [loader._convert(i, leaves, self._deals[i], number) for i, leaves in outputs]
        return made if loader._pipelines.many else made[0]

    def _end(self) -> None:
        self.over = True
        raise StopIteration


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _make(ArgumentTypeError, f"`{name}` is {value!r}, expected an integer")
    if value < least:
        raise _make(ArgumentError, f"`{name}` is {value}, expected {least} or more")
