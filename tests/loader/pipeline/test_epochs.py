# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: epochs, their lengths, leaving and starting loops."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DistributedSampler

from tests.loader.pipeline.numbered_files import counted, labels, numbers, write_numbers
from torchdali import Pipeline, PipelineLoader, fn, pipeline_def
from torchdali.loader._pipeline.epochs import SHARD_POLICIES, EpochShard, Position


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_numbers(tmp_path_factory.mktemp("numbers"), 23)


def loader_of(root, **options):
    return PipelineLoader(numbers, pipeline_args={"root": root}, **options)


def test_an_epoch_has_every_sample_once(root):
    loader = loader_of(root)
    assert len(loader) == 6
    assert labels(loader) == list(range(23))
    assert [len(batch["label"]) for batch in loader] == [4, 4, 4, 4, 4, 3]


def test_the_order_depends_on_seed_and_epoch(root):
    first, second = loader_of(root, shuffle=True, seed=3), loader_of(root, shuffle=True, seed=3)
    epochs = [labels(first) for _ in range(3)]
    assert all(sorted(epoch) == list(range(23)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    second.set_epoch(2)
    assert labels(second) == epochs[2]
    assert labels(loader_of(root, shuffle=True, seed=4)) != epochs[0]


def test_the_reader_decides_about_shuffling(root):
    for reader, shuffles in (({}, False), ({"random_shuffle": True}, True)):
        loader = PipelineLoader(numbers(root, reader))
        assert (labels(loader) != list(range(23))) is shuffles
    loader = PipelineLoader(numbers(root, {"shuffle_after_epoch": True}), shuffle=False)
    assert labels(loader) == list(range(23))


def test_a_loop_that_is_left_counts_as_an_epoch(root):
    loader = loader_of(root, shuffle=True)
    epochs = [labels(loader) for _ in range(3)]
    loader.set_epoch(0)
    for batch in loader:
        assert labels([batch]) == epochs[0][:4]
        assert loader.epoch == 0
        break
    assert labels(loader) == epochs[1]
    assert loader.epoch == 2


def test_the_sampler_attribute_sets_the_epoch(root):
    loader = loader_of(root, shuffle=True)
    expected = [labels(loader), labels(loader)]
    loader.batch_sampler.sampler.set_epoch(1)
    assert labels(loader) == expected[1]


def test_set_epoch_applies_to_a_loop_without_a_batch(root):
    loader = loader_of(root, shuffle=True)
    expected = [labels(loader) for _ in range(4)]
    loader.set_epoch(0)
    loop = iter(loader)
    loader.set_epoch(2)
    assert loader.epoch == 2
    assert labels(loop) == expected[2]
    assert labels(loader) == expected[3]


def test_a_loop_without_a_batch_does_not_count(root):
    loader = loader_of(root, shuffle=True)
    expected = [labels(loader) for _ in range(2)]
    loader.set_epoch(0)
    for _ in range(3):
        iter(loader)
    assert labels(loader) == expected[0]
    assert labels(loader) == expected[1]


def test_set_epoch_during_a_loop_applies_to_the_next(root):
    loader = loader_of(root, shuffle=True)
    expected = [labels(loader) for _ in range(4)]
    loader.set_epoch(0)
    loop = iter(loader)
    next(loop)
    loader.set_epoch(3)
    assert loader.epoch == 3
    assert labels(loop) == expected[0][4:]
    assert labels(loader) == expected[3]


def test_an_exception_in_the_body_leaves_the_loader_usable(root):
    loader = loader_of(root)

    def train():
        for batch in loader:
            assert not len(batch["label"])

    with pytest.raises(AssertionError):
        train()
    assert labels(loader) == list(range(23))


def test_a_new_loop_ends_the_older_one(root):
    loader = loader_of(root)
    older = iter(loader)
    next(older)
    newer = iter(loader)
    assert labels([next(newer)]) == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match=r"(?s)the loop is over.*second PipelineLoader"):
        next(older)
    assert labels(newer) == list(range(4, 23))
    assert list(newer) == []


def test_two_loaders_work_at_the_same_time(root):
    one, two = (loader_of(root, shuffle=True, seed=1) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert torch.equal(a["label"], b["label"])


def test_calling_iter_at_any_time_leaks_nothing(root):
    loader = loader_of(root, shuffle=True)
    threads = None
    for taken in range(200):
        for number, _ in enumerate(loader):
            if number == taken % 7:
                break
        threads = threads or threading.active_count()
    gc.collect()
    assert threading.active_count() == threads
    assert len(labels(loader)) == 23


def test_the_batch_size_may_change_between_epochs(root):
    loader = loader_of(root)
    assert loader.batch_size == 4
    for size in (3, 10, 4, 23, 1):
        loader.batch_size = size
        assert len(loader) == -(-23 // size)
        batches = list(loader)
        assert [len(b["label"]) for b in batches[:-1]] == [size] * (len(batches) - 1)
        assert labels(batches) == list(range(23))


def test_a_larger_batch_size_needs_the_pipeline_function(root):
    pipe = Pipeline(batch_size=2, num_threads=1)
    with pipe:
        pipe.set_outputs(*fn.readers.file(file_list=str(root / "list.txt")))
    loader = PipelineLoader(pipe)
    assert isinstance(next(iter(loader)), tuple)
    loader.batch_size = 1
    assert len(list(loader)) == 23
    loader.batch_size = 3
    with pytest.raises(ValueError, match="the pipeline was made for 2"):
        iter(loader)


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, [4, 4, 4, 4, 4, 3]),
        ({"drop_last": True}, [4] * 5),
        ({"pad_last": True}, [4] * 6),
    ],
)
def test_last_batch_policies_apply_to_the_last_batch(root, options, sizes):
    loader = loader_of(root, mask="valid", **options)
    assert len(loader) == len(sizes)
    batches = list(loader)
    assert [len(b["label"]) for b in batches] == sizes
    valid = torch.cat([b["valid"] for b in batches])
    assert valid.dtype == torch.bool
    assert labels(batches)[: int(valid.sum())] == list(range(min(23, sum(sizes))))


