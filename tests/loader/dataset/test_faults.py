# SPDX-License-Identifier: Apache-2.0
"""Faults around a loader: it does not hang or leak processes, descriptors or memory."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import datasets, programs

from torchdali import DataLoader
from torchdali._workers import server

pytestmark = pytest.mark.slow

METHODS = ("fork", "forkserver")


@pytest.fixture(scope="module", autouse=True)
def _program_server():
    """Starts the process that forks programs, which outlives the test that uses it first."""
    programs.run("-c", "")


@pytest.fixture(autouse=True)
def _leaves_nothing():
    gc.collect()
    state, before = torch.get_rng_state(), children()  # other tests may have left some
    yield
    gc.collect()
    torch.set_rng_state(state)
    deadline = time.monotonic() + 20
    while (left := children() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def children():
    """Returns descendants of this process, except for its fork server and zombies."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(path.parent.name)] = int(parent)
    found, front = set(), {os.getpid()}
    while front:
        front = {pid for pid, parent in parents.items() if parent in front} - found
        found |= front
    own = server._server.pid if server._server is not None else None
    return found - {own}


def private_bytes():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private"))


def flat(lists):
    return [value for part in lists for value in part]


def labels(loader):
    return [batch[1].tolist() for batch in loader]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_worker_that_dies_ends_the_epoch_and_the_loader_continues(method, persistent, how):
    data = datasets.Harms(how, at=9)
    loader = DataLoader(
        data, batch_size=2, num_workers=2, multiprocessing_context=method,
        persistent_workers=persistent,
    )  # fmt: skip
    for _ in range(2):
        iterator = iter(loader)
        given = []
        with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid \d+\) (is killed|exited)"):
            given.extend(batch[1].tolist() for batch in iterator)
        given = flat(given)
        assert given == list(range(len(given)))
        assert len(given) <= 8
        with pytest.raises(RuntimeError, match="DataLoader worker"):
            next(iterator)
        del iterator
    del loader


def test_a_batch_that_cannot_be_pickled_is_an_error():
    loader = DataLoader(
        datasets.Harms("unpicklable"), batch_size=2, num_workers=2, collate_fn=datasets.as_list
    )
    iterator = iter(loader)
    given = 0
    for _ in range(10):
        try:
            next(iterator)
            given += 1
        except RuntimeError as error:
            assert "could not return its batch" in str(error)  # noqa: PT017
            assert "cannot pickle '_thread.lock' object" in str(error)  # noqa: PT017
    assert given == 9
    assert next(iterator, None) is None


def test_an_exception_that_cannot_be_pickled_is_reported():
    loader = DataLoader(datasets.Harms("local"), batch_size=2, num_workers=2)
    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(loader)


def test_a_dataset_that_hangs_is_an_error_after_the_timeout():
    loader = DataLoader(datasets.Harms("sleep"), batch_size=2, num_workers=2, timeout=0.5)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="timed out after"):
            list(loader)


def test_batches_may_grow_and_shrink():
    sizes = [1, 1000, 10, 3_000_000, 5, 100_000]
    for persistent in (False, True):
        loader = DataLoader(
            sizes * 3, batch_size=None, num_workers=2, collate_fn=np.arange,
            persistent_workers=persistent,
        )  # fmt: skip
        for _ in range(2):
            for size, array in zip(sizes * 3, loader, strict=True):
                assert array.shape == (size,)
                assert array[-1] == size - 1


def body_fails(loader):
    for _batch in loader:
        raise ZeroDivisionError


def test_loops_may_be_left_by_break_and_exceptions():
    before = None
    for persistent in (False, True):
        loader = DataLoader(
            datasets.Squares(100), batch_size=2, num_workers=2, persistent_workers=persistent
        )
        for number in range(6):
            for batch in loader:
                assert batch[1].tolist() == [0, 1]
                break
            with pytest.raises(ZeroDivisionError):
                body_fails(loader)
            gc.collect()
            if number == 1 and not persistent:
                before = descriptors()
        del batch
        loader = None
        gc.collect()
    assert descriptors() <= before + 2


def test_two_loaders_and_two_iterators_work_at_the_same_time():
    one = DataLoader(datasets.Squares(20), batch_size=2, num_workers=2)
    other = DataLoader(datasets.Squares(20), batch_size=2, num_workers=1, persistent_workers=True)
    for a, b, c in zip(one, other, one, strict=True):
        assert a[1].tolist() == b[1].tolist() == c[1].tolist()


@pytest.mark.parametrize("inner", [DataLoader, torch.utils.data.DataLoader])
def test_a_worker_may_use_a_loader(inner):
    loader = DataLoader(datasets.Nested(inner), batch_size=2, num_workers=2)
    assert [b.tolist() for b in loader] == [[15, 15], [15, 15]]


