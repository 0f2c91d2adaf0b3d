# SPDX-License-Identifier: Apache-2.0
"""OpenCV, where it is installed, for tests that compare with it."""

from __future__ import annotations

import os
from typing import Any

import pytest


def opencv() -> Any:
    """Returns the module, whose import changes environment variables, or skips the test."""
    before = dict(os.environ)
    try:
        return pytest.importorskip("cv2")
    finally:
        os.environ.clear()
        os.environ.update(before)
