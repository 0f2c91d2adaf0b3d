# SPDX-License-Identifier: Apache-2.0
"""Data for the commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.image_files import write_image_folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of ten photos of two classes."""
    return write_image_folder(tmp_path_factory.mktemp("data") / "photos", per_class=5)
