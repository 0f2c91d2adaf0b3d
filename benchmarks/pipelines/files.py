# SPDX-License-Identifier: Apache-2.0
"""Shared by the benchmarks over JPEG files."""

from __future__ import annotations

import functools
from pathlib import Path

SIZE = 224
# The usual mean and standard deviation of ImageNet's training set, scaled to 0..255.
MEAN = [255 * m for m in (0.485, 0.456, 0.406)]
STD = [255 * s for s in (0.229, 0.224, 0.225)]
SUFFIXES = {".jpg", ".jpeg"}


@functools.cache
def find_files(data: str) -> list[str]:
    """Returns the JPEG files below a folder, sorted."""
    files = sorted(str(p) for p in Path(data).rglob("*") if p.suffix.lower() in SUFFIXES)
    if not files:
        raise FileNotFoundError(f"no JPEG files below {data}")
    return files
