# SPDX-License-Identifier: Apache-2.0
"""external_source with parallel=True: no process, file or memory is left behind."""

from __future__ import annotations

import collections
import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import programs
from helpers.parallel_sources import METHODS, boom, build, kill_a_worker
from helpers.parts import worker_pids
from helpers.processes import descendants

from torchdali._workers import server
from torchdali.errors import PipelineError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", METHODS)
def test_closing_ends_workers_during_a_call(method):
    if method == "forkserver":
        server.start_server()  # it stays for later pipelines
    before = set(descendants(os.getpid()))
    pipe = build(lambda info: time.sleep(1000) or np.zeros(3), method=method, batch=False)
    pipe.build()
    time.sleep(0.3)
    pipe.close()
    assert set(descendants(os.getpid())) <= before


def open_files(pids):
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)


def test_batches_that_fail_return_their_memory():
    def source(info):
        if info.iteration % 2:
            raise ValueError("boom")
        return np.zeros(3)

    with build(source, batch=False) as pipe:
        counts = []
        for _ in range(12):
            pipe.run()
            with pytest.raises(PipelineError, match="boom"):
                pipe.run()
            counts.append(open_files([os.getpid(), *worker_pids(pipe)]))
        assert counts[-1] < counts[0] + len(counts), counts


SCRIPT = """
import os, sys, time
import numpy as np
from torchdali._workers import server
from torchdali import fn, pipeline_def

def source(info):
    time.sleep(0.01)
    return np.zeros(10)

@pipeline_def(batch_size=4, num_threads=1, py_num_workers=2, py_start_method=sys.argv[1])
def define():
    return fn.external_source(source, parallel=True, batch=False)

pipe = define()
pipe.run()
try:
    print("ready", flush=True)
    while True:
        pipe.run()
except KeyboardInterrupt:
    pipe.run()
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_no_child_outlives_its_parent(tmp_path, method, how):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    process = programs.start(script, method, new_session=True)
    assert process.stdout.readline() == "ready\n"
    children = descendants(process.pid)
    assert len(children) >= 2
    # Files without a name cannot be left behind.
    files = [
        os.readlink(fd) for p in (process.pid, *children) for fd in Path(f"/proc/{p}/fd").iterdir()
    ]
    assert any("memfd:torchdali" in file for file in files)
    assert not any(file.startswith("/dev/shm/") for file in files)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
        out, err = process.communicate(timeout=20)
        assert out == "interrupted\n", err
        assert err == ""
        assert process.returncode == 0
    else:
        os.kill(process.pid, how)
        process.communicate(timeout=20)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < deadline, "workers are still there"
        time.sleep(0.05)


def counts():
    gc.collect()
    return len(os.listdir("/proc/self/fd")), len(descendants(os.getpid())), threading.active_count()


@pytest.mark.parametrize("method", METHODS)
def test_rounds_of_faults_leak_nothing(method):
    def once(index):
        pipe = build(boom, method=method, batch=False)
        pipe.run()
        if index % 2:
            with pytest.raises(PipelineError):
                pipe.run()
        if index % 3 == 0:
            pipe.close()

    rounds = 40 if method != "spawn" else 6
    for index in range(3):
        once(index)
    before = counts()
    for index in range(rounds):
        once(index)
    after = counts()
    assert after[0] <= before[0] + 2
    assert after[1:] == before[1:]


def is_there(pid):
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def without_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("in_flight", [False, True])
def test_workers_of_a_source_that_raised_end_with_the_pipeline(on_error, in_flight):
    """The error must not be part of a cycle, neither as it is raised nor before."""
    pipe = build(boom, batch=False, on_error=on_error)
    pipe.run()
    pids = worker_pids(pipe)
    if not in_flight:
        with contextlib.suppress(PipelineError):
            pipe.run()
    del pipe
    assert pids
    assert not [pid for pid in pids if is_there(pid)]


@pytest.mark.parametrize("method", METHODS)
def test_rounds_of_restarts_leak_nothing(method):
    pipe = build(lambda info: np.zeros(1000), method=method, batch=False)
    pipe.run()

    def once():
        kill_a_worker(pipe)
        with pytest.raises(PipelineError, match="SIGKILL"):
            collections.deque((pipe.run() for _ in range(100_000)), maxlen=0)
        pipe.run()

    rounds = 40 if method != "spawn" else 6
    for _ in range(3):
        once()
    before = counts()
    for _ in range(rounds):
        once()
    after = counts()
    assert after[0] <= before[0] + 2
    assert after[1:] == before[1:]


WITHOUT_SHM = """
import os, sys
import numpy as np
from torchdali import fn, pipeline_def
for path in ("/dev/shm",):
    try:
        entries = set(os.listdir(path))
    except OSError:
        entries = None

def source(info):
    return np.full(1_000_000, info.idx_in_batch, np.uint8)

@pipeline_def(batch_size=4, num_threads=1, py_num_workers=2)
def define():
    return fn.external_source(source, parallel=True, batch=False)

for method in ("fork", "forkserver", "spawn"):
    pipe = define(py_start_method=method)
    for _ in range(3):
        assert pipe.run()[0].as_array()[3, 9] == 3, method
    if entries is not None:
        assert set(os.listdir("/dev/shm")) <= entries, method
    pipe.close()
print("fine")
"""


@pytest.mark.parametrize("size", ["missing", "tiny"])
def test_workers_do_not_need_dev_shm(size, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(WITHOUT_SHM)
    options = "size=4k" if size == "tiny" else "size=4k,mode=000"
    command = f"mount -t tmpfs -o {options} none /dev/shm && exec {sys.executable} {script}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    assert done.stdout == "fine\n", done.stderr
