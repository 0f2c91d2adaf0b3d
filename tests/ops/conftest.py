# SPDX-License-Identifier: Apache-2.0
"""Operators that write files, fn.dump_image, write into a temporary folder."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def working_folder(tmp_path_factory):
    """Makes one folder for all tests of a process."""
    return tmp_path_factory.mktemp("working_folder")


@pytest.fixture(autouse=True)
def _in_a_working_folder(working_folder, monkeypatch):
    monkeypatch.chdir(working_folder)
