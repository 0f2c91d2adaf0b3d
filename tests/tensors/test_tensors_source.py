# SPDX-License-Identifier: Apache-2.0
"""source_info(): the file that a sample of an output was made from."""

from __future__ import annotations

import gc
import os
import pickle

import numpy as np
import pytest
import torch
from helpers import dali_oracle
from torch.multiprocessing.reductions import StorageWeakRef

from torchdali import fn, pipeline_def, tensors, types
from torchdali.tensors import TensorCPU, TensorListCPU


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{i}.bin" for i in range(5)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * (1 + i))
    return [str(path) for path in paths]


@pipeline_def(batch_size=2, num_threads=2)
def reading(paths):
    data, label = fn.readers.file(files=paths, name="reader")
    number = fn.random.uniform(range=(0, 1))
    return data, fn.cast(data, dtype=types.FLOAT), number, label


def sources(batch):
    return [sample.source_info() for sample in batch]


def test_source_info_is_the_file_of_a_sample(files):
    pipe = reading(files)
    taken = []
    for _ in range(5):
        data, floats, numbers, labels = pipe.run()
        assert sources(floats) == sources(data) == sources(labels)
        assert [len(np.array(sample)) for sample in data] == [
            os.path.getsize(path) for path in sources(data)
        ]
        assert sources(numbers) == ["", ""]
        assert data[-1].source_info() == data[1].get_property("source_info") == sources(data)[1]
        taken += sources(data)
    assert taken == files * 2


def test_names_that_are_not_utf8_are_decoded_like_paths_in_python(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xfe.bin"
    with open(name, "wb") as file:
        file.write(b"x")
    (data, *_) = reading([name, name]).run()
    assert os.fsencode(data[0].source_info()) == name


def test_paths_are_relative_to_the_folder_as_in_dali(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jpg").write_bytes(b"x")

    @pipeline_def(batch_size=1, num_threads=1)
    def folder():
        return fn.readers.file(file_root=str(tmp_path))[0]

    assert sources(folder().run()[0]) == ["a/x.jpg"]


def test_names_outlive_the_pipeline_and_keep_no_data(files):
    pipe = reading(files)
    (data, *_) = pipe.run()
    names = data._names
    storage = StorageWeakRef(data[0].as_torch().untyped_storage())
    pipe.close()
    del pipe
    first = data[0].source_info()
    del data
    gc.collect()
    assert storage.expired()
    assert names[0] == first
    with pytest.raises(IndexError):
        names[2]


def test_samples_and_batches_with_names_can_be_pickled(files):
    data, floats, numbers, _ = reading(files).run()
    for batch in (data, floats, numbers):
        again = pickle.loads(pickle.dumps(batch))
        assert type(again) is TensorListCPU
        assert again.layout() == batch.layout()
        assert sources(again) == sources(batch)
        for one, other in zip(batch, again, strict=True):
            assert torch.equal(one.as_torch(), other.as_torch())
            sample = pickle.loads(pickle.dumps(one))
            assert torch.equal(sample.as_torch(), one.as_torch())
            assert (sample.source_info(), sample.layout()) == (one.source_info(), one.layout())


def test_a_pickled_sample_has_nothing_of_its_batch():
    batch = TensorListCPU(np.zeros((100, 1000), np.uint8), layout="C")
    assert len(pickle.dumps(batch[0])) < 2000
    ragged = TensorListCPU(list(batch.as_torch()))
    assert len(pickle.dumps(ragged)) < 2 * len(pickle.dumps(batch))


def test_batches_made_of_samples_keep_their_names(files):
    (data, *_) = reading(files).run()
    again = TensorListCPU([data[1], data[0], TensorCPU(np.zeros(3, np.uint8))])
    assert sources(again) == [files[1], files[0], ""]
    assert sources(TensorListCPU(data)) == files[:2]
    assert TensorCPU(data[1]).source_info() == files[1]
    assert sources(TensorListCPU.broadcast(data[1], 2)) == [files[1]] * 2
    data.reset()
    assert sources(data) == []


def test_errors_name_the_file(files):
    os.truncate(files[1], 0)

    @pipeline_def(batch_size=2, num_threads=1)
    def decoding():
        data, _ = fn.readers.file(files=files)
        return fn.decoders.image(fn.copy(data))

    with pytest.raises(RuntimeError) as caught:
        decoding().run()
    assert caught.value.source == files[0]


@pytest.mark.dali
def test_source_info_equals_dali(files):
    nodes = [
        {"op": "readers.file", "args": {"files": files}, "outputs": ["data", "label"]},
        {"op": "copy", "inputs": ["data"], "outputs": ["copied"]},
        {"op": "cast", "inputs": ["copied"], "args": {"dtype": types.FLOAT}, "outputs": ["cast"]},
        {"op": "random.coin_flip", "outputs": ["coin"]},
    ]
    names = ["data", "copied", "cast", "coin"]
    ((*theirs,),) = dali_oracle.run_graph(nodes, names, batch_size=3)

    @pipeline_def(batch_size=3, num_threads=1)
    def same():
        data, _ = fn.readers.file(files=files)
        copied = fn.copy(data)
        return data, copied, fn.cast(copied, dtype=types.FLOAT), fn.random.coin_flip()

    for ours, output in zip(same().run(), theirs, strict=True):
        assert sources(ours) == output.source_info


def test_outputs_without_names_need_no_handle():
    assert tensors.wrap(torch.zeros(2, 2), "X")[0].source_info() == ""
