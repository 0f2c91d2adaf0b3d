# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: states, saved and loaded at any point, on any number of ranks."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import torch
from helpers.interruptions import interrupted

from tests.loader.pipeline.numbered_files import counted, labels, numbers, write_numbers
from torchdali import PipelineLoader, fn, pipeline_def

SIZE = 203


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_numbers(tmp_path_factory.mktemp("numbers"), SIZE)


def loader_of(root, **options):
    options = {"shuffle": True, **options}
    return PipelineLoader(numbers, pipeline_args={"root": root}, **options)


def everything(batches):
    batches = list(batches)
    return labels(batches), torch.cat([batch["noise"] for batch in batches] or [torch.empty(0)])


@pytest.mark.parametrize("taken", [0, 1, 7, 50, 51])
def test_a_state_continues_after_the_last_batch(root, taken):
    first = loader_of(root)
    labels(first)
    loop = iter(first)
    for _ in range(taken):
        next(loop)
    state = json.loads(json.dumps(first.state_dict()))
    second = loader_of(root)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert (second.epoch, len(second)) == (1, 51)
    for found, expected in zip(everything(second), everything(loop), strict=True):
        assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected))
    for found, expected in zip(everything(second), everything(first), strict=True):
        assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected))


def test_a_state_after_an_epoch_continues_with_the_next(root):
    first, second = loader_of(root), loader_of(root)
    labels(first)
    second.load_state_dict(first.state_dict())
    assert second.epoch == 1
    assert everything(second)[0] == everything(first)[0]


def test_a_state_may_be_loaded_during_a_loop(root):
    loader = loader_of(root)
    loop = iter(loader)
    next(loop)
    state = loader.state_dict()
    rest = everything(loop)
    labels(loader)
    unfinished = iter(loader)
    loader.load_state_dict(state)
    with pytest.raises(RuntimeError, match="the loop is over"):
        next(unfinished)
    again = everything(loader)
    assert again[0] == rest[0]
    assert torch.equal(again[1], rest[1])


def test_set_epoch_keeps_the_position_of_the_same_epoch_only(root):
    first = loader_of(root)
    whole = [labels(first) for _ in range(2)]
    first.set_epoch(1)
    loop = iter(first)
    next(loop)
    state = first.state_dict()
    second = loader_of(root)
    second.load_state_dict(state)
    second.set_epoch(1)
    assert labels(second) == whole[1][4:]
    second.load_state_dict(state)
    second.set_epoch(0)
    assert labels(second) == whole[0]


def test_torch_save_stores_a_state(root):
    file = io.BytesIO()
    torch.save(loader_of(root).state_dict(), file)
    file.seek(0)
    loader = loader_of(root)
    loader.load_state_dict(torch.load(file, weights_only=True))
    assert len(labels(loader)) == SIZE


@pytest.mark.parametrize("before", [1, 2, 4])
@pytest.mark.parametrize("after", [1, 2, 3, 8])
@pytest.mark.parametrize("batch_size", [4, 5])
def test_ranks_and_batch_size_may_change_within_an_epoch(root, before, after, batch_size):
    def run(world_size, **options):
        return [
            loader_of(root, rank=rank, world_size=world_size, shards="exact", **options)
            for rank in range(world_size)
        ]

    seen, states = [], []
    for loader in run(before):
        loop = iter(loader)
        seen += labels(next(loop) for _ in range(6))
        states.append(loader.state_dict())
    assert len(seen) == before * 6 * 4
    assert len({state["consumed"] for state in states}) == 1
    for loader in run(after, batch_size=batch_size):
        loader.load_state_dict(states[-1])  # that of any rank
        length, found = len(loader), list(loader)
        assert length == 6 + len(found)
        seen += labels(found)
    assert sorted(seen) == list(range(SIZE))


def test_the_last_state_of_the_shorter_rank_repeats_no_sample(root):
    options = {"world_size": 2, "shards": "exact", "batch_size": 51}  # 203 samples: 102 and 101
    seen = []
    for rank in range(2):
        first = loader_of(root, rank=rank, **options)
        loop = iter(first)
        seen += labels(next(loop) for _ in range(2))
        assert first.state_dict()["consumed"] == SIZE
    assert sorted(seen) == list(range(SIZE))
    for rank in range(2):
        second = loader_of(root, rank=rank, **options)
        second.load_state_dict(first.state_dict())  # that of rank 1
        assert labels(second) == []


