# SPDX-License-Identifier: Apache-2.0
"""RayLoader: a training loop over a dataset of Ray, through a pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from ray.data import DataIterator, Dataset

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make
from torchdali.loader._dataset.stages import device_stage, in_turn
from torchdali.loader._pipeline.ranks import find_ranks
from torchdali.loader.fields import File, Layout
from torchdali.ray._iteration import BatchIterator, FieldRows, Place
from torchdali.ray._pieces import IteratorRows, Rows, SharedRows
from torchdali.ray._position import Position, read_state, seed_of_rank, write_state
from torchdali.ray._rows import Share
from torchdali.ray._shared import SharedDataset, Shuffle
from torchdali.ray._stage import RowStage, StageOptions

__all__ = ["RayLoader"]

_MOST_ROWS = 1 << 34  # of an epoch, for the numbers of samples


class RayLoader(ListsBadSamples):
    """Yields batches of tensors that a pipeline makes of the rows of a dataset of Ray.

    Every iter() begins the next epoch, whether or not the previous one was finished; an epoch of
    which no batch was taken begins again. `set_epoch` chooses the epoch. After load_state_dict(),
    iter() continues inside the epoch.

    Args:
        data: a ray.data.Dataset, for one process; for several ranks a SharedDataset, which
            ray.train.get_dataset_shard() returns with torchdali.ray.DataConfig. Each row is
            returned once in an epoch, and the state is exact. Also any DataIterator, such as a
            shard of streaming_split(): an epoch has the rows that Ray gives, without a state.
        pipeline: a function that takes a DataNode for each column that its parameters name and
            returns the values of a batch, as for DataLoader(pipeline=): in a tuple, list, dict,
            named tuple or dataclass. Columns that it returns as it got them travel beside the
            engine.
        batch_size: rows of a batch, on each rank.
        drop_last: drop the last batch of all ranks, if there are too few rows for all of them.
        shards: "equal": in the last step, ranks have equally many rows, some of them twice;
            "exact": every row once, so that ranks may differ by one row, and by a batch.
        shuffle: see SharedDataset; for a Dataset.
        size: rows of an epoch on all ranks, for len().
        rank: of this process; None: from torch.distributed, or torchrun's environment, or 0.
        world_size: number of processes, passed together with `rank`.
        prefetch_batches: batches that are asked for ahead, in addition to those that are in the
            engine.
        on_error: what happens to a row that fails: "raise", "skip" (the batch has one sample less)
            or "replace" (by the nearest good one of the batch).
        max_errors: rows of an epoch that may fail, on each rank.
        errors_file: path of a file that each failure is appended to, as a line of JSON.
        device: where batches arrive. Copies to a GPU overlap with its work.
        pipeline_options: arguments of Pipeline, such as `seed` and `device_id`, and
            `enable_conditionals` of pipeline_def. Without `num_threads`, it is the number of CPUs
            of the actor in which the loop runs.
        fields: what columns are: Layout("CHW"), or just "CHW", and File() for strings that are
            paths of files to read. Also as annotations of the parameters.
        name_column: the column by which errors name a row; None: "path", if there is one, else the
            number of the row in the epoch.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.

    Attributes:
        errors, error_count: rows of this epoch that failed, up to the last batch.

    Example:
        def augment(bytes, label):
            image = fn.random_resized_crop(fn.decoders.image(bytes), size=224)
            return {"image": image, "label": label}

        loader = RayLoader(ray.train.get_dataset_shard("train"), augment, batch_size=64)
    """

    def __init__(
        self,
        data: Dataset | SharedDataset | DataIterator,
        pipeline: Callable[..., Any],
        *,
        batch_size: int,
        drop_last: bool = False,
        shards: str = "equal",
        shuffle: Shuffle | None = None,
        size: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        prefetch_batches: int = 2,
        on_error: str = "raise",
        max_errors: int = 100,
        errors_file: str | os.PathLike[str] | None = None,
        device: torch.device | str | int | None = None,
        pipeline_options: Mapping[str, Any] | None = None,
        fields: Mapping[str | int, Layout | File | str] | None = None,
        name_column: str | None = None,
    ) -> None:
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("prefetch_batches", prefetch_batches, 0),
            ("size", 0 if size is None else size, 0),
        ):
            _check_integer(name, value, least)
        if shards not in ("equal", "exact"):
            raise _make(
                ArgumentError,
                f'RayLoader: `shards` is {shards!r}, expected "equal" or "exact"',
            )
        options = StageOptions(
            "RayLoader", pipeline, on_error, max_errors, errors_file, pipeline_options, fields,
            name_column,
        )  # fmt: skip
        self._ranks = find_ranks(rank, world_size)
        self._data = self._readable(data, shuffle)
        self._batch_size, self._drop_last, self._shards = batch_size, drop_last, shards
        self._size, self._ahead = size, prefetch_batches
        several = self._ranks.world_size > 1
        self._stage = RowStage(options, batch_size, must_have_samples=several and shards == "equal")
        moves = device_stage(None if device is None else torch.device(device))
        self._stages: Any = in_turn(self._stage, moves)
        self._seed = self._stage.given_seed
        self._next = Position()  # where the next iter() begins
        self._iterator_place: Place | None = None  # of the last iterator
        self._epoch_chosen = False

    def _readable(self, data: Any, shuffle: Any) -> SharedDataset | DataIterator:
        if isinstance(data, Dataset):
            if self._ranks.world_size > 1:
                raise _make(
                    ArgumentError,
                    "RayLoader: `data` is a Dataset, and each of the "
                    f"{self._ranks.world_size} ranks would read all of it",
                    fix="make a torchdali.ray.SharedDataset in the driver and pass it to the "
                    "ranks, or use torchdali.ray.DataConfig with Ray Train",
                )
            return SharedDataset(data, shuffle)
        if shuffle is not None:
            raise _make(
                ArgumentError,
                f"RayLoader: `shuffle` has no effect on a {type(data).__name__}",
                fix="pass it to SharedDataset or DataConfig",
            )
        if not isinstance(data, (SharedDataset, DataIterator)):
            raise _make(
                ArgumentTypeError,
                f"RayLoader: `data` is a {type(data).__name__}, expected a ray.data.Dataset, a "
                "torchdali.ray.SharedDataset or a ray.data.DataIterator",
            )
        return data

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
        _check_integer("epoch", epoch, 0)
        place = self._iterator_place
        if place is not None and place.is_unused:
            # Lightning has called iter() already when it sets the epoch.
            if place.position.epoch != epoch:
                place.begin(Position(epoch), self._begin(Position(epoch)))
                self._next = Position(epoch + 1)
            return
        self._epoch_chosen = True
        if self._next.epoch != epoch:
            self._next = Position(epoch)

    @property
    def batch_sampler(self) -> SimpleNamespace:
        """Makes ``loader.batch_sampler.sampler.set_epoch(n)`` work, which Lightning calls."""
        return SimpleNamespace(sampler=self)

    @property
    def batch_size(self) -> int:
        """Rows of a batch."""
        return self._batch_size

    def __len__(self) -> int:
        """Returns the batches on this rank of the current epoch, or of the next one.

        Raises:
            TypeError: `size` was not passed.
        """
        if self._size is None:
            raise _make(
                ArgumentTypeError,
                "RayLoader: it has no length: the number of rows is not known in advance",
                fix="pass `size`, such as dataset.count()",
            )
        place = self._iterator_place
        begin = self._next if place is None or place.is_over else place.begun_at
        share = self._share(begin)
        full, rest = divmod(max(self._size - begin.consumed, 0), share.round_rows)
        return begin.batches + full + bool(share.ranges(full, rest))

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch, or continues from a loaded state; drops what was prefetched."""
        place = self._iterator_place
        begin = self._next
        if place is not None and place.is_unused and not self._epoch_chosen:
            begin = place.position
        if place is not None:
            place.end()
        self._epoch_chosen = False
        place = self._iterator_place = Place(begin, self._begin(begin))
        self._next = Position(begin.epoch + 1)
        return BatchIterator(self._stages, place, self._size)

    def _begin(self, begin: Position) -> FieldRows:
        """Has the stages begin at a position; returns the rows from there."""
        ranks = self._ranks
        self._stages.clear()
        seed = seed_of_rank(self._seed_of_run(), ranks.rank, ranks.world_size)
        samples = begin.consumed // ranks.world_size
        self._stage.start_epoch(seed, begin.epoch * _MOST_ROWS + samples)
        self._stage.state.bad_samples.begin_epoch(begin.epoch, begin.errors)
        rows: Rows
        if isinstance(self._data, SharedDataset):
            rows = SharedRows(self._data, self._share(begin), self._ahead)
        else:
            rows = IteratorRows(self._data, self._batch_size, self._drop_last, self._ahead)
        return FieldRows(rows, self._stage, begin)

    def _share(self, begin: Position) -> Share:
        return Share(
            begin.epoch,
            begin.consumed,
            self._ranks.rank,
            self._ranks.world_size,
            self._batch_size,
            bool(self._drop_last),
            self._shards,
        )

    def _seed_of_run(self) -> int:
        """Returns the seed of the random operators, which is drawn when it is first needed."""
        if self._seed is None:
            several = self._ranks.world_size > 1  # their generators may differ
            self._seed = 0 if several else int(torch.randint(1 << 62, ()).item())
        return self._seed

    # -- states

    def _position(self) -> Position:
        place = self._iterator_place
        if place is None or place.is_over or self._epoch_chosen:
            return self._next
        return replace(place.position, errors=self.error_count)

    def state_dict(self) -> dict[str, Any]:
        """Returns where the loader is, after the last batch that it returned: a few numbers.

        The state of any rank can be loaded on all ranks, whatever their number and the batch size
        are then. For exactly the same batches, both stay as they are.

        Raises:
            UnsupportedError: `data` is a DataIterator.
        """
        self._check_has_state()
        return write_state(self._position(), self._seed_of_run())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Has the next iter() continue where state_dict() was called.

        Raises:
            ArgumentError, ArgumentTypeError: it is no such state.
            UnsupportedError: `data` is a DataIterator.
        """
        self._check_has_state()
        position, seed = read_state(state_dict)
        if self._iterator_place is not None:
            self._iterator_place.end()
        self._iterator_place, self._epoch_chosen = None, False
        self._next, self._seed = position, seed

    def _check_has_state(self) -> None:
        if not isinstance(self._data, SharedDataset):
            raise _make(
                UnsupportedError,
                f"RayLoader: a {type(self._data).__name__} has no state: Ray decides while it runs "
                "which rows it returns",
                fix="pass the Dataset, or a torchdali.ray.SharedDataset to several ranks, as "
                "torchdali.ray.DataConfig does",
            )

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of rows that failed."""
        return [self._stage.state.bad_samples]


def _check_integer(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _make(ArgumentTypeError, f"RayLoader: `{name}` is {value!r}, expected an integer")
    if value < least:
        raise _make(ArgumentError, f"RayLoader: `{name}` is {value}, expected at least {least}")
