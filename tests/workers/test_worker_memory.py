# SPDX-License-Identifier: Apache-2.0
"""Shared memory of worker processes: reused, and returned after a large batch."""

from __future__ import annotations

import gc
import os
import resource
from pathlib import Path

import numpy as np
import pytest
from helpers.parts import worker_pids

from torchdali import backend, fn, pipeline_def

pytestmark = pytest.mark.slow

BATCH = 4
LARGE = 8_000_000  # bytes of a sample


def build(source, method="forkserver", **options):
    @pipeline_def(batch_size=BATCH, num_threads=1, py_num_workers=2, py_start_method=method)
    def define():
        return fn.external_source(source, parallel=True, batch=False, **options)

    return define()


def segments():
    """Returns the size in memory of each anonymous segment of torchdali."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            if "memfd:torchdali" in os.readlink(f"/proc/self/fd/{fd}"):
                found.append(os.fstat(int(fd)).st_blocks * 512)
        except OSError:
            continue
    return found


def resident(pid):
    """Returns the shared memory that a process has touched."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssShmem:"):
            return int(line.split()[1]) * 1024
    return 0


def sizes_of(sizes):
    def source(info):
        return np.full(sizes(info.iteration, info.idx_in_batch), info.idx_in_epoch % 256, np.uint8)

    return source


def check(pipe, iterations, sizes):
    for iteration in iterations:
        (out,) = pipe.run()
        for index in range(BATCH):
            sample = np.array(out[index])
            assert sample.shape == (sizes(iteration, index),)
            assert (sample == (iteration * BATCH + index) % 256).all()


SHAPES = {
    "dense": lambda iteration, index: LARGE if iteration in (5, 6) else 1000,
    "ragged": lambda iteration, index: (LARGE if iteration == 5 else 1000) + index,
    "one sample": lambda iteration, index: LARGE * 2 if (iteration, index) == (7, 2) else 900,
}


@pytest.mark.parametrize("method", ["fork", "forkserver"])
@pytest.mark.parametrize("shape", SHAPES)
def test_memory_of_a_large_batch_is_returned(shape, method):
    sizes = SHAPES[shape]
    gc.collect()
    before = sum(segments())
    pipe = build(sizes_of(sizes), method, prefetch_queue_depth=2)
    check(pipe, range(9), sizes)
    large = sum(segments()) - before
    assert large > LARGE
    check(pipe, range(9, 60), sizes)
    after = sum(segments()) - before
    assert after < LARGE / 10, (large, after)
    processes = [os.getpid(), *worker_pids(pipe)]
    assert all(resident(pid) < LARGE / 4 for pid in processes[1:])
    statistics = pipe.external_source_shm_statistics()
    assert statistics["capacities"]
    assert all(capacity < LARGE / 10 for capacity in statistics["capacities"])
    check(pipe, range(60, 100), sizes)  # returned memory can be used again
    pipe.close()
    assert sum(segments()) <= before


def test_memory_of_repeated_large_batches_is_kept():
    sizes = lambda iteration, index: 400_000 if iteration % 8 == 0 else 1000  # noqa: E731
    pipe = build(sizes_of(sizes))
    check(pipe, range(40), sizes)
    assert sum(segments()) > 400_000 * BATCH


def test_the_requested_memory_is_kept():
    pipe = build(sizes_of(lambda iteration, index: 1000), bytes_per_sample_hint=500_000)
    check(pipe, range(60), lambda iteration, index: 1000)
    assert sum(segments()) >= 500_000 * BATCH
    capacities = pipe.external_source_shm_statistics()["capacities"]
    assert all(capacity >= 500_000 * BATCH for capacity in capacities)


def test_memory_of_batches_that_the_user_kept_is_returned_on_release():
    sizes = lambda iteration, index: 1_000_000 if iteration < 10 else 1000  # noqa: E731
    pipe = build(sizes_of(sizes))
    kept = [pipe.run()[0] for _ in range(10)]
    check(pipe, range(10, 60), sizes)
    assert [np.array(batch[0])[0] for batch in kept] == [i * BATCH for i in range(10)]
    assert sum(segments()) > 8_000_000 * BATCH
    kept.clear()
    check(pipe, range(60, 100), sizes)
    assert sum(segments()) < 1_000_000


def test_batches_in_a_list_are_not_copied_and_their_memory_is_used_again():
    sizes = lambda iteration, index: 100_000  # noqa: E731
    pipe = build(sizes_of(sizes))
    lists = []
    for start in (0, 40):
        kept = [pipe.run()[0] for _ in range(40)]
        lists.append({batch.as_torch().data_ptr() for batch in kept})
        assert [np.array(batch[0])[0] for batch in kept] == [
            (start + i) * BATCH % 256 for i in range(40)
        ]
        assert sum(segments()) > 40 * 100_000 * BATCH
        del kept
        gc.collect()
    assert len(lists[0]) == len(lists[1]) == 40
    assert len(lists[0] & lists[1]) > 30
    check(pipe, range(80, 280), sizes)
    assert sum(segments()) < 10 * 100_000 * BATCH


def test_unused_memory_is_returned_when_the_user_asks():
    pipe = build(sizes_of(lambda iteration, index: 100_000))
    kept = [pipe.run()[0] for _ in range(20)]
    del kept
    gc.collect()
    backend.ReleaseUnusedMemory()
    assert sum(segments()) < 10 * 100_000 * BATCH
    check(pipe, range(20, 30), lambda iteration, index: 100_000)


def test_batches_are_copied_if_descriptors_are_scarce(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (80, 80))
    sizes = lambda iteration, index: 1000  # noqa: E731
    pipe = build(sizes_of(sizes))
    kept = [pipe.run()[0] for _ in range(60)]
    assert [np.array(batch[0])[0] for batch in kept] == [i * BATCH % 256 for i in range(60)]
    assert len(segments()) < 30
