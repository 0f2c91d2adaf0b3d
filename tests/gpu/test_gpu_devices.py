# SPDX-License-Identifier: Apache-2.0
"""Several GPUs: the one that a pipeline uses, a pipeline on each, and distributed runs.

On machines with fewer, GPUs are simulated: the package is told of two, and what it makes on them
is an emulated one that remembers its number.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import programs
from helpers.simulated_gpus import Stream, Tensor

from tests.loader.pipeline.numbered_files import write_numbers
from torchdali import Pipeline, errors, fn, pipeline_def
from torchdali.pipeline import _device

BATCH = 3
two_gpus = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")


def flipped(device_id: int | None, **options: Any) -> Pipeline:
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=device_id, **options)
    def define():
        x = fn.external_source(
            lambda info: np.full((4, 5, 3), info.iteration % 256, np.uint8),
            batch=False,
            layout="HWC",
        )
        return fn.flip(x.gpu())

    return define()


def values(pipe: Pipeline, count: int = 6) -> list[int]:
    return [pipe.run()[0].as_torch_list()[2].cpu()[0, 0, 0].item() for _ in range(count)]


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
@pytest.mark.parametrize(("device_id", "gpu"), [(0, 0), (1, 1), (None, 1), (-1, 1)])
def test_a_pipeline_is_on_its_gpu_or_the_current_one(device_id, gpu, debug, simulated_gpus):
    pipe = flipped(device_id, debug=debug)
    assert values(pipe, 2) == [0, 1]
    assert {options["index"] for options in simulated_gpus} == {gpu}
    assert {options["kernel_stream"] for options in simulated_gpus} == {16 * (gpu + 1)}
    pipe.close()


def test_a_gpu_that_does_not_exist_is_an_error(simulated_gpus):
    pipe = flipped(2)
    with pytest.raises(errors.UnsupportedError, match="`device_id` is 2, and torch finds 2"):
        pipe.build()
    assert simulated_gpus == []


def test_data_of_another_gpu_is_refused(simulated_gpus, monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream(device.index, -7))
    device = _device.PipelineDevice(1, priority=-9)
    assert simulated_gpus[0]["index"] == 1
    with pytest.raises(
        errors.UnsupportedError, match="data on GPU 0 is fed to a pipeline on GPU 1"
    ):
        device.adopt([Tensor(0)], None, copy=False)
    sample = Tensor(1)
    assert device.adopt([sample], None, copy=False) == [sample]
    (stream,) = sample.used_on
    assert (stream.device, stream.priority) == (1, -5)  # CUDA has no lower number
    assert [(s.device, s.priority) for s in stream.waited_for] == [(1, -7)]


# -- real ones


def run_in_threads(work: Any) -> None:
    failed: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def test_a_pipeline_for_each_gpu_in_one_process(backend):
    """In one thread, and in a thread for each. With fewer GPUs, both are on the first one."""
    count = max(torch.cuda.device_count(), 1)
    pipes = [flipped(number % count) for number in range(2)]
    found = [[pipe.run()[0].as_torch_list()[1] for pipe in pipes] for _ in range(5)]
    for i, batch in enumerate(found):
        for number, sample in enumerate(batch):
            assert sample.device.type == backend
            assert backend == "cpu" or sample.device.index == number % count
            assert (sample == i).all()
    for pipe in pipes:
        pipe.close()

    def work(number: int) -> None:
        with flipped(number % count) as pipe:
            assert values(pipe, 20) == list(range(20))

    run_in_threads(work)


@pytest.mark.cuda
@two_gpus
def test_the_current_gpu_does_not_change_the_one_of_a_pipeline():
    for current in range(2):
        with torch.cuda.device(current):
            for gpu in range(2):
                with flipped(gpu) as pipe:
                    assert values(pipe, 3) == [0, 1, 2]
                    assert pipe.run()[0].as_torch().device.index == gpu
            with flipped(None) as pipe:
                assert pipe.run()[0].as_torch().device.index == current
            assert torch.cuda.current_device() == current


@pytest.mark.slow
def test_ranks_train_on_batches_of_their_gpus(backend, tmp_path):
    """By NCCL where there are two GPUs. On one, its collectives refuse two ranks: gloo's do not."""
    how = "emulated" if backend == "cpu" else "nccl" if torch.cuda.device_count() > 1 else "gloo"
    count = 24
    root, out = write_numbers(tmp_path / "data", count), tmp_path / "out"
    out.mkdir()
    root_of_tests = Path(__file__).resolve().parents[2]
    done = programs.run_ranks(
        2,
        Path(__file__).with_name("gpu_rank_worker.py"),
        str(root),
        str(out),
        how,
        env={"PYTHONPATH": str(root_of_tests)},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    ranks = [json.loads((out / f"{rank}.json").read_text()) for rank in range(2)]
    assert ranks[0]["weights"] == ranks[1]["weights"]
    assert [rank["gpu"] for rank in ranks] == ([0, 1] if how == "nccl" else [0, 0])
    for epoch in range(2):
        half = slice(epoch * count // 2, (epoch + 1) * count // 2)
        assert sorted(label for rank in ranks for label in rank["labels"][half]) == [*range(count)]
