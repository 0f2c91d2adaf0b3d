# SPDX-License-Identifier: Apache-2.0
"""Markers, devices, data folders and isolation for every test.

``TORCHDALI_REQUIRE=cuda,dali`` turns the skips of those markers into failures, where a job is there
to run them. ``TORCHDALI_DATA`` names a folder of real files; tests that want one skip without it.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

# Read when torch and Numba are imported. Tests run side by side, and their tensors are small: with
# more threads, torch would spend most of its time waiting for them. Numba compiles twice as fast
# without optimization.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_OPT", "0")
# Indexes that readers make are not kept in the cache of whoever runs the tests.
os.environ.setdefault("TORCHDALI_CACHE_DIR", "")

import numpy as np
import pytest
import torch
from helpers import chromium
from hypothesis import HealthCheck, settings

pytest_plugins = ["helpers.gpu_record", "helpers.selection"]

REQUIRED = {name for name in os.environ.get("TORCHDALI_REQUIRE", "").split(",") if name}
# Time limit for threads that were told to stop.
THREAD_EXIT_S = 10.0

# Background jobs of a shell ignore Ctrl-C, and child processes inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _cuda_missing() -> str | None:
    if not torch.cuda.is_available():
        return "no CUDA device, or a torch without CUDA"
    if not (Path(__file__).parents[1] / "torchdali" / "_cuda.so").exists():
        return "the GPU library was not built: nvcc is needed"
    return None


def _dali_missing() -> str | None:
    python = os.environ.get("TORCHDALI_DALI_PYTHON")
    if not python:
        return "TORCHDALI_DALI_PYTHON does not name a Python with DALI 1.35.0"
    if not os.access(python, os.X_OK):
        return f"TORCHDALI_DALI_PYTHON is {python}, which cannot be run"
    return None


# Marker -> why its tests cannot run here; None: they can.
MISSING = {"cuda": _cuda_missing, "dali": _dali_missing, "browser": chromium.missing}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = {name: find() for name, find in MISSING.items()}
    for item in items:
        for name, reason in missing.items():
            if reason and item.get_closest_marker(name) and name not in REQUIRED:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Hides imported modules and collected tests from the garbage collector.

    Many tests call gc.collect(), and all of them cause collections. Each would visit the half a
    million objects of torch, pytest and the collected tests: a tenth of a second.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _required_machinery_is_there(request: pytest.FixtureRequest) -> None:
    for name, missing in MISSING.items():
        if name in REQUIRED and request.node.get_closest_marker(name):
            reason = missing()
            if reason:
                pytest.fail(f"TORCHDALI_REQUIRE has {name}, but {reason}")


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.cuda)])
def device(request: pytest.FixtureRequest) -> str:
    """Runs a test on each device; the second run is skipped without a GPU."""
    return str(request.param)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Returns the folder of real files, or skips."""
    name = os.environ.get("TORCHDALI_DATA")
    if not name:
        pytest.skip("TORCHDALI_DATA does not name a folder of real files")
    path = Path(name).resolve()
    assert path.is_dir(), f"TORCHDALI_DATA is {name}, which is not a folder"
    return path


@pytest.fixture(scope="session")
def dali_python() -> str:
    """Returns the Python that has DALI 1.35.0; for tests marked ``dali``."""
    return os.environ["TORCHDALI_DALI_PYTHON"]


# Tests must not change NumPy's old global state.
def _random_state() -> tuple[object, ...]:
    numpy_state = np.random.get_state()  # noqa: NPY002
    return random.getstate(), numpy_state[1].tobytes(), torch.get_rng_state().numpy().tobytes()


@pytest.fixture
def keep_random_state() -> Iterator[None]:
    """Restores the random states that loaders draw their seeds from."""
    numpy, python, own = np.random.get_state(), random.getstate(), torch.get_rng_state()  # noqa: NPY002
    yield
    gc.collect()  # iterators that a traceback refers to, and their threads
    np.random.set_state(numpy)  # noqa: NPY002
    random.setstate(python)
    torch.set_rng_state(own)


def _python_threads() -> set[threading.Thread]:
    """Returns the threads that Python has started, without the one that fsspec keeps for all."""
    foreign = threading._DummyThread  # stands for a thread of the engine
    return {
        thread
        for thread in threading.enumerate()
        if not isinstance(thread, foreign) and thread.name != "fsspecIO"
    }


@pytest.fixture(autouse=True)
def _leaves_things_as_they_were(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves another environment, random state or Python thread behind."""
    environment, directory = dict(os.environ), Path.cwd()
    python_threads = _python_threads()
    # Hypothesis manages the random state of the tests that it runs.
    uses_hypothesis = hasattr(getattr(request.node, "obj", None), "hypothesis")
    state = None if uses_hypothesis else _random_state()
    yield
    changed = {
        name
        for name in environment.keys() | os.environ.keys()
        # OpenMP and CUDA set their own when they load, and so does torch's compiler
        if not name.startswith(("PYTEST_", "KMP_", "CUDA_", "TORCHINDUCTOR_"))
        and environment.get(name) != os.environ.get(name)
    }
    os.environ.update(environment)
    for name in changed - environment.keys():
        os.environ.pop(name, None)
    assert not changed, f"the test changed environment variables {sorted(changed)}"
    assert Path.cwd() == directory, "the test changed the working directory"
    if state is not None:
        assert _random_state() == state, "the test changed a global random state"
    deadline = time.monotonic() + THREAD_EXIT_S
    while _python_threads() - python_threads and time.monotonic() < deadline:
        time.sleep(0.01)
    left = _python_threads() - python_threads
    assert not left, f"the test left threads running: {sorted(t.name for t in left)}"


# A shared CI machine is slow at times: with a deadline, tests would fail at random.
settings.register_profile(
    "torchdali", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("ci", parent=settings.get_profile("torchdali"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "torchdali")


@pytest.fixture(scope="session")
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes one folder for all tests of a process: fn.dump_image writes where the process is."""
    return tmp_path_factory.mktemp("working_folder")
