# SPDX-License-Identifier: Apache-2.0
"""Permissions count for root as well: a test gives its privileges up for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def as_ordinary_user(folder: Path) -> Iterator[None]:
    """Runs the block without root's privileges; the user it runs as may reach ``folder``."""
    if os.geteuid() != 0:
        yield
        return
    for parent in (folder, *folder.parents):
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)
    os.seteuid(NOBODY)  # of all threads, those that start in the block included
    try:
        yield
    finally:
        os.seteuid(0)
