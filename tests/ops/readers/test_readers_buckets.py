# SPDX-License-Identifier: Apache-2.0
"""bucket_by of readers: batches of like length, epochs and shards, checkpoints, refusals."""

from __future__ import annotations

import io
import itertools
import tarfile

import numpy as np
import pytest
from helpers import protobuf as pb
from helpers.record_files import write_tfrecord

from torchdali import fn, pipeline_def, tfrecord
from torchdali.errors import ArgumentError, FileError

OPERATORS = ["readers.file", "readers.tfrecord", "readers.webdataset"]
COUNT, BATCH = 211, 4
# Like those of clips of speech.
LENGTHS = (np.random.default_rng(5).lognormal(5, 0.7, COUNT)).astype(int) + 1


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / f"{i}.bin" for i in range(COUNT)]
    for path, length in zip(paths, LENGTHS, strict=True):
        path.write_bytes(bytes(int(length)))
    return [str(path) for path in paths]


def reader(files, checkpoint=None, seed=3, **args):
    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=seed)
    def define():
        return fn.readers.file(files=files, name="files", **args)

    pipe = define(checkpoint=checkpoint, enable_checkpointing=True)
    pipe.build()
    return pipe


def next_batches(pipe, count):
    """Returns the labels of batches, which are the numbers of the files."""
    return [pipe.run()[1].as_array().ravel().tolist() for _ in range(count)]


def padding(batches, lengths=LENGTHS):
    """Returns the share of batches that is padding, if each is as long as its longest sample."""
    padded = sum(len(batch) * max(lengths[batch]) for batch in batches)
    return 1 - sum(lengths[i] for batch in batches for i in batch) / padded


@pytest.mark.parametrize("order", [{}, {"random_shuffle": True}, {"shuffle_after_epoch": True}])
def test_an_epoch_has_each_sample_once_and_little_padding(files, order):
    # Epochs begin inside of batches.
    pipe = reader(files, bucket_by="size", **order)
    plain = reader(files, **order)
    epochs = [np.concatenate(next_batches(one, COUNT)) for one in (pipe, plain)]
    for begin in range(0, BATCH * COUNT, COUNT):
        assert sorted(epochs[0][begin : begin + COUNT]) == list(range(COUNT))
    shares = [padding(epoch.reshape(-1, BATCH)) for epoch in epochs]
    assert shares[1] > 0.3
    assert shares[0] < 0.25 * shares[1]


