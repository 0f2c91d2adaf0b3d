# SPDX-License-Identifier: Apache-2.0
"""Samples out of a dataset, in a worker or without one, and what is done about those that fail."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["NOTHING", "Errors", "Fetcher", "Kind", "is_stateful", "plain_state"]


def is_stateful(value: Any) -> bool:
    """Returns whether something can say where it is, and be brought there."""
    return callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None)
    )


def plain_state(value: Any) -> Any:
    """Returns the state of something, None where it has none."""
    return value.state_dict() if is_stateful(value) else None


class _Nothing:
    """No sample of a batch could be read."""

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()


@dataclass(frozen=True)
class Kind:
    """How a loader fetches.

    Attributes:
        iterable: whether the dataset is iterated over.
        batched: whether samples are collated into batches.
        batch_size: samples of a batch of an iterable dataset.
        drop_last: whether an iterable dataset's last batch is left out where it is not full.
        on_error: "raise", "skip" or "replace".
        max_errors: so many samples may fail.
    """

    iterable: bool
    batched: bool
    batch_size: int
    drop_last: bool
    on_error: str
    max_errors: int


@dataclass
class Errors:
    """Samples that could not be read: how many, and what the first of them said."""

    count: int = 0
    first: str = ""

    def note(self, where: str) -> None:
        """Notes the exception that is handled."""
        self.count += 1
        if not self.first:
            self.first = f"{where}: {traceback.format_exc().rstrip()}"


class Fetcher:
    """The samples of one epoch of one worker.

    Args:
        dataset: the user's.
        kind: see Kind.
        collate: called with the samples of a batch, or with one sample.
        state: where to begin: of an earlier fetcher's state().
    """

    def __init__(
        self, dataset: Any, kind: Kind, collate: Callable[[Any], Any], state: Any = None
    ) -> None:
        self._dataset, self._kind, self._collate = dataset, kind, collate
        state = state or {}
        # It may have ended with its last batch, and then be ready for the next epoch.
        self._ended: bool = state.get("ended", False)
        self._batches: int = 0
        self._iterator: Iterator[Any] | None = None
        # The order matters: an iterator may take its place from its dataset.
        if state.get("dataset") is not None and is_stateful(dataset):
            dataset.load_state_dict(state["dataset"])
        if not kind.iterable:
            return
        self._iterator = iter(dataset)
        self._batches = state.get("batches", 0)
        if state.get("iterator") is not None and is_stateful(self._iterator):
            self._iterator.load_state_dict(state["iterator"])  # type: ignore[union-attr]
        elif not is_stateful(dataset):
            self._skip(self._batches)

    @property
    def has_state(self) -> bool:
        """Whether a new one without its state() would give something else."""
        return self._kind.iterable or is_stateful(self._dataset)

    def state(self) -> dict[str, Any]:
        """Returns where it is."""
        own = self._iterator is not self._dataset
        return {
            "dataset": plain_state(self._dataset) if own else None,
            "iterator": plain_state(self._iterator),
            "batches": self._batches,
            "ended": self._ended,
        }

    def _skip(self, batches: int) -> None:
        """Goes over batches that were given before."""
        count = self._kind.batch_size if self._kind.batched else 1
        for _ in range(batches):
            for _ in range(count):
                if not self._has_next():
                    return

    def _has_next(self) -> bool:
        assert self._iterator is not None
        while True:
            try:
                next(self._iterator)
            except StopIteration:
                return False
            except Exception:
                if self._kind.on_error == "raise":
                    raise
            else:
                return True

    def samples(self, indices: Any, errors: Errors) -> Any:
        """Returns the samples of a batch, or NOTHING.

        Args:
            indices: of a batch, or of the sample where there are no batches; None for an iterable.
            errors: what fails is noted there.

        Raises:
            StopIteration: an iterable has ended.
        """
        if self._kind.iterable:
            found = self._next_samples(errors)
        elif self._kind.on_error == "raise":
            found = self._samples(indices)
        else:
            found = self._good_samples(indices, errors)
        self._batches += 1
        return found

    def fetch(self, indices: Any, errors: Errors) -> Any:
        """Returns a batch; see samples()."""
        found = self.samples(indices, errors)
        return found if found is NOTHING else self._collate(found)

    def _samples(self, indices: Any) -> Any:
        dataset = self._dataset
        if not self._kind.batched:
            return dataset[indices]
        if getattr(dataset, "__getitems__", None):
            return dataset.__getitems__(indices)
        return [dataset[index] for index in indices]

    def _good_samples(self, indices: Any, errors: Errors) -> Any:
        if not self._kind.batched:
            found = self._good([indices], errors)
            return found[0] if found else NOTHING
        if getattr(self._dataset, "__getitems__", None):
            try:
                return self._dataset.__getitems__(indices)
            except Exception:
                if not hasattr(self._dataset, "__getitem__"):
                    raise
        return self._good(list(indices), errors) or NOTHING

    def _good(self, indices: Sequence[Any], errors: Errors) -> list[Any]:
        """Returns the samples that can be read; in the place of another the last one before it."""
        found: list[Any] = []
        missing = 0
        for index in indices:
            try:
                found.append(self._dataset[index])
            except Exception:
                errors.note(f"index {index!r}")
                if self._kind.on_error == "replace":
                    if found:
                        found.append(found[-1])
                    else:
                        missing += 1
        return found[:1] * missing + found

    def _next_samples(self, errors: Errors) -> Any:
        if self._ended:
            raise StopIteration
        if not self._kind.batched:
            return self._next(errors)
        samples: list[Any] = []
        try:
            while len(samples) < self._kind.batch_size:
                samples.append(self._next(errors))
        except StopIteration:
            self._ended = True
        if not samples or (self._kind.drop_last and len(samples) < self._kind.batch_size):
            raise StopIteration
        return samples

    def _next(self, errors: Errors) -> Any:
        assert self._iterator is not None
        while True:
            try:
                return next(self._iterator)
            except StopIteration:
                raise
            except Exception:
                # An iterator that fails for ever has to be left at some time.
                if self._kind.on_error == "raise" or errors.count > self._kind.max_errors:
                    raise
                errors.note("the next sample")
