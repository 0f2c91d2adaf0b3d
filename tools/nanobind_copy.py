# SPDX-License-Identifier: Apache-2.0
"""A copy of nanobind's sources in build/, for setup.py.

An isolated build has its own nanobind, in a temporary folder. With other paths in the flags, ninja
would compile everything again, and clang-tidy would not find the headers later.
"""

from __future__ import annotations

import shutil
from pathlib import Path

try:
    import nanobind
except ImportError:
    raise SystemExit(
        "torchdali: the build needs nanobind, which is not installed: run `make setup`, or install "
        "what pyproject.toml lists under build. Without a network, first put nanobind's wheel into "
        "build/wheels and use `make setup`, or `pip install --find-links build/wheels`"
    ) from None

FOLDER = Path(__file__).resolve().parents[1] / "build" / f"nanobind-{nanobind.__version__}"
INCLUDED = [FOLDER / "include", FOLDER / "src", FOLDER / "ext" / "robin_map" / "include"]


def make() -> None:
    """Copies nanobind to FOLDER, at the first build."""
    if not FOLDER.exists():
        part = FOLDER.with_suffix(".part")
        shutil.copytree(Path(nanobind.__file__).parent, part, dirs_exist_ok=True)
        part.rename(FOLDER)