def test_without_shuffling_a_window_is_sorted_stably(files):
    got = next_batches(reader(files, bucket_by="size", bucket_window=10), COUNT // BATCH)
    bounds = np.linspace(0, COUNT // BATCH, 7).astype(int) * BATCH  # 6 windows of 52 batches
    expected = np.arange(COUNT // BATCH * BATCH)
    for begin, end in itertools.pairwise(bounds):
        expected[begin:end] = begin + np.argsort(LENGTHS[begin:end], kind="stable")
    assert np.concatenate(got).tolist() == expected.tolist()


def test_batches_are_shuffled_if_samples_are(files):
    batches = next_batches(reader(files, bucket_by="size", random_shuffle=True), COUNT // BATCH)
    longest = [max(LENGTHS[batch]) for batch in batches]
    assert longest != sorted(longest)
    assert batches == next_batches(
        reader(files, bucket_by="size", random_shuffle=True), COUNT // BATCH
    )


def test_the_last_batch_of_an_epoch_is_what_it_is_without_buckets(files):
    args = {"random_shuffle": True, "pad_last_batch": True}
    whole = COUNT // BATCH
    last = [
        next_batches(reader(files, **args, **by), whole + 1)[-1]
        for by in ({"bucket_by": "size"}, {})
    ]
    assert last[0] == last[1]
    assert last[0][-2] == last[0][-1]  # repeated, as without buckets


@pytest.mark.parametrize("pads", [False, True])
def test_shards_are_disjoint_and_those_without_buckets(files, pads):
    def shard(i, **by):
        args = {"num_shards": 3, "shard_id": i, "stick_to_shard": True, "random_shuffle": True}
        pipe = reader(files, pad_last_batch=pads, **args, **by)
        size = COUNT * (i + 1) // 3 - COUNT * i // 3
        return np.concatenate(next_batches(pipe, -(-size // BATCH)))[:size]

    shards = [shard(i, bucket_by="size") for i in range(3)]
    assert sorted(np.concatenate(shards)) == list(range(COUNT))
    for i, one in enumerate(shards):
        assert sorted(one) == sorted(shard(i))


def test_a_checkpoint_resumes_at_each_batch(files):
    args = {"bucket_by": "size", "bucket_window": 7, "random_shuffle": True}
    pipe = reader(files, **args)
    expected = next_batches(pipe, 2 * COUNT // BATCH)
    pipe = reader(files, **args)
    for taken in range(0, 2 * COUNT // BATCH - 3, 9):
        pipe = reader(files, **args)
        next_batches(pipe, taken)
        resumed = reader(files, checkpoint=pipe.checkpoint(), **args)
        assert next_batches(resumed, 3) == expected[taken : taken + 3]


def test_a_checkpoint_of_another_order_is_refused(files):
    state = reader(files, bucket_by="size", random_shuffle=True).checkpoint()
    with pytest.raises(ArgumentError, match="`bucket_window` is 5, in the checkpoint it is 100"):
        reader(files, state, bucket_by="size", bucket_window=5, random_shuffle=True)
    with pytest.raises(ArgumentError, match="made with `bucket_by`"):
        reader(files, state, random_shuffle=True)


def test_reading_ahead_does_not_change_the_order(files):
    args = {"bucket_by": "size", "bucket_window": 3, "random_shuffle": True}
    ahead = reader(files, read_ahead=True, prefetch_queue_depth=40, **args)
    assert next_batches(ahead, COUNT) == next_batches(reader(files, **args), COUNT)


def sizes_of(define):
    """Returns the sizes of the samples of two batches of four."""

    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def sizes():
        return define()

    pipe = sizes()
    pipe.build()
    return [len(sample) for _ in range(2) for sample in map(np.asarray, pipe.run()[0])]


def test_records_are_sorted_by_the_sizes_in_the_index(tmp_path):
    lengths = [70, 10, 50, 30, 20, 80, 60, 40]
    messages = [pb.example({"x": pb.bytes_list([bytes(n)])}) for n in lengths]
    args = write_tfrecord(tmp_path / "a.tfrecord", messages)
    features = {"x": tfrecord.FixedLenFeature([], tfrecord.string, "")}
    records = sizes_of(
        lambda: fn.readers.tfrecord(**args, features=features, bucket_by="size")["x"]
    )
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i, n in enumerate(lengths):
            info = tarfile.TarInfo(f"{i}.bin")
            info.size = n
            tar.addfile(info, io.BytesIO(bytes(n)))
    members = sizes_of(
        lambda: fn.readers.webdataset(paths=str(tmp_path / "a.tar"), ext=["bin"], bucket_by="size")
    )
    assert records == members == sorted(lengths)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"bucket_by": "duration"}, '`bucket_by` is "duration", and this reader has no such'),
        ({"bucket_by": ""}, '`bucket_by` is ""'),
        ({"bucket_by": "size", "bucket_window": 0}, "`bucket_window` is 0, expected 1 or more"),
        ({"bucket_window": 5}, "`bucket_window` is given without `bucket_by`"),
    ],
)
def test_arguments_that_cannot_work_are_errors(files, args, text):
    with pytest.raises(ArgumentError, match=text):
        reader(files, **args)


def test_files_without_a_size_are_errors(tmp_path):
    absent = str(tmp_path / "absent.bin")
    with pytest.raises(FileError, match=r'cannot get the size of ".*absent\.bin"'):
        reader([absent], bucket_by="size")
    with pytest.raises(ArgumentError, match="is remote: its size takes a request"):
        reader(["s3://bucket/a.bin"], bucket_by="size")
