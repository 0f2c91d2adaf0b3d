# SPDX-License-Identifier: Apache-2.0
"""Readers of DALI's dynamic mode: epochs, samples one by one, states, files of images."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import protobuf as pb
from helpers.cases import for_each
from helpers.image_files import encode, photo_like
from helpers.record_files import write_tfrecord

import torchdali.experimental.dynamic as ndd
from torchdali import errors, fn, pipeline_def, tfrecord
from torchdali import functional as F
from torchdali.experimental import eager


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for index in range(10):
        home = tmp_path / str(index % 2)
        home.mkdir(exist_ok=True)
        (home / f"{index}.jpg").write_bytes(bytes(range(index + 1)))
    return str(tmp_path)


def shuffled(folder: str, **options: Any) -> ndd.readers.File:
    return ndd.readers.File(
        file_root=folder, random_shuffle=True, seed=5, initial_fill=4, **options
    )


def sizes(epoch: Any) -> list[list[int]]:
    """Returns the lengths of the files of each batch, which tell them apart."""
    return [
        [files.size] if isinstance(files, ndd.Tensor) else [shape[0] for shape in files.shape]
        for files, _ in epoch
    ]


@for_each("batch_size", [None, 1, 3, 4, 10])
def test_epochs_are_those_of_a_pipeline(folder, batch_size):
    @pipeline_def(batch_size=10, num_threads=1, device_id=None)
    def definition():
        return fn.readers.file(
            file_root=folder, random_shuffle=True, seed=5, initial_fill=4, pad_last_batch=True
        )

    pipe, reader = definition(), shuffled(folder)
    for _ in range(3):
        expected = [len(one) for one in pipe.run()[0].as_torch_list()]
        found = sizes(reader.next_epoch(batch_size))
        step = batch_size or 1
        assert found == [expected[i : i + step] for i in range(0, 10, step)]


def test_an_epoch_that_is_left_is_skipped(folder):
    whole = shuffled(folder)
    expected = [sizes(whole.next_epoch(4)) for _ in range(2)]
    reader = shuffled(folder)
    left = reader.next_epoch(4)
    next(left)
    assert sizes(reader.next_epoch(4)) == expected[1]
    with pytest.raises(errors.PipelineError, match="another epoch of the reader has begun"):
        next(left)
    assert reader.get_metadata(4).num_batches == 3
    assert reader.get_metadata().epoch_size == 10


@for_each("taken", [0, 1, 2, 3])
def test_a_state_continues_the_epoch(folder, taken):
    reader = shuffled(folder, enable_checkpointing=True)
    list(reader.next_epoch(4))
    epoch = reader.next_epoch(4)
    for _ in range(taken):
        next(epoch)
    state = pickle.loads(pickle.dumps(reader.get_state()))
    other = shuffled(folder, enable_checkpointing=True)
    other.set_state(state)
    rest = sizes(epoch)
    if taken < 3:
        assert sizes(other.next_epoch(4)) == rest
    else:
        assert rest == []
    assert sizes(other.next_epoch(4)) == sizes(reader.next_epoch(4))
    with pytest.raises(errors.PipelineError, match="enable_checkpointing=True"):
        shuffled(folder).get_state()


def test_errors_of_readers(folder):
    with pytest.raises(errors.ArgumentError, match=r"dynamic\.readers\.file: .*`file_rot`"):
        ndd.readers.File(file_rot=folder)
    with pytest.raises(errors.FileError, match="missing"):
        next(ndd.readers.File(file_root=f"{folder}/missing").next_epoch())
    with pytest.raises(errors.UnsupportedError, match="capture"):
        shuffled(folder).next_epoch(4, capture=True)
    with pytest.raises(errors.ArgumentError, match="got 5"):
        shuffled(folder, max_batch_size=4).next_epoch(5)


def test_images_are_read_and_decoded(tmp_path):
    paths = []
    for width in (20, 31):
        path = tmp_path / f"{width}.jpg"
        path.write_bytes(encode(photo_like(24, width, seed=width)))
        paths.append(str(path))
    expected = [F.decode(path) for path in paths]
    assert torch.equal(ndd.imread(paths[0]).torch(), expected[0])
    for made, image in zip(ndd.imread(paths), expected, strict=True):
        assert torch.equal(made.torch(), image)
    reader = ndd.readers.File(files=paths)
    for (files, _), image in zip(reader.next_epoch(), expected, strict=True):
        assert torch.equal(ndd.decoders.image(files).torch(), image)


def test_outputs_with_names_come_by_name(tmp_path):
    def message(index: int) -> bytes:
        image = pb.bytes_list([bytes([index]) * (index + 1)])
        return pb.example({"image": image, "label": pb.int64_list([index])})

    features = {
        "image": tfrecord.FixedLenFeature([], tfrecord.string, ""),
        "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
    }
    files = write_tfrecord(tmp_path / "data", map(message, range(3)))
    reader = ndd.readers.TFRecord(features=features, **files)
    found = [(one["image"].size, one["label"].item()) for one in reader.next_epoch()]
    assert found == [(1, 0), (2, 1), (3, 2)]
    sizes_of_batches = [one["image"].batch_size for one in reader.next_epoch(2)]
    assert sizes_of_batches == [2, 1]


@for_each("face", ["eager", "dynamic"])
def test_errors_of_data_name_the_reader_and_the_file(face, tmp_path):
    files = write_tfrecord(tmp_path / "broken", [b"\x0a\xff"])
    features = {"image": tfrecord.FixedLenFeature([], tfrecord.string, "")}
    if face == "dynamic":
        epoch = ndd.readers.TFRecord(features=features, **files).next_epoch(2)
        name = r"dynamic\.readers\.tfrecord"
    else:
        (tmp_path / "a.npy").write_bytes(b"no array")
        epoch = eager.readers.numpy(files=[str(tmp_path / "a.npy")], batch_size=2)
        name = r"eager\.readers\.numpy"
    with pytest.raises(errors.TorchdaliError, match=rf"{name}: (.|\n)*(broken|a\.npy)"):
        next(epoch)