def test_pad_last_batch_of_the_reader_applies(root):
    batches = list(PipelineLoader(numbers(root, {"pad_last_batch": True}), mask=True))
    assert [len(mask) for _, mask in batches] == [4] * 6
    assert batches[-1][1].tolist() == [True, True, True, False]


def test_size_is_the_length_of_an_epoch_without_a_reader():
    @pipeline_def(batch_size=4, num_threads=2, seed=5)
    def noise():
        return fn.random.uniform(range=[0.0, 1.0])

    loader = PipelineLoader(noise, size=10)
    epochs = [torch.cat(list(loader)) for _ in range(2)]
    assert [len(e) for e in epochs] == [10, 10]
    assert not torch.equal(*epochs)
    loader.set_epoch(0)
    assert torch.equal(torch.cat(list(loader)), epochs[0])
    with pytest.raises(ValueError, match="(?s)its data never ends.*pass `size`"):
        len(PipelineLoader(noise))


def test_external_sources_end_an_epoch():
    loader = PipelineLoader(counted(10))
    with pytest.raises(TypeError, match="no length"):
        len(loader)
    for _ in range(2):
        assert labels(loader) == list(range(10))
    for batch in loader:
        assert labels([batch]) == [0, 1, 2, 3]
        break
    assert labels(loader) == list(range(10))
    sized = PipelineLoader(counted(10), size=9)
    assert len(sized) == 3
    for _ in range(2):
        assert labels(sized) == list(range(9))


def test_an_error_skips_one_batch():
    class Fails:
        def __call__(self, iteration):
            if iteration == 2:
                raise RuntimeError("third")
            if iteration == 4:
                raise StopIteration
            return [np.full(1, iteration, np.int32)] * 4

    @pipeline_def(batch_size=4, num_threads=2)
    def failing():
        return {"label": fn.external_source(source=Fails())}

    loop = iter(PipelineLoader(failing))
    assert [labels([next(loop)])[0] for _ in range(2)] == [0, 1]
    with pytest.raises(RuntimeError, match="third"):
        next(loop)
    assert [labels([b])[0] for b in loop] == [3]


