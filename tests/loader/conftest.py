# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests of loaders."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _draw_seeds(keep_random_state: None) -> None:
    """Lets loaders draw their seeds from the global generator."""
