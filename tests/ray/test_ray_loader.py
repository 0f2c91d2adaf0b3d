# SPDX-License-Identifier: Apache-2.0
"""RayLoader over a dataset that this process executes: epochs, states, errors, interruptions."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("ray.data", reason='needs pip install "ray[data]"')

from helpers.interruptions import interrupted

from tests.ray.local_ray import LocalDataset, LocalRay, decode, tables_of_numbers
from torchdali import fn
from torchdali.errors import ArgumentError, ArgumentTypeError, DataError, PipelineError
from torchdali.ray import RayLoader, _pieces

SIZES = [5, 0, 7, 3, 8]  # of blocks
ROWS = list(range(23))


@pytest.fixture(autouse=True)
def _without_nodes(monkeypatch):
    monkeypatch.setattr(_pieces, "ray", LocalRay())


@pytest.fixture(autouse=True)
def _random_state(keep_random_state):
    """Loaders draw their seeds."""


def make(data=None, *, batch_size=4, **options):
    data = LocalDataset(tables_of_numbers(SIZES)) if data is None else data
    return RayLoader(data, decode, batch_size=batch_size, **options)


def numbers(batches):
    """Returns the numbers of rows, checked against the pixels of their images."""
    found = []
    for batch in batches:
        assert batch["image"][:, 0, 0, 0].tolist() == (batch["number"] % 256).tolist()
        found += batch["number"].tolist()
    return found


def test_an_epoch_has_each_row_once_in_the_order_of_the_dataset():
    loader = make(size=23)
    for epoch in range(3):
        assert (loader.epoch, len(loader)) == (epoch, 6)
        assert numbers(loader) == ROWS
    assert numbers(make(drop_last=True)) == ROWS[:20]
    with pytest.raises(TypeError, match="size"):
        len(make())


@pytest.mark.parametrize("shards", ["equal", "exact"])
def test_ranks_share_the_rows(shards):
    data = LocalDataset(tables_of_numbers(SIZES))
    loaders = [make(data, rank=rank, world_size=3, shards=shards, size=23) for rank in range(3)]
    for _ in range(2):
        lengths = [len(loader) for loader in loaders]
        batches = [list(loader) for loader in loaders]
        assert [len(own) for own in batches] == lengths
        seen = sorted(number for own in batches for number in numbers(own))
        if shards == "exact":
            assert seen == ROWS
        else:
            assert sorted(set(seen)) == ROWS
            assert len({len(numbers(own)) for own in batches}) == 1


@pytest.mark.parametrize("stop", range(7))
def test_a_state_is_exact_for_any_number_of_ranks(stop):
    first = make()
    batches = iter(first)
    seen = numbers(next(batches) for _ in range(min(stop, 6)))
    state = json.loads(json.dumps(first.state_dict()))
    assert len(json.dumps(state)) < 300
    data = LocalDataset(tables_of_numbers(SIZES))
    for ranks, batch_size in ((1, 4), (2, 3)):
        rest = []
        for rank in range(ranks):
            loader = make(data, batch_size=batch_size, rank=rank, world_size=ranks, shards="exact")
            loader.load_state_dict(state)
            assert loader.epoch == 0
            assert loader.state_dict() == state
            rest += numbers(loader)
            assert loader.epoch == 1
        assert sorted(seen + rest) == ROWS


def noisy(image, number):
    noise = fn.random.uniform(range=[0, 1], shape=[2])
    return {"image": fn.decoders.image(image), "number": number, "noise": noise}


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_resumed_run_draws_the_same_random_values(ranks):
    def loaders():
        data = LocalDataset(tables_of_numbers(SIZES))
        return [
            RayLoader(data, noisy, batch_size=4, rank=rank, world_size=ranks)
            for rank in range(ranks)
        ]

    def noise(batches):
        return [value for batch in batches for value in batch["noise"].flatten().tolist()]

    whole = loaders()
    states = [loader.state_dict() for loader in whole]
    expected = [noise(loader) for loader in whole]
    assert len({value for own in expected for value in own}) == sum(map(len, expected))
    for rank, loader in enumerate(loaders()):
        loader.load_state_dict(states[rank])
        batches = iter(loader)
        begun = noise([next(batches)])
        resumed = loaders()[rank]
        resumed.load_state_dict(loader.state_dict())
        assert begun + noise(resumed) == expected[rank]
        assert noise(whole[rank]) == noise(resumed)  # the next epoch
        assert noise(whole[rank])[:2] != expected[rank][:2]


def test_epochs_can_be_left_and_chosen():
    loader = make()
    next(iter(loader))
    again = iter(loader)
    assert loader.epoch == 1
    old = iter(loader)  # of `again`, no batch was taken
    assert loader.epoch == 1
    with pytest.raises(PipelineError, match="the loop is over"):
        next(again)
    loader.set_epoch(7)
    assert loader.epoch == 7
    assert numbers(old) == ROWS
    assert loader.epoch == 8
    loader.batch_sampler.sampler.set_epoch(3)
    assert numbers(loader) == ROWS
    assert loader.epoch == 4


def test_rows_that_fail_are_named():
    tables = tables_of_numbers(SIZES, broken=[2, 9])
    batches = iter(make(LocalDataset(tables)))
    with pytest.raises(DataError, match=r"images/2\.ppm"):
        next(batches)
    assert numbers([next(batches)]) == [4, 5, 6, 7]  # the error took the place of its batch
    unnamed = [table.drop_columns("path") for table in tables]
    with pytest.raises(DataError, match='source "row 2"'):
        next(iter(make(LocalDataset(unnamed))))


def test_rows_can_be_skipped_exactly():
    tables = tables_of_numbers(SIZES, broken=[2, 9, 10])
    good = [n for n in ROWS if n not in (2, 9, 10)]
    loader = make(LocalDataset(tables), on_error="skip")
    batches = iter(loader)
    seen = numbers([next(batches), next(batches)])
    assert loader.error_count == 1
    resumed = make(LocalDataset(tables), on_error="skip")
    resumed.load_state_dict(loader.state_dict())
    assert seen + numbers(resumed) == good
    assert resumed.error_count == 3
    assert [(e.source, e.batch) for e in resumed.errors] == [
        ("images/9.ppm", 2), ("images/10.ppm", 2),
    ]  # fmt: skip
    assert numbers(make(LocalDataset(tables), on_error="skip", batch_size=1)) == good
    lost = make(LocalDataset(tables), on_error="skip", batch_size=1, rank=0, world_size=2)
    with pytest.raises(DataError, match="fewer batches"):
        list(lost)


def test_an_interruption_loses_no_batch():
    loader = make(LocalDataset(tables_of_numbers([50] * 200)), batch_size=2)
    batches = iter(loader)
    calls = interrupted(batches.__next__, returns=False, step=3)
    for expected, (where, batch) in enumerate(calls):
        assert loader.state_dict()["consumed"] == 2 * expected + (0 if batch is None else 2), where
        batch = next(batches) if batch is None else batch
        assert numbers([batch]) == [2 * expected, 2 * expected + 1], where


def test_errors_of_ray_come_through_and_can_be_retried():
    data = LocalDataset(tables_of_numbers(SIZES))
    block = data.dataset.blocks[2]
    make_block, block.make = block.make, lambda: 1 // 0
    batches = iter(make(data))
    assert numbers([next(batches)]) == ROWS[:4]
    with pytest.raises(ZeroDivisionError):
        numbers(batches)
    block.make = make_block
    assert numbers(batches)[-4:] == ROWS[-4:]


def test_blocks_that_are_lost_are_asked_for_again():
    from ray.exceptions import OwnerDiedError

    data = LocalDataset(tables_of_numbers(SIZES))
    for reference in data.dataset.blocks:
        make_block = reference.make
        calls = []

        def fail_once(make_block=make_block, calls=calls):
            calls.append(1)
            if len(calls) == 1:
                raise OwnerDiedError("00", "owner", "here")
            return make_block()

        reference.make = fail_once
    assert numbers(make(data)) == ROWS
    assert data.dataset.executions > 1


def test_mistakes_are_explained():
    data = LocalDataset(tables_of_numbers(SIZES))
    for options, kind, text in (
        ({"batch_size": 0}, ArgumentError, "at least 1"),
        ({"batch_size": 2.0}, ArgumentTypeError, "an integer"),
        ({"shards": "padded"}, ArgumentError, '"equal" or "exact"'),
        ({"shuffle": lambda d, e: d}, ArgumentError, "pass it to SharedDataset"),
        ({"on_error": "no"}, ArgumentError, "on_error"),
        ({"rank": 1}, ArgumentError, "world_size"),
    ):
        with pytest.raises(kind, match=text):
            make(data, **options)
    with pytest.raises(ArgumentTypeError, match=r"ray\.data\.Dataset"):
        make([1, 2])
    loader = make(data)
    with pytest.raises(ArgumentTypeError, match="a dict"):
        loader.load_state_dict(None)
    good = loader.state_dict()
    for state in ({}, {**good, "consumed": -1}, {**good, "version": 9}):
        with pytest.raises(ArgumentError, match="no state of a RayLoader"):
            loader.load_state_dict(state)
    small = make(data, size=5)
    with pytest.raises(DataError, match="`size` is 5, and the dataset had 23"):
        list(small)
