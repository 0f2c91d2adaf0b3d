# SPDX-License-Identifier: Apache-2.0
"""DataLoader: the epochs after a resume, states of data pipes, and states that are sent rarely."""

from __future__ import annotations

import pickle

import pytest
import torch
from helpers import datasets
from helpers.both_loaders import PARALLEL, flat
from torch.utils.data import DistributedSampler
from torch.utils.data.datapipes.iter import IterableWrapper

import torchdali

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*deprecated")]

WORKERS = {**PARALLEL, "persistent": {"num_workers": 2, "persistent_workers": True}}


def plain(batch):
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch.tolist() if isinstance(batch, torch.Tensor) else batch


def epochs_of(loader, count):
    return [[plain(batch) for batch in loader] for _ in range(count)]


DATA = {
    "shuffled": lambda: (datasets.Squares(12), {"shuffle": True}),
    "generator": lambda: (
        datasets.Squares(12),
        {"shuffle": True, "generator": torch.Generator().manual_seed(3)},
    ),
    "samples": lambda: (datasets.Squares(4), {"shuffle": True, "batch_size": None}),
    "sampler": lambda: (datasets.Squares(12), {"sampler": datasets.StatefulSampler(12)}),
    "stateful map": lambda: (datasets.StatefulMap(12), {}),
    "stateful iterable": lambda: (datasets.CountsEpochs(13), {}),
    "data pipe": lambda: (
        IterableWrapper(list(range(13))).shuffle().sharding_filter(),
        {"shuffle": True},
    ),
}


@pytest.mark.parametrize("parallel", WORKERS)
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("restores", [False, True])
def test_the_epochs_after_a_resume_are_those_of_the_first_loader(kind, parallel, restores):
    def make():
        data, options = DATA[kind]()
        return torchdali.DataLoader(data, **{"batch_size": 3, **WORKERS[parallel], **options})

    for batches in (None, 0, 2, "all"):  # None: iter() was not called
        torch.manual_seed(5)
        first = make()
        iterator = None if batches is None else iter(first)
        if iterator is not None:
            for _ in iterator if batches == "all" else range(batches):
                if batches != "all":
                    next(iterator)
        state, random = pickle.dumps(first.state_dict()), torch.get_rng_state()
        if iterator is None or batches == "all":
            expected = epochs_of(first, 3)
        else:
            expected = [[plain(batch) for batch in iterator], *epochs_of(first, 2)]
        if restores:
            torch.set_rng_state(random)
        else:
            torch.manual_seed(99)
        before = torch.get_rng_state()
        second = make()
        second.load_state_dict(pickle.loads(state))
        assert epochs_of(second, 3) == expected, batches
        assert restores or torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("parallel", PARALLEL)
def test_set_epoch_ends_an_epoch_that_was_resumed_after_its_last_batch(parallel):
    def make():
        sampler = DistributedSampler(range(12), 1, 0)
        options = PARALLEL[parallel]
        return torchdali.DataLoader(datasets.Squares(12), batch_size=3, sampler=sampler, **options)

    first = make()
    first.sampler.set_epoch(1)
    iterator = iter(first)
    whole = [plain(next(iterator)) for _ in range(4)]
    state = first.state_dict()
    for epoch, again in ((1, []), (2, None)):
        second = make()
        second.load_state_dict(state)
        iterator = iter(second)
        second.sampler.set_epoch(epoch)
        found = [plain(batch) for batch in iterator]
        if again is not None:
            assert found == again
        else:
            assert sorted(flat(batch[1] for batch in found)) == list(range(12))
            assert found != whole


class CountsStates(datasets.StatefulMap):
    """Counts the calls of its state_dict()."""

    calls = 0

    def state_dict(self):
        self.calls += 1
        return super().state_dict()


def test_threads_send_states_after_every_n_steps_only():
    data = CountsStates(60)
    loader = torchdali.DataLoader(
        data, batch_size=3, num_workers=2, workers="threads", snapshot_every_n_steps=10
    )
    for _batch in loader:
        pass
    assert data.calls == 2


@pytest.mark.parametrize("steps", [None, 0, 3, 50])
@pytest.mark.parametrize("parallel", PARALLEL)
@pytest.mark.parametrize("kind", ["stateful map", "stateful iterable", "iterable"])
def test_a_loader_resumes_exactly_with_rare_states(kind, parallel, steps):
    def make():
        data = {
            "stateful map": lambda: datasets.StatefulMap(30),
            "stateful iterable": lambda: datasets.StatefulIterable(30),
            "iterable": lambda: datasets.Counts(30),
        }[kind]()
        options = PARALLEL[parallel]
        return torchdali.DataLoader(data, batch_size=3, snapshot_every_n_steps=steps, **options)

    whole = epochs_of(make(), 1)[0]
    for batches in (1, 4, 5, 9):
        first = make()
        iterator = iter(first)
        for _ in range(batches):
            next(iterator)
        second = make()
        second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
        iterator = iter(second)
        next(iterator)
        state = second.state_dict()  # the resumed loader is stopped again
        third = make()
        third.load_state_dict(state)
        assert epochs_of(third, 1)[0] == whole[batches + 1 :]


@pytest.mark.parametrize("steps", [-1, 2.5, "all", True])
def test_wrong_values_of_snapshot_every_n_steps_are_errors(steps):
    with pytest.raises((TypeError, ValueError), match="snapshot_every_n_steps"):
        torchdali.DataLoader(datasets.Squares(), snapshot_every_n_steps=steps)