def test_augmentation_does_not_depend_on_the_number_of_ranks(root):
    def noise(world_size):
        found = {}
        for rank in range(world_size):
            pipe = numbers(root, seed=11)
            loader = PipelineLoader(pipe, shuffle=True, seed=1, rank=rank, world_size=world_size)
            names, values = everything(loader)
            found.update(zip(names[: SIZE // world_size], values.tolist(), strict=False))
        return found

    one, four = noise(1), noise(4)
    assert all(one[name] == value for name, value in four.items())
    assert len(set(one.values())) > SIZE * 0.99


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_external_sources_resume(taken):
    def make():
        return PipelineLoader(counted(10, enable_checkpointing=True))

    first = make()
    labels(first)
    loop = iter(first)
    for _ in range(taken):
        next(loop)
    second = make()
    second.load_state_dict(first.state_dict())
    for found, expected in zip(everything(second), everything(loop), strict=True):
        assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected))
    assert everything(second)[0] == everything(first)[0] == list(range(10))


def test_a_loop_over_external_sources_that_was_left_cannot_resume():
    first = PipelineLoader(counted(10, enable_checkpointing=True))
    next(iter(first))
    first.set_epoch(5)
    second = PipelineLoader(counted(10, enable_checkpointing=True))
    second.load_state_dict(first.state_dict())
    assert second.epoch == 5
    assert labels(second) == list(range(10))


def test_external_sources_need_checkpoints_and_the_same_ranks():
    with pytest.raises(RuntimeError, match="enable_checkpointing=True"):
        PipelineLoader(counted(10)).state_dict()
    state = PipelineLoader(counted(10, enable_checkpointing=True)).state_dict()
    other = PipelineLoader(counted(10, enable_checkpointing=True), rank=0, world_size=2)
    other.load_state_dict(state)
    with pytest.raises(ValueError, match="made on 1 ranks, this is one of 2"):
        iter(other)


def test_states_of_other_loaders_are_errors(root, tmp_path):
    state = loader_of(root).state_dict()
    for options, message in (({"seed": 1}, "`seed`"), ({"shuffle": False}, "`shuffle`")):
        loader = loader_of(root, **options)
        loader.load_state_dict(state)
        with pytest.raises(ValueError, match=f"{message} of the loader"):
            iter(loader)
    loader = loader_of(write_numbers(tmp_path / "other", 9))
    loader.load_state_dict(state)
    with pytest.raises(ValueError, match="`epoch_size` is 9, in the checkpoint it is 203"):
        len(loader)
    loader = loader_of(root)
    with pytest.raises(TypeError, match="is a int"):
        loader.load_state_dict(3)
    for damage in ({"epoch": -1}, {"version": 7}, {"pipelines": []}, {"within": None}):
        with pytest.raises(ValueError, match="the state is damaged"):
            loader.load_state_dict({**state, **damage})
    with pytest.raises(ValueError, match="damaged"):
        loader.load_state_dict({**state, "pipelines": ["x"]})


def test_a_checkpoint_of_the_pipeline_is_an_error_that_explains_it(root):
    pipe = numbers(root, enable_checkpointing=True)
    next(iter(PipelineLoader(pipe)))
    resumed = numbers(root, enable_checkpointing=True, checkpoint=pipe.checkpoint())
    with pytest.raises(ValueError, match="was made by a PipelineLoader"):
        resumed.run()
    with pytest.raises(ValueError, match=r"(?s)with `checkpoint` cannot be.*load_state_dict"):
        len(PipelineLoader(resumed))


@pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
def two_sources():
    """A source, and random numbers of the same samples."""
    source = fn.external_source(source=lambda i: np.array([[2 * i], [2 * i + 1]]))
    return source, fn.random.uniform(range=[0.0, 1.0], seed=5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_state_after_an_interruption_is_before_the_batch_that_was_not_returned():
    loader = PipelineLoader(two_sources, size=1 << 20)
    iterator = iter(loader)
    for number, (where, batch) in enumerate(interrupted(iterator.__next__, returns=False)):
        state = loader.state_dict()
        source, values = next(iterator) if batch is None else batch
        assert source.tolist() == [2 * number, 2 * number + 1], where
        if batch is None and number % 3 == 0:
            resumed = PipelineLoader(two_sources, size=1 << 20)
            resumed.load_state_dict(state)
            again = next(iter(resumed))
            assert torch.equal(again[0], source), where
            assert torch.equal(again[1], values), where
            resumed.close()