def test_several_pipelines_are_shards(root):
    loader = PipelineLoader([numbers(root), numbers(root)], shards="exact")
    assert len(loader) == 3
    batches = list(loader)
    assert all(len(batch) == 2 for batch in batches)
    found = [labels(pair[i] for pair in batches) for i in range(2)]
    assert found == [list(range(0, 23, 2)), list(range(1, 23, 2))]


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize("drop_last", [False, True])
def test_counts_equal_distributed_sampler(root, world_size, drop_last):
    for rank in range(world_size):
        sampler = DistributedSampler(
            range(23), world_size, rank, shuffle=False, drop_last=drop_last
        )
        loader = loader_of(root, rank=rank, world_size=world_size, drop_last=drop_last)
        found, expected = labels(loader), list(sampler)
        assert found == expected[: len(expected) // 4 * 4] if drop_last else found == expected


any_epoch = given(  # size, shards, batch size, policy, drop_last, samples that the ranks had
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(1, 9),
    st.sampled_from(SHARD_POLICIES),
    st.booleans(),
    st.integers(0, 60),
)


@any_epoch
def test_shards_of_epochs_cover_all_samples(
    size, num_shards, batch_size, policy, drop_last, consumed
):
    begin = Position(0, min(size, consumed), 3)
    shards = [
        EpochShard(size, begin, s, num_shards, batch_size, policy, drop_last)
        for s in range(num_shards)
    ]
    plans = [shard.epoch_plan(False) for shard in shards]
    places = [
        begin.consumed + k * num_shards + rank
        for rank, plan in enumerate(plans)
        for k in range(plan["count"])
    ]
    assert len(places) == len(set(places))
    if not drop_last:
        assert set(range(begin.consumed, size)) <= set(places)
    if policy != "exact":
        assert len({plan["count"] for plan in plans}) == 1
    elif not drop_last:
        assert sorted(places) == list(range(begin.consumed, size))
    for shard, plan in zip(shards, plans, strict=True):
        masks = [shard.valid(i) for i in range(shard.batches)]
        assert sum(map(len, masks)) == plan["count"]
        if shard.batches and not drop_last and num_shards == 1:
            assert shard.position_after(shard.batches - 1).consumed == size


@any_epoch
def test_all_ranks_agree_about_the_position(
    size, num_shards, batch_size, policy, drop_last, consumed
):
    begin = Position(0, min(size, consumed), 3)
    shards = [
        EpochShard(size, begin, s, num_shards, batch_size, policy, drop_last)
        for s in range(num_shards)
    ]
    had = begin.consumed
    for number in range(max(shard.batches for shard in shards)):
        running = [shard for shard in shards if shard.batches > number]
        had += sum(shard.in_batch(number) for shard in shards)
        positions = {shard.position_after(number) for shard in running}
        assert len(positions) == 1
        if policy == "exact" and not drop_last:
            assert positions.pop().consumed == had


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shards": "even"}, 'expected one of "equal"'),
        ({"drop_last": True, "pad_last": True}, "exclude each other"),
        ({"seed": -1}, "`seed` is -1"),
        ({"batch_size": 0}, "`batch_size` is 0"),
        ({"rank": 1}, "pass both"),
        ({"rank": 2, "world_size": 2}, "expected 0 to"),
        ({"mask": 3}, "`mask` is 3"),
    ],
)
def test_wrong_arguments_are_errors(root, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        loader_of(root, **options)


def test_unsuitable_pipelines_are_errors():
    with pytest.raises(ValueError, match="`pipelines` is empty"):
        PipelineLoader([])
    with pytest.raises(TypeError, match="has a int, expected a Pipeline"):
        PipelineLoader(3)
    with pytest.raises(TypeError, match="(?s)returns a int.*pipeline_def"):
        len(PipelineLoader(lambda: 3))
    with pytest.raises(NotImplementedError, match="debug mode"):
        iter(PipelineLoader(counted(3, debug=True)))


def test_a_reader_knows_its_size(root):
    with pytest.raises(ValueError, match="`size` is 3, but the reader `files` knows"):
        len(loader_of(root, size=3))