def test_a_dataset_may_open_files_and_start_threads(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    loader = DataLoader(datasets.Resources(path), batch_size=4, num_workers=2)
    for _ in range(3):
        assert all(bool(batch.all()) for batch in loader)


def test_the_batch_size_may_change_between_epochs():
    data = datasets.Squares(24)
    for size in (1, 8, 3, 24, 2):
        loader = DataLoader(data, batch_size=size, num_workers=2, persistent_workers=True)
        assert flat(labels(loader)) == list(range(24))


def test_a_batch_sampler_may_change_its_batches():
    class Changing:
        size = 2

        def __iter__(self):
            return iter([list(range(i, i + self.size)) for i in range(0, 24, self.size)])

    sampler = Changing()
    loader = DataLoader(
        datasets.Squares(24), batch_sampler=sampler, num_workers=2, persistent_workers=True
    )
    for size in (2, 12, 3):
        sampler.size = size
        assert labels(loader) == list(sampler)


@pytest.mark.parametrize("options", [{"num_workers": 2}, {"num_workers": 2, "workers": "threads"}])
def test_ctrl_c_in_the_main_loop_ends_the_workers(options):
    program = f"""
        import signal, sys, time, torch
        from helpers import datasets
        from torchdali import DataLoader
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
        loader = DataLoader(datasets.Harms("sleep", at=7), batch_size=1, **{options!r})
        try:
            for number, batch in enumerate(loader):
                print(number, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    with programs.start(
        "-c",
        textwrap.dedent(program),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        new_session=True,
    ) as process:
        for line in process.stdout:
            if line.strip() == "6":
                break
        time.sleep(0.3)
        os.killpg(process.pid, 2)
        assert process.stdout.read().strip() == "interrupted"
        assert process.wait(10) == 0


def test_the_end_of_the_process_ends_workers():
    program = """
        import os
        from helpers import datasets
        from torchdali import DataLoader
        loader = DataLoader(datasets.Squares(), num_workers=2, persistent_workers=True)
        iterator = iter(loader)
        next(iterator)
        print(*iterator._pool.pids, flush=True)
        os._exit(0)
    """
    path = os.pathsep.join(sys.path)
    done = programs.run("-c", textwrap.dedent(program), env={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(map(_alive, done.stdout.split())):
        time.sleep(0.05)
    assert not any(map(_alive, done.stdout.split()))


def _alive(pid):
    return Path(f"/proc/{pid}").exists()


def round_of(number):
    """Starts, stops, breaks and fails loops."""
    persistent = number % 2 == 0
    workers = {"workers": "threads"} if number % 5 == 0 else {}
    loader = DataLoader(
        datasets.Structures(16), batch_size=1 + number % 4, num_workers=2,
        persistent_workers=persistent, **workers,
    )  # fmt: skip
    for _ in range(2):
        for count, _batch in enumerate(loader):
            if count == number % 3:
                break
    with pytest.raises(ZeroDivisionError):
        body_fails(loader)
    state = loader.state_dict()
    other = DataLoader(datasets.Structures(16), batch_size=1 + number % 4, num_workers=2, **workers)
    other.load_state_dict(state)
    for _a, _b in zip(other, loader, strict=False):
        pass
    with pytest.raises(ValueError, match="no such sample"):
        list(DataLoader(datasets.Fails(4, at=(2,)), num_workers=1))


@pytest.mark.parametrize(
    "rounds", [8, pytest.param(40, marks=[pytest.mark.slow, pytest.mark.stress])]
)
def test_rounds_of_starts_and_errors_leak_nothing(rounds):
    seen, before = [], children()
    for number in range(rounds):
        round_of(number)
        gc.collect()
        if number >= rounds // 4:
            seen.append((descriptors(), threading.active_count(), private_bytes()))
    assert seen[-1][0] <= seen[0][0] + 2
    assert seen[-1][1] <= seen[0][1]
    assert seen[-1][2] - seen[0][2] < 20e6
    assert children() <= before


def test_in_order_false_passes_any_number_of_batches_before_a_slow_one(tmp_path):
    os.mkfifo(fifo := tmp_path / "fifo")
    dataset = datasets.WaitsOnce(600, fifo)
    batches = iter(DataLoader(dataset, num_workers=2, in_order=False, timeout=60))
    # The slow worker also has sample 2, since each has two jobs at a time.
    before = [int(next(batches)[1]) for _ in range(598)]
    assert sorted(before) == [1, *range(3, 600)]
    with open(fifo, "wb"):
        assert [int(index) for _, index in batches] == [0, 2]


@pytest.mark.filterwarnings("ignore:a sample of")
def test_an_interrupted_dataset_is_asked_for_the_same_samples_again():
    class Interrupted(torch.utils.data.Dataset):
        asked = 0

        def __len__(self):
            return 6

        def __getitem__(self, index):
            self.asked += 1
            if self.asked == 4:
                raise KeyboardInterrupt
            if index == 2:
                raise ValueError("bad")
            return index

    loader = DataLoader(Interrupted(), batch_size=3, on_error="skip")
    batches = iter(loader)
    first = next(batches).tolist()
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    state = loader.state_dict()
    assert [first, *(batch.tolist() for batch in batches)] == [[0, 1], [3, 4, 5]]
    assert loader.error_count == 1
    loader.load_state_dict(state)
    assert [batch.tolist() for batch in loader] == [[3, 4, 5]]
