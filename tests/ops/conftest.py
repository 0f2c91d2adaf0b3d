# SPDX-License-Identifier: Apache-2.0
"""Operators that write files, fn.dump_image, write into a temporary folder."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _in_a_working_folder(working_folder, monkeypatch):
    monkeypatch.chdir(working_folder)
