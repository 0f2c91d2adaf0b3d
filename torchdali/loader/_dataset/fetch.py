# SPDX-License-Identifier: Apache-2.0
"""Fetches samples from a dataset, in a worker or in the process, and handles those that fail."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchdali._common.bad_samples import Noted
from torchdali.errors import ArgumentError, FileError, _make
from torchdali.loader._dataset.resuming import num_readers
from torchdali.loader._dataset.torch_internals import is_iterable, makes_batches

__all__ = [
    "NO_SAMPLES",
    "Cancelled",
    "FetchOptions",
    "Fetcher",
    "SampleErrors",
    "collate_good",
    "is_stateful",
    "plain_state",
]


def is_stateful(value: Any) -> bool:
    """Returns whether an object has state_dict() and load_state_dict()."""
    return callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None)
    )


def plain_state(value: Any) -> Any:
    """Returns the state of an object, None if it has none."""
    return value.state_dict() if is_stateful(value) else None


class _NoSamples:
    """The value of a batch of which no sample could be read. It survives pickling."""

    def __reduce__(self) -> str:
        return "NO_SAMPLES"


NO_SAMPLES = _NoSamples()


@dataclass(frozen=True)
class FetchOptions:
    """The options of a loader that fetching depends on.

    Attributes:
        iterable: whether the dataset is iterated over.
        batched: whether samples are collated into batches.
        batch_size: samples of a batch of an iterable dataset.
        drop_last: whether the last batch of an iterable dataset is dropped if it is not full.
        on_error: "raise", "skip" or "replace".
        max_errors: how many samples of an epoch may fail.
        batches_per_state: after how many batches a worker sends its state; None: never.
    """

    iterable: bool
    batched: bool
    batch_size: int
    drop_last: bool
    on_error: str
    max_errors: int
    batches_per_state: int | None

    @classmethod
    def of(cls, loader: Any) -> FetchOptions:
        """Returns those of a DataLoader."""
        steps = loader.snapshot_every_n_steps
        return cls(
            iterable=is_iterable(loader),
            batched=makes_batches(loader),
            batch_size=loader.batch_size or 1,
            drop_last=loader.drop_last,
            on_error=loader.on_error,
            max_errors=loader.max_errors,
            batches_per_state=max(1, steps // num_readers(loader)) if steps else None,
        )


@dataclass
class SampleErrors(Noted):
    """Samples of a batch that could not be read. They are counted once, whatever interrupts it.

    Attributes:
        records: of each: index in the batch, where it is from, class and text of its exception.
        first: the first one, with the traceback.
    """

    records: list[tuple[int, str, str, str]] = field(default_factory=list)
    first: str = ""

    @property
    def count(self) -> int:
        """Number of those samples."""
        return len(self.records)

    def note(self, sample: int, where: str, error: Exception) -> None:
        """Adds an exception that is being handled."""
        self.records.append((sample, where, type(error).__name__, str(error)))
        if not self.first:
            self.first = f"{where}: {traceback.format_exc().rstrip()}"


class Cancelled(BaseException):
    """The worker has to end; the rest of its batch is not needed."""


class Fetcher:
    """Fetches the samples of one epoch of one worker.

    Args:
        dataset: of the user.
        options: of the loader.
        collate: called with the samples of a batch, or with one sample if there are no batches.
        state: the state() of an earlier fetcher to continue from; None: the beginning.
        is_cancelled: asked before each sample; Cancelled is raised if it returns True.
    """

    def __init__(
        self,
        dataset: Any,
        options: FetchOptions,
        collate: Callable[[Any], Any],
        state: Any = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._dataset, self._options, self._collate = dataset, options, collate
        self._is_cancelled = is_cancelled
        state = state or {}
        # An iterator that has ended with its last batch may be ready for the next epoch already.
        self._ended: bool = state.get("ended", False)
        self._batches: int = 0
        self._taken: int = 0  # samples of an iterable
        self._iterator: Iterator[Any] | None = None
        # The dataset comes first: an iterator may take its position from it.
        if state.get("dataset") is not None and is_stateful(dataset):
            dataset.load_state_dict(state["dataset"])
        if options.iterable:
            self._iterator = iter(dataset)
            self._batches = state.get("batches", 0)
            batch_size = options.batch_size if options.batched else 1
            self._taken = state.get("samples", self._batches * batch_size)
            if state.get("iterator") is not None and is_stateful(self._iterator):
                resumed: Any = self._iterator
                resumed.load_state_dict(state["iterator"])
            elif not is_stateful(dataset):
                self._skip(self._taken)
        for indices in state.get("since", ()):
            self._repeat(indices)

    @property
    def has_state(self) -> bool:
        """Whether a new fetcher needs the state() of this one to continue."""
        return self._options.iterable or is_stateful(self._dataset)

    def state(self) -> dict[str, Any]:
        """Returns the position in the epoch."""
        separate = self._iterator is not self._dataset
        return {
            "dataset": plain_state(self._dataset) if separate else None,
            "iterator": plain_state(self._iterator),
            "batches": self._batches,
            "samples": self._taken,
            "ended": self._ended,
        }

    def state_to_send(self) -> dict[str, Any] | None:
        """Returns state() after some batches, None after the others."""
        every = self._options.batches_per_state
        due = self.has_state and every is not None and self._batches % every == 0
        return self.state() if due else None

    def _repeat(self, indices: Any) -> None:
        """Fetches the samples of a batch that was returned after the state was taken."""
        try:
            self.samples(indices, SampleErrors())
        except Exception:  # as it was then
            return

    def _skip(self, count: int) -> None:
        """Skips samples of an iterable that were returned before.

        Raises:
            ArgumentError: there are fewer of them.
        """
        for i in self._until_cancelled(range(count)):
            if not self._has_next():
                raise _make(
                    ArgumentError,
                    f"load_state_dict(): the state is after {self._batches} batches, and the "
                    f"dataset of this loader ends after {i} samples",
                    fix="resume with the dataset that the state was made with",
                )

    def _has_next(self) -> bool:
        assert self._iterator is not None
        while True:
            try:
                next(self._iterator)
            except StopIteration:
                return False
            except Exception:
                if self._options.on_error == "raise":
                    raise
            else:
                return True

    def samples(self, indices: Any, errors: SampleErrors) -> Any:
        """Returns the samples of a batch, or NO_SAMPLES.

        Args:
            indices: of a batch, or of a sample if there are no batches; None for an iterable.
            errors: counts the samples that fail.

        Raises:
            StopIteration: an iterable has ended.
        """
        if self._options.iterable:
            found = self._next_samples(errors)
        elif self._options.on_error == "raise":
            found = self._samples(indices)
        else:
            found = self._good_samples(indices, errors)
        count = len(found) if self._options.batched and self._options.iterable else 1
        self._batches, self._taken = self._batches + 1, self._taken + count
        return found

    def fetch(self, indices: Any, errors: SampleErrors) -> Any:
        """Returns a batch, or NO_SAMPLES; see samples()."""
        found = self.samples(indices, errors)
        if found is NO_SAMPLES:
            return found
        return collate_good(self._collate, found, errors, self._options.on_error)

    def _samples(self, indices: Any) -> Any:
        dataset = self._dataset
        if not self._options.batched:
            return dataset[indices]
        if getattr(dataset, "__getitems__", None):
            return dataset.__getitems__(indices)
        return [dataset[index] for index in self._until_cancelled(indices)]

    def _until_cancelled(self, items: Iterable[Any]) -> Iterable[Any]:
        """Returns items, or an iterator over them that raises Cancelled when it is to."""
        return items if self._is_cancelled is None else self._check_before(items)

    def _check_before(self, items: Iterable[Any]) -> Iterator[Any]:
        assert self._is_cancelled is not None
        for item in items:
            if self._is_cancelled():
                raise Cancelled
            yield item

    def _good_samples(self, indices: Any, errors: SampleErrors) -> Any:
        if not self._options.batched:
            found = self._good([indices], errors)
            return found[0] if found else NO_SAMPLES
        if getattr(self._dataset, "__getitems__", None):
            try:
                return self._dataset.__getitems__(indices)
            except Exception:
                if not hasattr(self._dataset, "__getitem__"):
                    raise
        return self._good(list(indices), errors) or NO_SAMPLES

    def _good(self, indices: Sequence[Any], errors: SampleErrors) -> list[Any]:
        """Returns the samples that can be read.

        With "replace", the previous sample takes the place of one that fails, or the first good one
        if there is none before it.
        """
        found: list[Any] = []
        missing = 0
        for sample, index in enumerate(self._until_cancelled(indices)):
            try:
                found.append(self._dataset[index])
            except Exception as error:
                errors.note(sample, f"index {index!r}", error)
                if self._options.on_error == "replace":
                    if found:
                        found.append(found[-1])
                    else:
                        missing += 1
        return found[:1] * missing + found

    def _next_samples(self, errors: SampleErrors) -> Any:
        options = self._options
        if self._ended:
            raise StopIteration
        if not options.batched:
            return self._next(errors, 0)
        samples: list[Any] = []
        try:
            for sample in self._until_cancelled(range(options.batch_size)):
                samples.append(self._next(errors, sample))  # noqa: PERF401 (it may raise StopIteration)
        except StopIteration:
            self._ended = True
        if not samples or (options.drop_last and len(samples) < options.batch_size):
            raise StopIteration
        return samples

    def _next(self, errors: SampleErrors, sample: int) -> Any:
        assert self._iterator is not None
        while True:
            try:
                return next(self._iterator)
            except StopIteration:
                raise
            except Exception as error:
                # Without the limit, an iterator that always fails would loop forever.
                if self._options.on_error == "raise" or errors.count > self._options.max_errors:
                    raise
                errors.note(sample, "the next sample", error)


def collate_good(
    collate: Callable[[Any], Any], samples: Any, errors: SampleErrors, on_error: str
) -> Any:
    """Returns a batch of the samples whose files can be read, or NO_SAMPLES.

    Args:
        collate: makes a batch; it may read files that samples name.
        samples: of a batch.
        errors: gets those that cannot be read.
        on_error: of the loader.
    """
    if on_error == "raise" or not isinstance(samples, list):
        return collate(samples)
    bad = {record[0] for record in errors.records} if on_error == "skip" else set()
    # The index in the batch of each sample that is left.
    places = [place for place in range(len(samples) + len(bad)) if place not in bad]
    good, missing = list(samples), set()
    while good:
        try:
            return collate(good)
        except FileError as error:
            if error.sample is None:
                raise
            place = places[error.sample]
            errors.note(place, error.source or f"sample {place}", error)
            if on_error == "skip":
                del good[error.sample], places[error.sample]
                continue
            missing.add(error.sample)
            found = [i for i in range(len(good)) if i not in missing]
            if not found:
                break
            for i in missing:
                before = [j for j in found if j < i]
                good[i] = good[before[-1] if before else found[0]]
    return NO_SAMPLES
