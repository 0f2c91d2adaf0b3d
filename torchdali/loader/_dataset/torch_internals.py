# SPDX-License-Identifier: Apache-2.0
"""The names of torch that are not public and that DataLoader uses. No other file uses them.

torchdali.DataLoader derives from torch's class, so that its checks, samplers, warnings and lengths
are torch's own. Only what iterates is replaced, and that part of torch has no public interface.
tests/loader/test_torch_internals.py checks the names against the torch that is installed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

try:
    from torch._utils import ExceptionWrapper
    from torch.utils.data._utils import collate as torch_collate
    from torch.utils.data._utils import worker as torch_worker
    from torch.utils.data._utils.pin_memory import pin_memory
    from torch.utils.data.dataloader import (
        _BaseDataLoaderIter,
        _DatasetKind,
        _sharding_worker_init_fn,
    )
except ImportError as error:
    raise ImportError(
        f"torchdali.DataLoader does not work with torch {torch.__version__}: {error}\n"
        "  To fix it: install a version of torch that torchdali was tested with, or upgrade "
        "torchdali"
    ) from error

__all__ = [
    "BaseIterator",
    "ExceptionWrapper",
    "drop_iterator",
    "index_sampler",
    "is_iterable",
    "makes_batches",
    "reported_length",
    "set_reported_length",
    "set_worker_info",
    "sharding_init",
    "torch_collate",
    "torch_worker",
    "worker_info",
    "worker_numpy_seed",
]

# Versions whose source was checked for the names below.
CHECKED_VERSIONS = ("2.8", "2.9", "2.10", "2.11", "2.12", "2.13", "2.14")

# What is used of a loader, and of the base class of its iterators.
LOADER_ATTRIBUTES = (
    "_IterableDataset_len_called",
    "_auto_collation",
    "_dataset_kind",
    "_get_iterator",  # overridden by DataLoader
    "_index_sampler",
    "_iterator",
    "check_worker_number_rationality",
)
ITERATOR_ATTRIBUTES = (
    "_base_seed",
    "_collate_fn",
    "_dataset",
    "_next_data",
    "_num_workers",
    "_num_yielded",
    "_persistent_workers",
    "_pin_memory",
    "_pin_memory_device",
    "_rank",
    "_reset",
    "_sampler_iter",
    "_shared_seed",
    "_world_size",
)


# -- of a loader


def is_iterable(loader: Any) -> bool:
    """Returns whether the dataset of a loader is iterated over."""
    return bool(loader._dataset_kind == _DatasetKind.Iterable)


def makes_batches(loader: Any) -> bool:
    """Returns whether a loader collates samples into batches."""
    return bool(loader._auto_collation)


def index_sampler(loader: Any) -> Any:
    """Returns what a loader draws indices, or lists of them, from."""
    return loader._index_sampler


def reported_length(loader: Any) -> int | None:
    """Returns what len() of an iterable dataset said when len() of its loader was called."""
    length: int | None = loader._IterableDataset_len_called
    return length


def set_reported_length(loader: Any, length: int | None) -> None:
    """Sets what reported_length() returns."""
    loader._IterableDataset_len_called = length


def drop_iterator(loader: Any) -> None:
    """Drops the iterator that a loader with persistent workers keeps."""
    loader._iterator = None


# -- of an iterator


class BaseIterator(_BaseDataLoaderIter):
    """Draws seeds, shards data pipes, counts batches and warns, as torch's iterators do.

    A subclass implements next_batch(). torch calls begin_epoch() for the second epoch and later
    ones, if workers are persistent.

    Args:
        loader: a DataLoader.
    """

    _base_seed: Any
    _num_yielded: int
    _shared_seed: int | None

    def next_batch(self) -> Any:
        """Returns the next batch for the user; raises StopIteration at the end of the epoch."""
        raise NotImplementedError

    def begin_epoch(self, loader: Any, first: bool) -> None:
        """Begins an epoch; `first`: it is the first one of this iterator."""
        super()._reset(loader, first)

    def _next_data(self) -> Any:
        return self.next_batch()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self.begin_epoch(loader, first_iter)

    @property
    def dataset(self) -> Any:
        """The dataset; a data pipe is seeded."""
        return self._dataset

    @property
    def collate(self) -> Callable[[Any], Any]:
        """Makes a batch of samples."""
        return self._collate_fn

    @property
    def num_workers(self) -> int:
        """Number of workers; 0: none."""
        return self._num_workers

    @property
    def has_persistent_workers(self) -> bool:
        """Whether workers are kept for the next epoch."""
        return self._persistent_workers

    @property
    def base_seed(self) -> Any:
        """The seed of worker 0, drawn for each epoch."""
        return self._base_seed

    @base_seed.setter
    def base_seed(self, seed: Any) -> None:
        self._base_seed = seed

    @property
    def shared_seed(self) -> int | None:
        """The seed of a data pipe on all ranks; None for other datasets."""
        return self._shared_seed

    @shared_seed.setter
    def shared_seed(self, seed: int | None) -> None:
        self._shared_seed = seed
        if seed is not None:
            generator = torch.Generator()
            generator.manual_seed(seed)
            apply: Any = torch.utils.data.graph_settings.apply_random_seed
            self._dataset = apply(self._dataset, generator)

    @property
    def sampler_iterator(self) -> Iterator[Any]:
        """The iterator over index_sampler() that torch has made for the epoch."""
        iterator: Iterator[Any] = self._sampler_iter
        return iterator

    def set_batches_given(self, count: int) -> None:
        """Sets how many batches of the epoch the user has, which torch counts from there on."""
        self._num_yielded = count

    @property
    def pins_memory(self) -> bool:
        """Whether batches are copied to page-locked memory."""
        return self._pin_memory

    def pinned(self, data: Any) -> Any:
        """Returns a batch, in page-locked memory if the loader asks for it."""
        if not self._pin_memory:
            return data
        pin: Any = pin_memory
        return pin(data, self._pin_memory_device)

    @property
    def shards(self) -> tuple[int, int]:
        """Number of ranks, and the rank of this process, which data pipes are sharded by."""
        return self._world_size, self._rank


# -- in a worker


def sharding_init(
    init: Callable[[int], None] | None, world_size: int, rank: int
) -> Callable[[int], None]:
    """Returns a worker_init_fn that also shards a data pipe over ranks and workers."""
    return functools.partial(_sharding_worker_init_fn, init, world_size, rank)


def worker_info(**fields: Any) -> Any:
    """Returns torch's WorkerInfo. Fields that this version of torch does not have are left out."""
    try:
        return torch_worker.WorkerInfo(**fields)
    except TypeError:  # versions without worker threads
        fields.pop("worker_method", None)
        return torch_worker.WorkerInfo(**fields)


def set_worker_info(info: Any) -> None:
    """Sets what torch.utils.data.get_worker_info() returns in this process."""
    torch_worker._worker_info = info


def worker_numpy_seed(base_seed: int, worker: int) -> Any:
    """Returns the seed of NumPy's global generator in a worker."""
    generate: Any = torch_worker._generate_state
    return generate(base_seed, worker)
