# SPDX-License-Identifier: Apache-2.0
"""Iterators over the engine: readers, external sources, failing samples, batches that are kept."""

import gc
import os

import numpy as np
import pytest
import torch

from torchdali import fn, pipeline_def
from torchdali.plugin.pytorch import DALIGenericIterator, DALIRaggedIterator, LastBatchPolicy

EPOCH = 50


@pytest.fixture
def paths(tmp_path):
    paths = [tmp_path / f"{i}.bin" for i in range(EPOCH)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * (1 + i % 7))
    return [str(path) for path in paths]


def reader(paths, batch_size=8, num_threads=2, depth=2, **args):
    @pipeline_def(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None,
        seed=3,
        prefetch_queue_depth=depth,
    )
    def pipeline():
        return tuple(fn.readers.file(name="files", files=paths, **args))

    return pipeline()


def ragged(pipelines, **options):
    return DALIRaggedIterator(
        pipelines,
        ["data", "label"],
        reader_name="files",
        output_types=[DALIRaggedIterator.SPARSE_LIST_TAG, DALIRaggedIterator.DENSE_TAG],
        **options,
    )


def check(batch):
    """Every file holds its label, 1 + label % 7 times."""
    labels = batch["label"].flatten().tolist()
    assert len(batch["data"]) == len(labels)
    for data, label in zip(batch["data"], labels, strict=True):
        assert data.tolist() == [label] * (1 + label % 7)
    return labels


@pytest.mark.parametrize(("threads", "depth"), [(1, 1), (2, 2), (4, 7)])
def test_each_epoch_has_each_sample_once_with_its_label(paths, threads, depth):
    iterator = ragged(
        reader(paths, num_threads=threads, depth=depth, random_shuffle=True, pad_last_batch=True),
        last_batch_policy=LastBatchPolicy.PARTIAL,
        auto_reset=True,
    )
    orders = []
    for _ in range(4):
        orders.append([label for batch in iterator for label in check(batch[0])])
        assert sorted(orders[-1]) == list(range(EPOCH))
    assert len({tuple(order) for order in orders}) == 4
    assert len(iterator) == 7


def test_several_pipelines_share_the_data_set(paths):
    shards = [
        reader(paths, shard_id=i, num_shards=3, pad_last_batch=True, stick_to_shard=True)
        for i in range(3)
    ]
    iterator = ragged(shards, last_batch_policy=LastBatchPolicy.PARTIAL)
    for _ in range(2):
        seen = [label for batch in iterator for part in batch for label in check(part)]
        assert sorted(seen) == list(range(EPOCH))


def test_batches_that_the_user_keeps_do_not_change(paths):
    iterator = ragged(reader(paths, random_shuffle=True), auto_reset=True)
    kept = [batch[0] for _ in range(5) for batch in iterator]
    copies = [([d.clone() for d in b["data"]], b["label"].clone()) for b in kept]
    for _ in range(5):
        for _ in iterator:
            pass
    del iterator
    gc.collect()
    for batch, (data, label) in zip(kept, copies, strict=True):
        check(batch)
        assert torch.equal(batch["label"], label)
        assert all(torch.equal(a, b) for a, b in zip(batch["data"], data, strict=True))


def test_a_sample_that_cannot_be_read_skips_its_batch_only(paths):
    os.remove(paths[20])
    iterator = ragged(reader(paths, pad_last_batch=True))
    seen = [check(next(iterator)[0]) for _ in range(2)]
    with pytest.raises(OSError, match=r"20\.bin"):
        next(iterator)
    with pytest.warns(RuntimeWarning, match="not over"):
        seen += [check(batch[0]) for batch in iterator]
    assert len(seen) == 6
    iterator.reset()
    assert check(next(iterator)[0]) == list(range(8))


def test_an_iterator_may_be_left_at_any_time(paths):
    for taken in range(4):
        iterator = ragged(reader(paths, depth=3, random_shuffle=True))
        for _ in range(taken):
            next(iterator)
        del iterator


def source(batches, cycle=None, per_batch=4):
    @pipeline_def(batch_size=per_batch, num_threads=2, device_id=None)
    def pipeline():
        return fn.external_source(source=batches, cycle=cycle)

    return pipeline()


@pytest.mark.parametrize("auto_reset", [False, True])
def test_an_external_source_ends_the_epoch(auto_reset):
    class Batches:
        def __iter__(self):
            for i in range(3):
                yield np.full((4, 2), i, dtype=np.float32)

    iterator = DALIGenericIterator(source(Batches(), "raise"), ["x"], auto_reset=auto_reset)
    for _ in range(3):
        assert [int(batch[0]["x"][0, 0]) for batch in iterator] == [0, 1, 2]
        if not auto_reset:
            iterator.reset()


@pytest.mark.parametrize("size", [12, 8, 100])
def test_an_external_source_with_a_size_starts_each_epoch(size):
    def batches():
        for i in range(3):
            yield np.full((4, 2), i, dtype=np.float32)

    iterator = DALIGenericIterator(source(batches, "raise"), ["x"], size=size, auto_reset=True)
    lengths = [len(list(iterator)) for _ in range(3)]
    assert lengths[0] == min(3, size // 4)
    assert all(length > 0 for length in lengths)


def test_an_exception_of_the_source_comes_after_the_batches_before_it():
    def batches():
        yield np.zeros((4, 2), dtype=np.float32)
        yield np.ones((4, 2), dtype=np.float32)
        raise KeyError("no such record")

    iterator = DALIGenericIterator(source(batches), ["x"])
    assert [int(next(iterator)[0]["x"][0, 0]) for _ in range(2)] == [0, 1]
    with pytest.raises((KeyError, RuntimeError), match="no such record"):
        next(iterator)
