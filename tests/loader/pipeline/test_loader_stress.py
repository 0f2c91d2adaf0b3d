# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader over worker processes: loops are left, restarted and resumed without leaks."""

from __future__ import annotations

import gc
import multiprocessing
import os
from pathlib import Path

import pytest

from tests.loader.pipeline.numbered_files import Counter, labels, numbers, write_numbers
from torchdali import PipelineLoader, fn, pipeline_def


@pipeline_def(batch_size=4, num_threads=2, py_num_workers=1, py_start_method="fork")
def parallel():
    source = Counter(10, 4)
    return {"label": fn.external_source(source=source, parallel=True, batch=True)}


def descriptors() -> int:
    return len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))


def test_loops_over_worker_processes_can_be_left_and_restarted():
    loader = PipelineLoader(parallel, pipeline_args={"enable_checkpointing": True})
    counts = []
    for _ in range(2):
        for taken in range(100):
            loop = iter(loader)
            for _ in range(taken % 4):
                next(loop, None)
        assert labels(loader) == list(range(10))
        counts.append(descriptors())
    # The number of shared memory segments depends on the speed of the worker.
    assert counts[1] < counts[0] + 20
    loop = iter(loader)
    next(loop)
    loader.load_state_dict(loader.state_dict())
    assert labels(loader) == list(range(4, 10))
    assert labels(loader) == list(range(10))
    loader.close()
    assert not multiprocessing.active_children()


@pytest.mark.stress
def test_two_hundred_rounds_of_everything_leak_nothing(tmp_path):
    root = write_numbers(tmp_path, 23)
    one = PipelineLoader(numbers, pipeline_args={"root": root}, shuffle=True)
    two = PipelineLoader(numbers, pipeline_args={"root": root}, shuffle=True)
    before = None
    for number in range(200):
        one.batch_size = 3 + number % 5
        for a, b in zip(one, two, strict=False):
            assert len(a["label"]) <= 7
            if len(b["label"]) == number % 4:
                break
        two.load_state_dict(one.state_dict() if number % 3 else two.state_dict())
        labels(two)
        if number == 20:
            gc.collect()
            before = descriptors()
    gc.collect()
    assert descriptors() == before
