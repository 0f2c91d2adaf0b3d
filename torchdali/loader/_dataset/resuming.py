# SPDX-License-Identifier: Apache-2.0
"""What a loader that continues from a state makes of it: the states of workers, and its epoch."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping
from typing import Any

from torchdali.errors import ArgumentError, _make

__all__ = [
    "check_workers",
    "epoch_number",
    "is_between_epochs",
    "keeps_workers",
    "note_epochs",
    "num_readers",
    "worker_states",
]


def is_between_epochs(state: Mapping[str, Any]) -> bool:
    """Returns whether a state is not inside an epoch, so that another begins."""
    return not state["begun"] or bool(state["finished"])


def keeps_workers(loader: Any, state: Mapping[str, Any]) -> bool:
    """Returns whether the workers of a state go on, with their seeds, in the next iteration."""
    return not is_between_epochs(state) or (state["finished"] and loader.persistent_workers)


def num_readers(loader: Any) -> int:
    """Returns how many copies of the dataset a loader reads. Threads share one."""
    return max(1, loader.num_workers) if loader.workers == "processes" else 1


def worker_states(loader: Any, state: Mapping[str, Any] | None) -> list[Any]:
    """Returns where each copy of the dataset begins; None: at its beginning.

    Args:
        loader: a DataLoader.
        state: that was checked by check_workers(); None: nothing is resumed.
    """
    count = num_readers(loader)
    if state is None:
        return [None] * count
    states = _first_states(loader, state)
    return states if len(states) == count else states[:1] * count


def _first_states(loader: Any, state: Mapping[str, Any]) -> list[Any]:
    """Returns the states with which the workers of a state begin in the next iteration."""
    states: list[Any] = state["workers"]
    if not state["finished"]:
        return states
    in_process = loader.workers == "threads" or not loader.num_workers
    if in_process or loader.persistent_workers:
        return [_next_epoch(one) for one in states]
    return [None] * len(states)  # processes that end with an epoch leave nothing to the next one


def _next_epoch(state: Any) -> Any:
    """Returns where a copy of the dataset begins after an epoch has ended: its state is kept."""
    if state is None:
        return None
    return {
        "dataset": state.get("dataset") or state.get("iterator"),
        "since": state.get("since", []),
    }


def check_workers(loader: Any, state: Mapping[str, Any]) -> None:
    """Checks that the workers of a loader can continue from a state.

    Without states of their own, there may be any number of them.

    Raises:
        ArgumentError: the position of the workers cannot be translated.
    """
    states = _first_states(loader, state)
    size = state.get("batch_size")
    behind = any(one is not None and one.get("since") for one in states)
    if state["iterable"] and size != loader.batch_size and "batch_size" in state and behind:
        raise _make(
            ArgumentError,
            f"load_state_dict(): the state is of a loader with batch_size={size}, this one has "
            f"{loader.batch_size}, and its workers sent no state with their last batches",
            fix=f"pass batch_size={size}, or snapshot_every_n_steps=1 to the loader that is saved",
        )
    if len(states) == num_readers(loader):
        return
    if is_between_epochs(state):
        if len(set(map(pickle.dumps, states))) == 1:  # pickled, since states may have tensors
            return
    elif not state["iterable"] and not any(states):
        return
    raise _make(
        ArgumentError,
        f"load_state_dict(): the state is of a loader with num_workers={state['num_workers']}, "
        f"this one has {loader.num_workers}; the positions of workers that have a state each "
        "cannot be redistributed",
        fix=f"pass num_workers={state['num_workers']}, and resume with that",
    )


class _EpochNote:
    """`set_epoch` of a sampler that has none of its own: notes the number of the epoch.

    Attributes:
        epoch: what it was called with last; None: it was not called.
    """

    def __init__(self) -> None:
        self.epoch: int | None = None

    def __call__(self, epoch: int) -> None:
        self.epoch = epoch


def note_epochs(loader: Any) -> None:
    """Adds set_epoch() to the sampler of a loader if it has none, for epoch_number().

    Trainers such as Lightning's call it at the beginning of each epoch, of these two samplers.
    """
    samplers = (loader.sampler, getattr(loader.batch_sampler, "sampler", None))
    if not any(hasattr(sampler, "set_epoch") for sampler in samplers):
        with contextlib.suppress(AttributeError):  # such as a list
            loader.sampler.set_epoch = _EpochNote()


def epoch_number(loader: Any) -> int | None:
    """Returns what set_epoch() of the sampler of a loader was called with; None: nothing."""
    batch_sampler = loader.batch_sampler
    for sampler in (loader.sampler, batch_sampler, getattr(batch_sampler, "sampler", None)):
        setter = getattr(sampler, "set_epoch", None)
        epoch = getattr(setter if isinstance(setter, _EpochNote) else sampler, "epoch", None)
        if callable(setter) and isinstance(epoch, int):
            return epoch
    return None
