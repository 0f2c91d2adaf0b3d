# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: the seeds of the order and of random operators, given or drawn."""

from __future__ import annotations

import json

import pytest
import torch

from tests.loader.pipeline.numbered_files import counted, labels, numbers, write_numbers
from torchdali import PipelineLoader


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_numbers(tmp_path_factory.mktemp("numbers"), 11)


def loader_of(root, **options):
    return PipelineLoader(numbers, **{"pipeline_args": {"root": root}, "shuffle": True, **options})


def epoch_of(loader):
    return [(batch["label"].tolist(), batch["noise"].tolist()) for batch in loader]


def test_the_global_generator_seeds_order_and_random_operators(root):
    made = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        loader = loader_of(root)
        made.append([epoch_of(loader) for _ in range(2)])
    assert made[0] == made[1]
    assert made[0][0] != made[0][1]
    for part in (0, 1):  # the order, and the values
        assert [batch[part] for batch in made[0][0]] != [batch[part] for batch in made[2][0]]


def test_a_generator_seeds_and_the_global_one_stays(root):
    before = torch.get_rng_state()
    made = [
        epoch_of(loader_of(root, generator=torch.Generator().manual_seed(seed)))
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]
    assert torch.equal(torch.get_rng_state(), before)


def test_seeds_are_drawn_once(root):
    torch.manual_seed(1)
    loader = loader_of(root)
    for _ in range(3):
        epoch_of(loader)
    len(loader)
    loader.state_dict()
    after = torch.get_rng_state()
    torch.manual_seed(1)
    torch.empty((), dtype=torch.int64).random_()
    assert torch.equal(torch.get_rng_state(), after)


def test_seeds_that_are_given_are_kept(root):
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        loader = loader_of(root, seed=4, pipeline_args={"root": root, "seed": 5})
        made.append(epoch_of(loader))
    assert made[0] == made[1]


@pytest.mark.parametrize("build", [False, True])
def test_a_pipeline_that_has_not_run_is_seeded(root, build):
    made = []
    for _ in range(2):
        pipeline = numbers(root)
        if build:
            pipeline.build()
        torch.manual_seed(1)
        made.append(epoch_of(PipelineLoader(pipeline, shuffle=True)))
    assert made[0] == made[1]


def test_another_batch_size_keeps_the_seed(root):
    torch.manual_seed(1)
    loader = loader_of(root)
    epoch_of(loader)
    loader.batch_size = 6
    loader.set_epoch(0)
    torch.manual_seed(1)
    whole = [value for _, noise in epoch_of(loader_of(root)) for value in noise]
    assert [value for _, noise in epoch_of(loader) for value in noise] == whole


def test_a_state_holds_the_seeds(root):
    torch.manual_seed(1)
    loader = loader_of(root)
    iterator = iter(loader)
    next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = epoch_of(iterator)
    following = epoch_of(loader)
    torch.manual_seed(2)
    again = loader_of(root)
    next(iter(again))  # has drawn seeds of its own
    again.load_state_dict(state)
    assert [epoch_of(again), epoch_of(again)] == [rest, following]


def test_a_state_before_the_first_batch_holds_the_seeds():
    torch.manual_seed(1)
    options = {"pipeline_args": {"count": 8, "enable_checkpointing": True}}
    loader = PipelineLoader(counted, **options)
    state = loader.state_dict()
    expected = epoch_of(loader)
    torch.manual_seed(2)
    again = PipelineLoader(counted, **options)
    again.load_state_dict(state)
    assert epoch_of(again) == expected


def test_ranks_agree_on_the_order_without_a_seed(root):
    orders = []
    for rank in range(2):
        torch.manual_seed(rank)  # ranks may differ in their generators
        orders.append(labels(loader_of(root, rank=rank, world_size=2)))
    assert sorted(set(orders[0] + orders[1])) == list(range(11))
    own = []
    for rank in range(2):
        torch.manual_seed(rank)
        reader = {"shard_id": rank, "num_shards": 2}
        own.append(labels(loader_of(root, pipeline_args={"root": root, "reader": reader})))
    assert own == orders
