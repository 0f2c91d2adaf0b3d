# SPDX-License-Identifier: Apache-2.0
"""DataLoader(workers="threads"): the order in which datasets are read, and the end of threads."""

from __future__ import annotations

import os
import sys
import textwrap
import threading

import pytest
from helpers import datasets, programs
from helpers.both_loaders import THREADS, labels

from torchdali.loader._dataset import thread_pool

pytestmark = pytest.mark.slow


@pytest.fixture
def _many_switches():
    """Has Python switch between threads often."""
    kept = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(kept)


@pytest.mark.usefixtures("_many_switches")
def test_a_stateful_dataset_is_read_in_order():
    class Recording(datasets.StatefulMap):
        def __init__(self, count):
            super().__init__(count)
            self.read = []

        def __getitem__(self, index):
            self.read.append(index)
            return super().__getitem__(index)

    for _ in range(10):
        data = Recording(2000)
        for _batch in THREADS(data, batch_size=2, num_workers=4):
            pass
        assert data.read == list(range(2000))


def test_a_dataset_that_ends_its_thread_is_an_error():
    data = datasets.Fails(4, at=(1,), error=SystemExit(3))
    iterator = iter(THREADS(data, batch_size=1, num_workers=2, timeout=60))
    assert next(iterator)[1].tolist() == [0]
    with pytest.raises(SystemExit):
        next(iterator)
    assert labels(iterator) == [[2], [3]]


ENDS = {
    "an error": ("raise ValueError('of the program')", 1),
    "Ctrl-C": ("signal.raise_signal(signal.SIGINT)", -2),
    "an iterator": ("pass", 0),
}


@pytest.mark.parametrize("how", ENDS)
def test_threads_end_before_the_interpreter(how):
    """A thread that comes back from an operator of torch later ends the process by SIGABRT."""
    statement, code = ENDS[how]
    program = f"""
        import signal, torch
        from torchdali import DataLoader

        class Sorts(torch.utils.data.Dataset):
            def __len__(self):
                return 10_000

            def __getitem__(self, index):
                return torch.randn(300, 300).sort().values

        iterator = iter(DataLoader(Sorts(), batch_size=64, num_workers=2, workers="threads"))
        next(iterator)
        {statement}
    """
    for _ in range(3):
        done = programs.run(
            "-c", textwrap.dedent(program), env={"PYTHONPATH": os.pathsep.join(sys.path)}
        )
        assert done.returncode == code, done.stderr
        assert "terminate" not in done.stderr


def test_a_thread_in_a_long_call_does_not_keep_the_interpreter():
    program = """
        import threading, torch
        from torchdali import DataLoader
        from torchdali.loader._dataset import thread_pool
        thread_pool._EXIT_SECONDS = 0.1

        class Waits(torch.utils.data.Dataset):
            begun = threading.Event()

            def __len__(self):
                return 4

            def __getitem__(self, index):
                self.begun.set()
                threading.Event().wait()

        iterator = iter(DataLoader(Waits(), num_workers=1, workers="threads"))
        Waits.begun.wait()
        print("end")
    """
    done = programs.run(
        "-c", textwrap.dedent(program), env={"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr


def test_a_closed_pool_does_not_read_the_rest_of_a_batch(monkeypatch):
    monkeypatch.setattr(thread_pool, "_JOIN_SECONDS", 0.0)
    begun, go_on = threading.Event(), threading.Event()

    class Waits(datasets.Squares):
        read = 0

        def __getitem__(self, index):
            self.read += 1
            begun.set()
            go_on.wait()
            return super().__getitem__(index)

    data = Waits(100)
    iterator = iter(THREADS(data, batch_size=100, num_workers=1))
    threads = [t for t in threading.enumerate() if t.name == "torchdali loader 0"]
    begun.wait()
    del iterator
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert data.read == 1
