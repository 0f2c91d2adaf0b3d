# SPDX-License-Identifier: Apache-2.0
"""Finds the library that decodes Ogg and MP3 in an installed Python package."""

from __future__ import annotations

import platform
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = ["find_library"]

_PACKAGE = "_soundfile_data"  # of the wheels of soundfile
_MACHINES = {"x86_64": "x86_64", "aarch64": "arm64"}


def find_library() -> str:
    """Returns the path of libsndfile in the package soundfile, or "" if there is none.

    Nothing is imported.
    """
    spec = PathFinder.find_spec(_PACKAGE)
    machine = _MACHINES.get(platform.machine(), "")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, f"libsndfile_{machine}.so")
        if path.is_file():
            return str(path)
    return ""
