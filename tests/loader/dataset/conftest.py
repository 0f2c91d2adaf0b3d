# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests of DataLoader: classes, numbers of workers."""

from __future__ import annotations

from typing import Any

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
def _enough_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes no loader warn that the machine has fewer processors than it has workers."""
    datasets.set_processors(monkeypatch, 8)


@pytest.fixture(autouse=True)
def _torch_ends_workers_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error torch's DataLoader waits this long, 5 s by default, for each worker."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)
