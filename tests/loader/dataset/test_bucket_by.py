# SPDX-License-Identifier: Apache-2.0
"""DataLoader(bucket_by=...): batches of like length."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from torch.utils.data import DistributedSampler, IterableDataset, SubsetRandomSampler

from torchdali import DataLoader
from torchdali.errors import ArgumentError, ArgumentTypeError

COUNT, BATCH = 157, 4
LENGTHS = (np.random.default_rng(5).lognormal(5, 0.7, COUNT)).astype(int) + 1


def epoch(loader):
    return [batch.tolist() for batch in loader]


def loader_of(**options):
    options = {"batch_size": BATCH, "bucket_by": LENGTHS, **options}
    return DataLoader(list(range(COUNT)), **options)


def padding(batches):
    padded = sum(len(batch) * max(LENGTHS[batch]) for batch in batches)
    return 1 - sum(LENGTHS[i] for batch in batches for i in batch) / padded


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    "lengths", [LENGTHS, LENGTHS.tolist(), torch.from_numpy(LENGTHS), lambda i: LENGTHS[i]]
)
def test_an_epoch_has_each_sample_once_and_little_padding(lengths, shuffle):
    loader = loader_of(bucket_by=lengths, shuffle=shuffle)
    batches = epoch(loader)
    assert [len(batch) for batch in batches] == [4] * 39 + [1]
    assert sorted(itertools.chain(*batches)) == list(range(COUNT))
    assert padding(batches) < 0.3 * padding(epoch(loader_of(bucket_by=None, shuffle=shuffle)))
    assert (batches == epoch(loader)) is not shuffle


def test_the_window_bounds_how_far_a_sample_moves():
    batches = epoch(loader_of(bucket_window=10))
    places = np.argsort(list(itertools.chain(*batches)))
    assert max(abs(places - np.arange(COUNT))) < 10 * BATCH
    assert padding(batches) > padding(epoch(loader_of()))


def test_the_last_batch_is_that_of_the_order():
    torch.manual_seed(3)
    plain = epoch(loader_of(bucket_by=None, shuffle=True))
    torch.manual_seed(3)
    assert epoch(loader_of(shuffle=True))[-1] == plain[-1]
    torch.manual_seed(3)
    dropped = epoch(loader_of(shuffle=True, drop_last=True))
    assert sorted(itertools.chain(*dropped)) == sorted(itertools.chain(*plain[:-1]))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_state_resumes_the_epoch(num_workers):
    options = {"shuffle": True, "num_workers": num_workers, "workers": "threads"}
    for step in (0, 1, 17, 39):
        loader = loader_of(**options)
        iterator = iter(loader)
        for _ in range(step):
            next(iterator)
        state = json.loads(json.dumps(loader.state_dict()))
        rest, later = epoch(iterator), epoch(loader)
        torch.manual_seed(step)
        other = loader_of(**options)
        other.load_state_dict(state)
        assert epoch(other) == rest
        assert epoch(other) == later


def test_the_order_of_a_sampler_is_kept_up_to_windows():
    chosen = list(range(0, COUNT, 2))
    sampler = SubsetRandomSampler(chosen, generator=torch.Generator().manual_seed(1))
    assert sorted(itertools.chain(*epoch(loader_of(sampler=sampler)))) == chosen


def test_ranks_of_a_distributed_sampler_are_disjoint():
    samplers = [DistributedSampler(range(COUNT), 2, r, drop_last=True) for r in range(2)]
    loaders = [loader_of(sampler=sampler) for sampler in samplers]
    epochs = []
    for number in range(2):
        for loader in loaders:
            loader.sampler.set_epoch(number)
        epochs.append([epoch(loader) for loader in loaders])
        seen = [i for rank in epochs[-1] for batch in rank for i in batch]
        assert len(set(seen)) == len(seen) == COUNT // 2 * 2
    assert epochs[0] != epochs[1]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


class Stateful(torch.utils.data.Sampler):
    def __iter__(self):
        return iter(range(COUNT))

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"bucket_by": "size"}, ArgumentTypeError, "`bucket_by` is 'size', expected the lengths"),
        ({"bucket_by": [1, 2]}, ArgumentError, "has 2 lengths, the dataset has 157 samples"),
        ({"bucket_window": 0}, ArgumentError, "`bucket_window` is 0, expected 1 or more"),
        ({"bucket_window": 1.5}, ArgumentTypeError, "`bucket_window` is 1.5, expected an integer"),
        ({"batch_size": None}, ArgumentError, "`bucket_by` with batch_size=None"),
        ({"dataset": Stream()}, ArgumentError, "`bucket_by` with an IterableDataset"),
        ({"batch_sampler": [[1]], "batch_size": 1}, ArgumentError, "with `batch_sampler`"),
        ({"sampler": [1], "shuffle": True}, ArgumentError, "`sampler` and `shuffle` exclude"),
        ({"sampler": Stateful()}, ArgumentError, "with a Stateful, which has state_dict"),
    ],
)
def test_what_cannot_work_is_an_error(options, error, text):
    options = {"dataset": range(COUNT), "batch_size": BATCH, "bucket_by": LENGTHS, **options}
    with pytest.raises(error, match=text):
        DataLoader(**options)


def test_a_length_that_is_missing_is_an_error():
    loader = loader_of(bucket_by=dict.fromkeys(range(1, COUNT), 1.0).__getitem__)
    with pytest.raises(ArgumentError, match="no length of sample 0"):
        epoch(loader)
    with pytest.raises(ArgumentError, match="is nan for sample 0"):
        epoch(loader_of(bucket_by=lambda i: float("nan")))


def test_a_state_of_another_order_is_refused():
    state = loader_of(bucket_window=7).state_dict()
    with pytest.raises(ArgumentError, match=r"is \[4, 100\], in the state it is \[4, 7\]"):
        loader_of().load_state_dict(state)
    with pytest.raises(ArgumentError, match="is None, in the state"):
        loader_of(bucket_by=None).load_state_dict(state)
