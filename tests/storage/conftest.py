# SPDX-License-Identifier: Apache-2.0
"""Options of remote files that end with the test, and servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.range_server import RangeServer

from torchdali import storage
from torchdali._storage import options


@pytest.fixture(autouse=True)
def _options_end_with_the_test() -> Iterator[None]:
    before = storage.options()
    yield
    options.set_current(before)


@pytest.fixture
def server() -> Iterator[RangeServer]:
    with RangeServer() as running:
        yield running


@pytest.fixture(params=["obstore", "fsspec"])
def backend(request: pytest.FixtureRequest) -> str:
    """Sets the backend to one that is installed; retries are quick."""
    pytest.importorskip(request.param)
    if request.param == "fsspec":
        pytest.importorskip("aiohttp")
    storage.configure(backend=request.param, retries=2)
    return str(request.param)
