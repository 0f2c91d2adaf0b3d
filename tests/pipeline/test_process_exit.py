# SPDX-License-Identifier: Apache-2.0
"""Pipelines end cleanly and promptly: close, Ctrl-C, exceptions, interpreter exit, fork.

Each scenario is a separate program, which may hang or crash without the tests.
"""

from __future__ import annotations

import signal
import subprocess
import textwrap
import time

import pytest
from helpers import programs

pytestmark = pytest.mark.slow

PREAMBLE = """
import os, sys, threading, time
from torchdali import fn, pipeline_def, types

@pipeline_def(num_threads=2, device_id=None, seed=1)
def numbers(count=1000):
    return fn.random.normal(shape=[count])

# Minutes of work, a sample a few tenths of a second.
@pipeline_def(batch_size=2000, num_threads=2, device_id=None)
def slow():
    return fn.gaussian_blur(fn.random.normal(shape=[300, 300, 1]), window_size=4001)

def engine_threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            names.append(open(f"/proc/self/task/{task}/comm").read().strip())
        except FileNotFoundError:
            pass
    return [n for n in names if n.startswith("torchdali-")]
"""
TIMEOUT_S = 60


def run(program: str) -> subprocess.CompletedProcess[str]:
    # Python 3.12 warns of fork() in a process with threads.
    text = PREAMBLE + textwrap.dedent(program)
    return programs.run("-c", text, timeout=TIMEOUT_S, warnings="ignore")


def expect_clean(program: str) -> str:
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_exit_with_batches_in_flight_is_clean():
    expect_clean("""
        pipe = numbers(batch_size=8, prefetch_queue_depth=4)
        pipe.build()
        pipe.run()
    """)


LOADERS = {
    "PipelineLoader": "PipelineLoader(batches)",
    "DALIGenericIterator": 'DALIGenericIterator(batches(), ["x"])',
    "DataLoader": "DataLoader(Numbers(), 4, num_workers=2)",
    "DataLoader of threads": 'DataLoader(Numbers(), 4, num_workers=2, workers="threads")',
    "DataLoader of a pipeline": "DataLoader(Numbers(), 4, num_workers=2, pipeline=add)",
}


@pytest.mark.parametrize("loader", LOADERS)
def test_exit_within_an_epoch_is_clean(loader):
    expect_clean(f"""
        import numpy as np
        from torch.utils.data import Dataset
        from torchdali import DataLoader, PipelineLoader
        from torchdali.plugin.pytorch import DALIGenericIterator

        @pipeline_def(batch_size=4, num_threads=2, device_id=None, py_start_method="fork")
        def batches():
            data = fn.external_source(lambda n: np.full((4, 1), n), parallel=True)
            return {{"x": data}}

        class Numbers(Dataset[dict[str, np.ndarray]]):
            def __len__(self):
                return 100
            def __getitem__(self, index):
                return {{"x": np.full((4, 4, 3), index, np.uint8)}}

        def add(x):
            return {{"x": x + 1}}

        loader = {LOADERS[loader]}
        it = iter(loader)
        next(it)
    """)


def test_exit_does_not_wait_for_the_batch():
    expect_clean("""
        pipe = slow()
        pipe.build()
        pipe.schedule_run()
    """)


def test_exit_through_an_unhandled_exception_is_clean():
    done = run("""
        pipe = numbers(batch_size=8)
        pipe.build()
        for i in range(3):
            out = pipe.run()
        raise ValueError("mine")
    """)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("ValueError: mine")


def test_sys_exit_in_the_loop_is_clean():
    assert (
        run("""
        pipe = numbers(batch_size=8)
        pipe.build()
        pipe.run()
        sys.exit(3)
    """).returncode
        == 3
    )


def test_deleting_a_pipeline_ends_its_threads_at_once():
    out = expect_clean("""
        for make in (lambda: numbers(batch_size=8), slow):
            pipe = make()
            pipe.build()
            pipe.schedule_run()
            assert len(engine_threads()) == 2, engine_threads()
            del pipe
            print(len(engine_threads()))
    """)
    assert out.split() == ["0", "0"]


def test_a_pipeline_deleted_in_another_thread_ends_cleanly():
    expect_clean("""
        pipe = numbers(batch_size=8)
        pipe.build()
        pipe.run()
        holder = [pipe]
        del pipe
        t = threading.Thread(target=holder.clear)
        t.start()
        t.join()
        assert engine_threads() == []
    """)


def test_outputs_outlive_the_pipeline():
    expect_clean("""
        pipe = numbers(batch_size=8)
        pipe.build()
        kept = [pipe.run()[0].as_torch() for _ in range(20)]
        copies = [k.clone() for k in kept]
        for _ in range(20):
            pipe.run()
        del pipe
        assert all((k == c).all() for k, c in zip(kept, copies))
    """)


def interrupt(program: str) -> str:
    """Sends Ctrl-C once the program waits; returns what it writes to stderr."""
    process = programs.start("-c", PREAMBLE + textwrap.dedent(program), warnings="ignore")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=TIMEOUT_S)
        return stderr
    finally:
        process.kill()


def test_ctrl_c_while_waiting_for_a_batch_ends_the_program():
    stderr = interrupt("""
        pipe = slow()
        pipe.build()
        print("waiting", flush=True)
        pipe.run()
    """)
    assert stderr.strip().endswith("KeyboardInterrupt")


def test_the_pipeline_continues_after_a_caught_ctrl_c():
    stderr = interrupt("""
        pipe = numbers(count=2_000_000, batch_size=16, prefetch_queue_depth=1)
        pipe.build()
        print("waiting", flush=True)
        caught = 0
        while not caught:
            try:
                pipe.run()
            except KeyboardInterrupt:
                caught = 1
        assert len(pipe.run()[0]) == 16
        sys.stderr.write("went on")
    """)
    assert stderr == "went on"


def test_using_a_pipeline_in_a_forked_child_is_an_error():
    out = expect_clean("""
        pipe = numbers(batch_size=8)
        pipe.build()
        pipe.run()
        child = os.fork()
        if child == 0:
            try:
                pipe.run()
            except RuntimeError as e:
                print(e, flush=True)
            del pipe
            own = numbers(batch_size=4)
            own.build()
            assert len(own.run()[0]) == 4
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert len(pipe.run()[0]) == 8
    """)
    assert "forked" in out


def test_thousands_of_batches_and_many_pipelines_leak_nothing():
    expect_clean("""
        import gc
        def resident_kb():
            pages = int(open("/proc/self/statm").read().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") // 1024
        def work(rounds):
            for _ in range(rounds):
                pipe = numbers(count=2_000, batch_size=32)
                pipe.build()
                for _ in range(20):
                    pipe.run()
                del pipe
        work(10)
        gc.collect()
        before, files = resident_kb(), len(os.listdir("/proc/self/fd"))
        work(100)
        gc.collect()
        grown = resident_kb() - before
        assert grown < 20_000, grown
        assert len(os.listdir("/proc/self/fd")) == files
    """)
