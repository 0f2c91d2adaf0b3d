# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests of DataLoader: classes, numbers of workers, random states."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from helpers import datasets
from helpers.both_loaders import CLASSES, PARALLEL


@pytest.fixture(params=CLASSES)
def cls(request: pytest.FixtureRequest) -> Any:
    """Runs a test on torch's DataLoader and on ours."""
    return CLASSES[request.param]


@pytest.fixture(params=[0, 1, 2])
def workers(request: pytest.FixtureRequest) -> Any:
    """Runs a test with several numbers of workers."""
    return request.param


@pytest.fixture(params=PARALLEL)
def parallel(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Runs a test without workers, with processes and with threads."""
    return PARALLEL[request.param]


@pytest.fixture(autouse=True)
def _keep_random_state() -> Iterator[None]:
    """Restores the random states that loaders draw their seeds from."""
    numpy, python, own = np.random.get_state(), random.getstate(), torch.get_rng_state()  # noqa: NPY002
    yield
    gc.collect()  # iterators that a traceback refers to, and their threads
    np.random.set_state(numpy)  # noqa: NPY002
    random.setstate(python)
    torch.set_rng_state(own)


@pytest.fixture(autouse=True)
def _enough_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes no loader warn that the machine has fewer processors than it has workers."""
    datasets.set_processors(monkeypatch, 8)


@pytest.fixture(autouse=True)
def _torch_ends_workers_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error torch's DataLoader waits this long, 5 s by default, for each worker."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)
