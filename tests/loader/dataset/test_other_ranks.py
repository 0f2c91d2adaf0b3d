# SPDX-License-Identifier: Apache-2.0
"""DataLoader: states of another rank, of other numbers of ranks, and of other batch sizes."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
import torch
from helpers import datasets
from torch.utils.data import DistributedSampler, SequentialSampler

from torchdali import DataLoader, fn
from torchdali.errors import ArgumentError

SIZE = 67
PARALLEL = {"process": {}, "threads": {"num_workers": 2, "workers": "threads"}}


def sampler_of(rank, world_size, **options):
    return DistributedSampler(range(SIZE), world_size, rank, **options)


def loader_of(rank=0, world_size=1, *, epoch=0, order=None, **options):
    options = {"batch_size": 3, **options}
    if world_size > 1 or order is not None:
        options["sampler"] = sampler_of(rank, world_size, **(order or {}))
        options["sampler"].set_epoch(epoch)
    elif "sampler" not in options:
        options["shuffle"] = True
    return DataLoader(range(SIZE), **options)


def flat(batches):
    return [int(i) for batch in batches for i in batch]


def run(world_size, steps, **options):
    """Returns what the ranks have had after some steps, the state of the last one, and the rest."""
    loaders = [loader_of(rank, world_size, **options) for rank in range(world_size)]
    loops = [iter(loader) for loader in loaders]
    had = [[next(loop).tolist() for _ in range(steps)] for loop in loops]
    state = json.loads(json.dumps(loaders[-1].state_dict()))
    return (
        flat(itertools.chain(*had)),
        state,
        [[batch.tolist() for batch in loop] for loop in loops],
    )


@pytest.mark.parametrize("parallel", PARALLEL)
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 3), (4, 2), (1, 4)])
@pytest.mark.parametrize("batch_size", [3, 4])
def test_the_rest_of_an_epoch_is_divided_among_other_ranks(parallel, before, after, batch_size):
    options = PARALLEL[parallel]
    torch.manual_seed(1)
    had, state, _ = run(before, 4, epoch=2, **options)
    torch.manual_seed(2)
    rest, next_epoch = [], []
    for rank in range(after):
        loader = loader_of(rank, after, batch_size=batch_size, **options)
        loader.load_state_dict(state)
        rest += flat(loader)
        if after > 1:
            loader.sampler.set_epoch(3)
        next_epoch += flat(loader)
    again = Counter(had + rest) - Counter(range(SIZE))
    assert set(had + rest) == set(range(SIZE))
    assert sum(again.values()) == -(SIZE - len(had)) % after  # so that ranks are equal
    assert set(next_epoch) == set(range(SIZE))


def test_the_rest_may_be_divided_again():
    had, state, _ = run(4, 2)
    for world_size, batch_size in ((2, 3), (3, 2), (1, 5)):
        loaders = [loader_of(rank, world_size, batch_size=batch_size) for rank in range(world_size)]
        for loader in loaders:
            loader.load_state_dict(state)
            loop = iter(loader)
            had += flat(next(loop) for _ in range(2))
        state = loaders[0].state_dict()
    last = loader_of(batch_size=4)
    last.load_state_dict(state)
    assert sorted(had + flat(last)) == list(range(SIZE))


def test_any_rank_may_take_the_state_of_another():
    # Lightning's checkpoints have that of rank 0.
    _, state, rest = run(3, 4, epoch=5)
    for rank in range(3):
        loader = loader_of(rank, 3)
        loader.load_state_dict(state)
        assert [batch.tolist() for batch in loader] == rest[rank]


def test_a_state_has_the_epoch_of_the_sampler():
    _, state, rest = run(2, 4, epoch=5)
    loader = loader_of(1, 2)
    loader.load_state_dict(state)
    assert loader.sampler.epoch == 5
    assert [batch.tolist() for batch in loader] == rest[1]


@pytest.mark.parametrize("drop_last", [False, True])
def test_drop_last_of_the_sampler_leaves_out_the_rest(drop_last):
    had, state, _ = run(2, 4, order={"drop_last": drop_last})
    rest = []
    for rank in range(3):
        loader = loader_of(rank, 3, order={"drop_last": drop_last})
        loader.load_state_dict(state)
        rest.append(flat(loader))
    assert len(set(map(len, rest))) == 1
    left = SIZE - len(had)
    assert sum(map(len, rest)) == (left // 3 * 3 if drop_last else -(-left // 3) * 3)


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("options", [*PARALLEL.values(), {"num_workers": 2, "in_order": False}])
def test_the_batch_size_may_change_within_an_epoch(options, generator):
    def make(**own):
        source = torch.Generator().manual_seed(4) if generator else None
        return loader_of(generator=source, **own)

    torch.manual_seed(3)
    whole = flat(make())
    torch.manual_seed(3)
    had, state = [], None
    for batch_size in (3, 5, 2):
        loader = make(batch_size=batch_size, **options)
        if state is not None:
            loader.load_state_dict(state)
        loop = iter(loader)
        had += flat(next(loop) for _ in range(4))
        state = loader.state_dict()
    last = make(batch_size=7)
    last.load_state_dict(state)
    batches = [batch.tolist() for batch in last]
    if options.get("in_order", True):
        assert had + flat(batches) == whole
        assert [len(batch) for batch in batches[:-1]] == [7] * (len(batches) - 1)
    assert sorted(had + flat(batches)) == list(range(SIZE))
    assert max(map(len, batches)) <= 7  # a pipeline takes no more


def noise(label):
    return {"label": label, "noise": fn.random.uniform(range=[0.0, 1.0])}


def test_ranks_do_not_draw_the_values_of_the_state_that_they_share():
    class Labels(torch.utils.data.Dataset):
        def __len__(self):
            return SIZE

        def __getitem__(self, index):
            return {"label": index}

    def make(rank):
        sampler = sampler_of(rank, 2)
        return DataLoader(Labels(), batch_size=4, sampler=sampler, pipeline=noise)

    torch.manual_seed(6)
    first = make(0)
    loop = iter(first)
    next(loop)
    state = first.state_dict()
    values = []
    for rank in range(2):
        loader = make(rank)
        loader.load_state_dict(state)
        values.append(next(iter(loader))["noise"])
    assert torch.equal(values[0], next(loop)["noise"])
    assert not set(values[0].flatten().tolist()) & set(values[1].flatten().tolist())


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", [datasets.Counts, datasets.StatefulIterable])
def test_the_batch_size_of_an_iterable_may_change(kind, num_workers):
    def make(batch_size, **options):
        return DataLoader(kind(23), batch_size, num_workers=num_workers, **options)

    whole = sorted(flat(make(3)))
    first = make(3)
    loop = iter(first)
    had = flat(next(loop) for _ in range(3))
    second = make(2)
    second.load_state_dict(first.state_dict())
    loop = iter(second)
    had += flat(next(loop) for _ in range(2))
    third = make(4)
    third.load_state_dict(second.state_dict())
    assert sorted(had + flat(third)) == whole
    if num_workers:
        first = make(3, snapshot_every_n_steps=None)
        next(iter(first))
        with pytest.raises(ArgumentError, match="(?s)has 2, and its workers sent no state"):
            make(2).load_state_dict(first.state_dict())


class Odd(torch.utils.data.Sampler):
    """A sampler of one rank, whose order on others is not known."""

    def __init__(self, rank):
        self.rank, self.num_replicas = rank, 2

    def __iter__(self):
        return iter(range(self.rank, SIZE, 2))

    def __len__(self):
        return SIZE // 2


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda rank: {"sampler": Odd(rank)}, "the order of its sampler on other ranks is not"),
        (
            lambda rank: {"sampler": sampler_of(rank, 2), "dataset": datasets.StatefulMap(SIZE)},
            "the dataset has states",
        ),
    ],
)
def test_what_cannot_be_translated_is_an_error(make, text):
    def loader(rank):
        return DataLoader(**{"dataset": range(SIZE), "batch_size": 3, **make(rank)})

    first = loader(0)
    next(iter(first))
    with pytest.raises(ArgumentError, match=f"(?s)of rank 0 of 2, this is rank 1 of 2.*{text}"):
        loader(1).load_state_dict(first.state_dict())


def test_a_state_of_another_data_set_is_an_error():
    _, state, _ = run(2, 4)
    with pytest.raises(ArgumentError, match="a data set of 67 samples, that of this loader has 9"):
        DataLoader(range(9), sampler=DistributedSampler(range(9), 2, 0)).load_state_dict(state)


def test_an_epoch_is_completed_in_the_order_in_which_it_began():
    torch.manual_seed(1)
    _, state, rest = run(1, 4)
    loader = DataLoader(range(SIZE), batch_size=3, sampler=SequentialSampler(range(SIZE)))
    loader.load_state_dict(state)
    assert [batch.tolist() for batch in loader] == rest[0]
    assert flat(loader) == list(range(SIZE))
