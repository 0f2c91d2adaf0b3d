# SPDX-License-Identifier: Apache-2.0
"""Tests that start nodes of Ray run only with ``ray`` in TORCHDALI_REQUIRE.

A node of Ray ends if its processes do not start within fixed times, which they exceed on a machine
whose cores are busy with other tests.
"""

from __future__ import annotations

import importlib.util
import os

import pytest

__all__ = ["require"]


def require(*packages: str) -> None:
    """Skips the test without that, and fails it if packages are missing."""
    if "ray" not in os.environ.get("TORCHDALI_REQUIRE", "").split(","):
        pytest.skip("starts nodes of Ray: run it alone, with TORCHDALI_REQUIRE=ray")
    for package in ("ray.data", *packages):
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.fail(f"TORCHDALI_REQUIRE has ray, but {package} is not installed")
