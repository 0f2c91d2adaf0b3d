# SPDX-License-Identifier: Apache-2.0
"""States of our DataLoader and of torchdata's StatefulDataLoader, side by side."""

from __future__ import annotations

import logging
import pickle

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import flat
from torch.utils.data.datapipes.iter import IterableWrapper

import torchdali
from torchdali.errors import ArgumentError, ArgumentTypeError

stateful = pytest.importorskip("torchdata.stateful_dataloader")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

BOTH = (stateful.StatefulDataLoader, torchdali.DataLoader)
DATA = {
    "map": lambda: datasets.Squares(9),
    "stateful map": lambda: datasets.StatefulMap(9),
    "iterable": lambda: datasets.Counts(9),
    "iterator": lambda: datasets.StatefulIterator(9),
    "stateful iterable": lambda: datasets.StatefulIterable(9),
    "data pipe": lambda: IterableWrapper(range(9)).sharding_filter(),
}
WORKERS = {
    "none": {},
    "processes": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
}


@pytest.fixture(autouse=True)
def _quiet():
    """torchdata logs a warning for each dataset that it reads again."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def plain(batch):
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch.tolist()


def take(loader, batches):
    """Returns the state after some batches; None: iter() is not called, -1: at the end."""
    if batches is not None:
        iterator = iter(loader)
        for _ in range(batches) if batches >= 0 else iterator:
            if batches >= 0:
                next(iterator)
    return pickle.loads(pickle.dumps(loader.state_dict()))


def resume(loader, state):
    loader.load_state_dict(state)
    return iter(loader)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("workers", WORKERS)
def test_a_state_of_any_moment_is_followed_by_the_same_epochs(kind, workers):
    options = {"batch_size": 3, **WORKERS[workers]}
    last = len(list(torchdali.DataLoader(DATA[kind](), **options)))
    for batches in (None, 0, 2, last, -1):
        # torchdata repeats the epoch: its worker saves the state that the dataset has got for the
        # next epoch when it ended in the middle of a batch.
        if batches == last and kind == "stateful iterable" and workers != "none":
            continue
        found = []
        for cls in BOTH:
            state = take(cls(DATA[kind](), **options), batches)
            loader = cls(DATA[kind](), **options)
            loader.load_state_dict(state)
            found.append([[plain(batch) for batch in loader] for _ in range(3)])
        assert found[1] == found[0], batches


@pytest.mark.parametrize("kind", DATA)
def test_every_sample_comes_once_if_batches_are_out_of_order(kind):
    def make():
        return torchdali.DataLoader(DATA[kind](), batch_size=2, num_workers=2, in_order=False)

    def numbers(batch):
        return plain(batch[0] if kind == "stateful map" else batch[1] if kind == "map" else batch)

    for batches in (0, 1, 2, 3):
        loader = make()
        iterator = iter(loader)
        given = flat(numbers(next(iterator)) for _ in range(batches))
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        del iterator
        other = make()
        other.load_state_dict(state)
        assert sorted([*given, *flat(numbers(batch) for batch in other)]) == list(range(9))
        assert sorted(flat(numbers(batch) for batch in other)) == list(range(9))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_without_a_state_an_epoch_begins(num_workers):
    for cls in BOTH:
        for nothing in ({}, None):
            loader = cls(datasets.Squares(9), batch_size=3, num_workers=num_workers)
            next(iter(loader))
            loader.load_state_dict(nothing)
            assert len(list(loader)) == 3


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("state", [3, [1], {"a": 1}, "text", 0, ""])
def test_what_is_no_state_is_an_error_in_both(num_workers, state):
    """torchdata raises AssertionError or TypeError in iter(), we in load_state_dict()."""
    theirs, ours = (cls(datasets.Squares(9), batch_size=3, num_workers=num_workers) for cls in BOTH)
    theirs.load_state_dict(state)
    with pytest.raises((AssertionError, TypeError)):
        iter(theirs)
    error = ArgumentError if isinstance(state, dict) else ArgumentTypeError
    with pytest.raises(error, match=r"no state of torchdali\.DataLoader"):
        ours.load_state_dict(state)
    assert len(list(ours)) == 3


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_states_of_the_two_loaders_are_told_apart(num_workers):
    theirs, ours = (cls(datasets.Squares(9), batch_size=3, num_workers=num_workers) for cls in BOTH)
    with pytest.raises(ArgumentError, match=r"state of torchdata\.StatefulDataLoader"):
        ours.load_state_dict(take(theirs, 1))
    with pytest.raises(AssertionError, match="State doesn't contain key"):
        resume(theirs, take(ours, 1))


@pytest.mark.parametrize("counts", [(2, 3), (3, 2), (2, 0), (0, 2)])
def test_a_state_of_another_number_of_workers(counts):
    """An error in torchdata; in ours, only where workers have states of their own."""
    for kind in ("map", "iterator"):
        for cls in BOTH:
            first, second = (cls(DATA[kind](), batch_size=3, num_workers=count) for count in counts)
            state = take(first, 1)
            if cls is torchdali.DataLoader and kind == "map":
                second.load_state_dict(state)
                assert [plain(batch)[1] for batch in second] == [[3, 4, 5], [6, 7, 8]]
                continue
            error = AssertionError if cls is not torchdali.DataLoader else ArgumentError
            with pytest.raises(error):
                resume(second, state)


def test_the_arguments_are_those_of_torchdata():
    import inspect

    theirs, ours = (inspect.signature(cls).parameters for cls in BOTH)
    assert list(ours)[: len(theirs)] == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].default == parameter.default
        assert ours[name].kind == parameter.kind
    assert torch.utils.data.DataLoader in torchdali.DataLoader.__mro__
