# SPDX-License-Identifier: Apache-2.0
"""Batches of samples of like length: DataLoader(bucket_by=...). docs/design/bucketing.md."""

from __future__ import annotations

import itertools
import math
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import IterableDataset, RandomSampler, Sampler, SequentialSampler

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["BucketSampler", "bucket_facts", "bucketed_sampler"]

Lengths = Sequence[float] | torch.Tensor | Callable[[int], float]


class BucketSampler(Sampler[int]):
    """Reorders the indices of another sampler so that a batch has samples of like length.

    A window of the order is sorted by length and cut into batches, which are shuffled if the order
    is random. Indices after the last whole batch stay where they are, so that a batch that is
    dropped or short has the samples that it has without it. Nothing is drawn: the order follows
    from that of the other sampler, whose attributes this one has, too.

    Args:
        sampler: yields indices.
        lengths: of the samples, or a function from an index to a length.
        batch_size: of the loader.
        window: batches that are sorted together.
    """

    def __init__(
        self, sampler: Iterable[Any], lengths: Lengths, batch_size: int, window: int
    ) -> None:
        self.sampler, self.lengths = sampler, lengths
        self.batch_size, self.window = batch_size, window

    def __getattr__(self, name: str) -> Any:
        if name == "sampler" or name.startswith("__"):  # of a copy that is not complete
            raise AttributeError(name)
        return getattr(self.sampler, name)

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        indices, size = iter(self.sampler), self.batch_size
        for batches in self._windows():
            part = list(itertools.islice(indices, batches * size))
            whole = len(part) // size * size
            yield from self._sorted(part[:whole])
            yield from part[whole:]
            if whole < batches * size:
                return
        yield from indices

    def _windows(self) -> Iterator[int]:
        """Yields how many batches are sorted together: windows are of equal size if possible."""
        if not hasattr(self.sampler, "__len__"):
            yield from itertools.repeat(self.window)
        whole = len(self) // self.batch_size
        count = -(-whole // self.window)
        for i in range(count):
            yield whole * (i + 1) // count - whole * i // count

    def _sorted(self, indices: list[Any]) -> Iterator[Any]:
        """Yields the indices of whole batches."""
        size = self.batch_size
        in_order = sorted(indices, key=self._length)
        batches: Iterable[int] = range(len(indices) // size)
        if self._is_random:
            generator = torch.Generator()
            generator.manual_seed(zlib.crc32(array("q", map(int, indices)).tobytes()))
            batches = torch.randperm(len(indices) // size, generator=generator).tolist()
        for b in batches:
            yield from in_order[b * size : (b + 1) * size]

    @property
    def _is_random(self) -> bool:
        if isinstance(self.sampler, SequentialSampler):
            return False
        return bool(getattr(self.sampler, "shuffle", True))

    def _length(self, index: Any) -> float:
        lengths = self.lengths
        try:
            length = float(lengths(index) if callable(lengths) else lengths[index])
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise _make(
                ArgumentError,
                f"DataLoader: `bucket_by` has no length of sample {index!r}: {error}",
                fix="pass the length of each sample of the dataset, or a function of its index",
            ) from error
        if math.isnan(length):
            raise _make(ArgumentError, f"DataLoader: `bucket_by` is nan for sample {index!r}")
        return length


def bucketed_sampler(arguments: Mapping[str, Any]) -> BucketSampler:
    """Returns the `sampler` of a loader with `bucket_by`.

    Args:
        arguments: of the loader, by name.

    Raises:
        ArgumentError, ArgumentTypeError: they contradict each other, or a length is missing.
    """
    lengths, window, sampler = (arguments[k] for k in ("bucket_by", "bucket_window", "sampler"))
    dataset, batch_size = arguments["dataset"], arguments["batch_size"]
    if isinstance(window, bool) or not isinstance(window, int):
        raise _make(
            ArgumentTypeError, f"DataLoader: `bucket_window` is {window!r}, expected an integer"
        )
    if window < 1:
        raise _make(ArgumentError, f"DataLoader: `bucket_window` is {window}, expected 1 or more")
    if isinstance(lengths, str) or not (callable(lengths) or hasattr(lengths, "__getitem__")):
        raise _make(
            ArgumentTypeError,
            f"DataLoader: `bucket_by` is {lengths!r}, expected the lengths of all samples, or a "
            "function from an index to a length",
        )
    for name, excluded in {
        "an IterableDataset": isinstance(dataset, IterableDataset),
        "`batch_sampler`": arguments["batch_sampler"] is not None,
        "batch_size=None": batch_size is None,
    }.items():
        if excluded:
            raise _make(
                ArgumentError,
                f"DataLoader: `bucket_by` with {name}: it decides which samples a batch has",
                fix="pass an indexed dataset and a `batch_size`, and a `sampler` if needed",
            )
    if not callable(lengths) and len(lengths) != len(dataset):
        raise _make(
            ArgumentError,
            f"DataLoader: `bucket_by` has {len(lengths)} lengths, the dataset has {len(dataset)} "
            "samples",
        )
    if isinstance(sampler, BucketSampler):  # of a loader that Lightning makes another one of
        return BucketSampler(sampler.sampler, lengths, batch_size, window)
    if sampler is None:
        sampler = (
            RandomSampler(dataset, generator=arguments["generator"])
            if arguments["shuffle"]
            else SequentialSampler(dataset)
        )
    elif arguments["shuffle"]:
        raise _make(
            ArgumentError, "DataLoader: `sampler` and `shuffle` exclude each other, as in torch"
        )
    if hasattr(sampler, "state_dict"):
        raise _make(
            ArgumentError,
            f"DataLoader: `bucket_by` with a {type(sampler).__name__}, which has state_dict(): a "
            "window of its indices is drawn ahead",
            fix="sort inside that sampler, or pass one without a state",
        )
    return BucketSampler(sampler, lengths, batch_size, window)


def bucket_facts(loader: Any) -> list[int] | None:
    """Returns what a state of a loader depends on; None: it has no `bucket_by`."""
    sampler = loader.sampler
    if not isinstance(sampler, BucketSampler):
        return None
    return [sampler.batch_size, sampler.window]
