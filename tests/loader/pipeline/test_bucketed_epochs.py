# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader(bucket_by=...): batches of like length on all ranks, and resuming."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from tests.loader.pipeline.numbered_files import counted
from torchdali import PipelineLoader, fn, pipeline_def
from torchdali.errors import ArgumentError, ArgumentTypeError

COUNT = 157
LENGTHS = (np.random.default_rng(5).lognormal(5, 0.7, COUNT)).astype(int) + 1


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / f"{i}.bin" for i in range(COUNT)]
    for path, length in zip(paths, LENGTHS, strict=True):
        path.write_bytes(bytes(int(length)))
    return [str(path) for path in paths]


@pipeline_def(batch_size=4, num_threads=1)
def numbers(files, **args):
    return fn.readers.file(files=files, **args)[1]


@pipeline_def(batch_size=4, num_threads=1)
def pairs(files, **args):
    return fn.readers.file(files=files)[1], fn.readers.file(files=files, **args)[1]


def loader_of(files, reader=None, **options):
    options = {"shuffle": True, "seed": 3, "shards": "exact", **options}
    return PipelineLoader(numbers, pipeline_args={"files": files, **(reader or {})}, **options)


def epoch(loader):
    return [batch.tolist() for batch in loader]


def longest(batch):
    return max(LENGTHS[batch])


def padding(batches):
    padded = sum(len(batch) * longest(batch) for batch in batches)
    return 1 - sum(LENGTHS[i] for batch in batches for i in batch) / padded


@pytest.mark.parametrize("world_size", [1, 3])
def test_ranks_have_every_sample_once_and_little_padding(files, world_size):
    def ranks(**options):
        loaders = [
            loader_of(files, rank=r, world_size=world_size, **options) for r in range(world_size)
        ]
        return [epoch(loader) for loader in loaders]

    with_buckets, plain = ranks(bucket_by="size"), ranks()
    batches = list(itertools.chain(*with_buckets))
    assert sorted(itertools.chain(*batches)) == list(range(COUNT))
    assert padding(batches) < 0.35 * padding(list(itertools.chain(*plain)))
    # Ranks that wait for each other have batches of like length, too.
    shares = [
        padding([[*itertools.chain(*step)] for step in zip(*one, strict=False)])
        for one in (with_buckets, plain)
    ]
    assert shares[0] < 0.5 * shares[1]
    assert [len(batch) for batch in with_buckets[0]] == [len(batch) for batch in plain[0]]


def test_epochs_differ_and_repeat(files):
    loader = loader_of(files, bucket_by="size")
    epochs = [epoch(loader) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    loader.set_epoch(1)
    assert epoch(loader) == epochs[1]


def test_the_reader_may_ask_for_buckets(files):
    by_reader = loader_of(files, {"bucket_by": "size", "bucket_window": 5})
    assert epoch(by_reader) == epoch(loader_of(files, bucket_by="size", bucket_window=5))


@pytest.mark.parametrize("world_size", [1, 2])
def test_a_state_resumes_at_each_batch(files, world_size):
    options = {"rank": 0, "world_size": world_size, "bucket_by": "size", "bucket_window": 4}
    loader = loader_of(files, **options)
    expected = epoch(loader)
    loader.set_epoch(0)
    for taken, _ in enumerate(loader, 1):
        resumed = loader_of(files, **options)
        resumed.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert epoch(resumed) == expected[taken:]


@pytest.mark.parametrize(("world_size", "batch_size"), [(1, 4), (3, 4), (2, 6), (4, 2)])
def test_another_number_of_ranks_gets_the_rest_of_the_epoch(files, world_size, batch_size):
    options = {"bucket_by": "size", "bucket_window": 5}
    first = [loader_of(files, rank=r, world_size=2, **options) for r in range(2)]
    taken = [list(itertools.islice(iter(loader), 7)) for loader in first]
    state = first[1].state_dict()
    rest = []
    for rank in range(world_size):
        loader = loader_of(
            files, rank=rank, world_size=world_size, batch_size=batch_size, **options
        )
        loader.load_state_dict(state)
        # Once more in the middle, where the order is still that of the first ranks.
        rest += list(itertools.islice(iter(loader), 2))
        again = loader_of(files, rank=rank, world_size=world_size, batch_size=batch_size, **options)
        again.load_state_dict(loader.state_dict())
        rest += list(again)
    seen = [int(i) for batch in [*itertools.chain(*taken), *rest] for i in batch]
    assert sorted(seen) == list(range(COUNT))


def test_a_state_of_another_order_is_refused(files):
    state = loader_of(files, bucket_by="size").state_dict()
    for options in ({}, {"bucket_by": "size", "bucket_window": 5}):
        loader = loader_of(files, **options)
        loader.load_state_dict(state)
        with pytest.raises(ArgumentError, match="`bucket_.*` of the loader is"):
            iter(loader)
    state = {key: value for key, value in state.items() if not key.startswith("bucket_")}
    loader = loader_of(files)
    loader.load_state_dict(state)  # of an earlier version
    assert len(epoch(loader)) == len(loader)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"bucket_by": 5}, ArgumentTypeError, "`bucket_by` is 5, expected the name of lengths"),
        ({"bucket_window": 5}, ArgumentError, "`bucket_window` without `bucket_by`"),
        ({"bucket_by": "size", "bucket_window": 0}, ArgumentError, "`bucket_window` is 0"),
    ],
)
def test_a_wrong_argument_is_an_error(files, options, error, text):
    with pytest.raises(error, match=text):
        loader_of(files, **options)


def test_unknown_lengths_are_errors(files):
    with pytest.raises(ArgumentError, match='`bucket_by` is "duration", and this reader has no'):
        iter(loader_of(files, bucket_by="duration"))
    with pytest.raises(ArgumentError, match="`bucket_by` is 'size', but the pipeline has no read"):
        iter(PipelineLoader(counted(12), bucket_by="size"))


@pytest.mark.parametrize(
    ("reader", "loader"), [({"bucket_by": "size"}, {}), ({}, {"bucket_by": "size"})]
)
def test_two_readers_would_be_in_different_orders(files, reader, loader):
    with pytest.raises(ArgumentError, match="`bucket_by` with 2 readers"):
        iter(PipelineLoader(pairs, pipeline_args={"files": files, **reader}, **loader))
