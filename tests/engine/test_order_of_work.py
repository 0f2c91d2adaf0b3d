# SPDX-License-Identifier: Apache-2.0
"""The order of the samples of a batch: the largest first, if a reader knows their sizes."""

import json
import threading

import pytest
import torch

import torchdali
from torchdali import errors, fn, pipeline_def

SIZES = [300, 10, 9000, 40, 700]


@pytest.fixture
def files(tmp_path):
    paths = []
    for i, size in enumerate(SIZES):
        paths.append(tmp_path / f"{i}.bin")
        paths[-1].write_bytes(bytes([i]) * size)
    return [str(path) for path in paths]


@pipeline_def(batch_size=5, device_id=None, prefetch_queue_depth=1)
def read(files, function=None):
    data, label = fn.readers.file(files=files, name="R")
    if function is not None:
        data = fn.python_function(data, function=function, workers="threads")
    return fn.copy(data), label


def order(path, iteration):
    events = json.loads(path.read_text())["traceEvents"]
    samples = [e for e in events if e["name"] == "sample"]
    mine = [e for e in samples if e["args"]["iteration"] == iteration]
    return [e["args"]["sample"] for e in sorted(mine, key=lambda e: e["ts"])]


def test_the_largest_files_are_processed_first_from_the_second_epoch_on(files, tmp_path):
    path = tmp_path / "trace.json"
    pipe = read(files, num_threads=1)
    with torchdali.profile(path):
        first, second = pipe.run(), pipe.run()
    assert order(path, 0) == [0, 1, 2, 3, 4]  # their sizes are not known yet
    assert order(path, 1) == sorted(range(5), key=lambda i: -SIZES[i])
    for batch, labels in (first, second):
        assert [len(batch.at(i)) for i in range(5)] == SIZES
        assert [int(batch.at(i)[0]) for i in range(5)] == [0, 1, 2, 3, 4]
        assert torch.equal(torch.as_tensor(labels.as_array()).flatten(), torch.arange(5).int())


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_error_names_the_first_failing_sample_in_any_order(files, threads):
    fails = False
    first = threading.Event()  # set when sample 1 is about to fail

    def function(x):
        if fails and x[0] in (1, 2, 4):
            if x[0] == 1:
                first.set()
            elif threads > 1:
                first.wait(10)
            raise ValueError(f"sample {x[0]}")
        return x

    pipe = read(files, function, num_threads=threads)
    pipe.run()
    fails = True
    for _ in range(5):
        first.clear()
        with pytest.raises(errors.TorchdaliError, match="sample 1"):
            pipe.run()
    fails = False
    assert len(pipe.run()[0]) == 5
