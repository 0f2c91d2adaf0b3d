# SPDX-License-Identifier: Apache-2.0
"""numba_function: when functions are compiled, how long code lives, threads and memory."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.numba_pipelines import (
    BATCH,
    DOUBLED,
    MODES,
    modes,
    pipeline,
    run,
    scale,
)

from torchdali.errors import (
    PipelineError,
)
from torchdali.plugin.numba import _compile

pytestmark = pytest.mark.slow


def count_compiled() -> int:
    return len(_compile._cache)


def test_a_function_is_compiled_once_in_a_process():
    run(scale)
    before = count_compiled()
    for _ in range(3):
        run(scale)
    assert count_compiled() == before


def test_an_equal_function_is_not_compiled_again():
    def make(factor):
        def by(out, data):
            out[:] = data * factor

        return by

    assert run(make(2)) == [DOUBLED]
    before = count_compiled()
    assert run(make(2)) == [DOUBLED]
    assert count_compiled() == before
    assert run(make(1)) == [[sample.tolist() for sample in BATCH]]
    assert count_compiled() == before + 1


TABLE = np.array([2, 2, 2], np.int32)


def test_a_changed_global_compiles_the_function_again(monkeypatch):
    def by_table(out, data):
        out[:] = data * TABLE

    assert run(by_table) == [DOUBLED]
    monkeypatch.setitem(globals(), "TABLE", np.array([1, 1, 1], np.int32))
    assert run(by_table) == [[sample.tolist() for sample in BATCH]]


@modes
def test_the_code_lives_as_long_as_the_pipeline(mode):
    kept = dict(_compile._cache)
    _compile._cache.clear()
    pipe = pipeline(**mode)
    pipe.build()
    _compile._cache.clear()
    gc.collect()
    _compile._cache.update(kept)
    for _ in range(3):
        assert [np.asarray(s).tolist() for s in pipe.run()[0]] == DOUBLED


def test_other_python_threads_run_during_a_call():
    def slow(out, data):
        total = 0.0
        for i in range(30_000_000):
            total += (i ^ data[0]) * 1e-9
        out[0] = int(total)

    pipe = pipeline(slow, BATCH[:1], threads=1, options={"prefetch_queue_depth": 1})
    pipe.build()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    pipe.run()
    lasted = time.perf_counter() - start
    stop.set()
    thread.join()
    assert any(start + lasted / 4 < tick < start + 3 * lasted / 4 for tick in ticks)


def test_several_pipelines_run_at_the_same_time():
    pipes = [pipeline(**MODES[i % 4]) for i in range(4)]
    results: list[list[Any]] = [[] for _ in pipes]

    def drive(index):
        for _ in range(50):
            results[index].append([np.asarray(s).tolist() for s in pipes[index].run()[0]])

    threads = [threading.Thread(target=drive, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[DOUBLED] * 50] * 4


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fail_always(out, data):
    raise ValueError("always", data[0])


def run_many(calls: int, parts: int = 4) -> list[int]:
    """Makes that many calls in parts; returns by how many bytes the process grew in each."""
    pipes = [pipeline(**mode) for mode in MODES]
    failing = pipeline(fail_always)
    grown = []
    for _ in range(parts):
        before = resident()
        for pipe in pipes:
            for _ in range(calls // parts // len(pipes)):
                pipe.run()
        for _ in range(calls // parts // 100):
            with pytest.raises(PipelineError):
                failing.run()
        gc.collect()
        grown.append(resident() - before)
    return grown


@pytest.mark.stress
def test_fifty_thousand_calls_leak_nothing():
    # What leaks grows in every part. The allocator grows in some, also because of other tests.
    assert min(run_many(50_000)) < 5e5
