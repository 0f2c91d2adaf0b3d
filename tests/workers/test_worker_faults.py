# SPDX-License-Identifier: Apache-2.0
"""Worker processes under faults: interrupts, ends of threads and of the parent, limits."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import programs
from helpers.parallel_sources import METHODS, build
from helpers.processes import descendants
from helpers.works import Echo

from torchdali import _workers
from torchdali._workers import server, structures
from torchdali._workers.pool import Pool, WorkerFailure
from torchdali.errors import PipelineError

pytestmark = pytest.mark.slow

FOLDER = os.path.dirname(_workers.__file__)


@pytest.fixture
def started():
    pools = []

    def start(method="forkserver", workers=2):
        pool = Pool([Echo()], workers, method)
        pools.append(pool)
        pool.start()
        return pool

    yield start
    for pool in pools:
        pool.close()


def ask(pool, value, **options):
    assert pool.post(0, request=pickle.dumps(value), **options)


def answer(pool, value, **options):
    ask(pool, value, **options)
    return structures.load(pool.take(0))


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def interrupted_at(step, call):
    """Calls a function; raises KeyboardInterrupt at one of the places where Python may.

    These are the beginnings of functions and the ends of calls of C functions, in the modules of
    the pool. Returns whether the place exists.
    """
    left = step

    def count(frame, event, _):
        nonlocal left
        code = frame.f_code
        if (
            event in ("call", "c_return")
            and code.co_filename.startswith(FOLDER)
            and code.co_name != "<genexpr>"  # its end is run, too, and may not raise
        ):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_an_interrupted_close_can_be_repeated_and_affects_no_other_pool(method, started):
    if method == "forkserver":
        server.start_server()  # it stays
    step, goes_on = 0, True
    while goes_on:
        step += 1
        pool = started(method)
        own = set(pool.pids)
        assert {answer(pool, "pid", worker=worker) for worker in (0, 1)} == own
        goes_on = interrupted_at(step, pool.close)
        pool.close()
        wait_until(lambda own=own: not own.intersection(descendants(os.getpid())))
    assert step > 20


def test_results_of_dropped_jobs_are_not_taken_after_an_interrupt(started):
    pool = started(workers=1)
    step, goes_on = 0, True
    while goes_on:
        step += 1
        for number in range(3):
            ask(pool, number)
        goes_on = interrupted_at(step, lambda: pool.cancel(0))
        pool.cancel(0)
        assert pool.pending(0) == 0
        assert answer(pool, "next") == "next"


@pytest.mark.parametrize("method", METHODS)
def test_workers_do_not_end_with_the_thread_that_started_them(method, started):
    pools, tasks = [], []

    def start():
        tasks.append(Path(f"/proc/self/task/{threading.get_native_id()}"))
        pools.append(started(method))

    for _ in range(2):
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
    wait_until(lambda: not any(task.exists() for task in tasks))
    for pool in pools:
        assert {answer(pool, "pid", worker=worker) for worker in (0, 1)} == set(pool.pids)


IN_A_CALL = """
import ctypes, os, sys
from torchdali import fn, pipeline_def

def source(info):
    os.write(1, b"calling\\n")
    ctypes.PyDLL(None).sleep(1000)  # without releasing the lock of the interpreter

@pipeline_def(batch_size=4, num_threads=1, py_num_workers=2, py_start_method=sys.argv[1])
def define():
    return fn.external_source(source, parallel=True, batch=False)

define().run()
"""


@pytest.mark.parametrize("method", METHODS)
def test_workers_in_a_call_end_with_a_killed_parent(tmp_path, method):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(IN_A_CALL))
    process = programs.start(script, method)
    assert [process.stdout.readline() for _ in range(2)] == ["calling\n"] * 2
    children = descendants(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


def test_a_worker_whose_parent_is_gone_when_it_starts_ends():
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    pid = os.fork()
    if pid == 0:
        from torchdali import _shm

        _shm.end_with_parent(gone)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


@pytest.fixture
def limited():
    """Sets a limit of this process until the end of the test."""
    before = {}

    def limit(kind, value):
        before.setdefault(kind, resource.getrlimit(kind))
        resource.setrlimit(kind, (value, before[kind][1]))

    yield limit
    for kind, values in before.items():
        resource.setrlimit(kind, values)


@pytest.mark.parametrize("method", METHODS)
def test_a_lack_of_descriptors_is_an_error_that_names_the_limit(method, limited):
    server.start_server()
    gc.collect()  # pools of earlier tests have descriptors
    os.close(lowest := os.dup(0))  # the descriptor that is allocated next
    failures = 0
    while True:
        pipe = build(lambda info: np.zeros(3), method=method, batch=False)
        limited(resource.RLIMIT_NOFILE, lowest + failures)
        try:
            pipe.build()
            break
        except PipelineError as error:
            assert "ulimit -n" in str(error)  # noqa: PT017
        failures += 1
        pipe.close()
    assert failures > 3
    assert len(pipe.run()[0]) == 4
    pipe.close()


def test_a_lack_of_descriptors_in_a_worker_is_an_error_that_names_the_limit(started):
    pool = started(workers=1)
    answer(pool, "no descriptors")

    def use_slabs():
        for number in range(3):
            ask(pool, number)
        for _ in range(3):
            pool.take(0)

    with pytest.raises(WorkerFailure, match="ulimit -n"):
        use_slabs()
    pool.restart()
    assert answer(pool, 1) == 1


def test_a_batch_above_the_limit_of_file_sizes_is_an_error_that_names_the_limit(started):
    pool = started(workers=1)
    answer(pool, "small files")
    ask(pool, np.zeros(1 << 20))
    with pytest.raises(WorkerFailure, match="ulimit -f"):
        pool.take(0)
    assert answer(pool, 1) == 1
