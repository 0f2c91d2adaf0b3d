# SPDX-License-Identifier: Apache-2.0
"""A loader without a length, for trainers that fetch one batch ahead of such loaders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

__all__ = ["OneAhead"]


class OneAhead:
    """A loader whose number of batches is not known, for Lightning's Trainer.

    Lightning fetches one batch ahead of loaders without len(), to know which batch is the last one.
    The state is therefore that before the batch that was fetched last.

    Args:
        loader: with state_dict() and load_state_dict().

    Attributes:
        loader: as the argument.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self._before: dict[str, Any] | None = None  # the batch that was fetched last, if any
        self._fetched = 0  # batches of this iteration

    def __iter__(self) -> Iterator[Any]:
        self._fetched = 0
        return _Batches(self, iter(self.loader))

    def fetch(self, batches: Iterator[Any]) -> Any:
        """Returns the next batch of an iteration."""
        before = self.loader.state_dict()
        try:
            batch = next(batches)
        except StopIteration:
            self._before, self._fetched = None, 0
            raise
        self._before, self._fetched = before, self._fetched + 1
        return batch

    @property
    def batch_sampler(self) -> SimpleNamespace:
        """Has a sampler with set_epoch(), which Lightning calls."""
        return SimpleNamespace(sampler=self)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch that the next iter() begins.

        Lightning calls this for its first epoch after iter() and the first batch. That epoch goes
        on.
        """
        if self._fetched == 1 and getattr(self.loader, "epoch", None) == epoch:
            return
        for owner in (self.loader.batch_sampler, self.loader):
            setter = getattr(getattr(owner, "sampler", None), "set_epoch", None)
            if callable(setter):
                setter(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the trainer's loop."""
        return self.loader.state_dict() if self._before is None else self._before

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Has the next iteration continue from a state."""
        self.loader.load_state_dict(state_dict)
        self._before = None


class _Batches:
    """An iteration over a OneAhead."""

    def __init__(self, owner: OneAhead, batches: Iterator[Any]) -> None:
        self._owner, self._batches = owner, batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._owner.fetch(self._batches)
