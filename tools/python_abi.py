# SPDX-License-Identifier: Apache-2.0
"""What an extension of nanobind is compiled for: one version of Python, or all from 3.12 on.

An extension for the limited API runs on every later Python. nanobind needs that of 3.12; extensions
for older versions, and for free-threaded Python, are for one version. ``TORCHDALI_PYTHON_INCLUDE``
names a folder with the headers of another Python, for which extensions of the limited API are
compiled instead. So a machine with one Python that has torch makes the wheels for all versions.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension

LIMITED_API = (3, 12)
_MACRO = ("Py_LIMITED_API", f"0x{LIMITED_API[0]:02X}{LIMITED_API[1]:02X}0000")


def other_headers() -> Path | None:
    """Returns the folder that TORCHDALI_PYTHON_INCLUDE names; None if it is not set."""
    name = os.environ.get("TORCHDALI_PYTHON_INCLUDE", "")
    if not name:
        return None
    header = Path(name, "patchlevel.h")
    text = header.read_text() if header.exists() else ""
    version = tuple(map(int, re.findall(r"#define\s+PY_(?:MAJOR|MINOR)_VERSION\s+(\d+)", text)))
    if version < LIMITED_API:
        found = f"Python {'.'.join(map(str, version))}" if version else "no Python"
        needed = ".".join(map(str, LIMITED_API))
        raise SystemExit(
            f"torchdali: TORCHDALI_PYTHON_INCLUDE={name} has the headers of {found}, but it must "
            f"have those of Python {needed} or newer"
        )
    return Path(name)


def _can_limit() -> bool:
    """Returns whether extensions are compiled for the limited API."""
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    return bool(other_headers()) or (sys.version_info >= LIMITED_API and not free_threaded)


def apply(extension: Extension) -> None:
    """Sets the headers and the macros of an extension."""
    headers = other_headers()
    if headers:
        extension.include_dirs.insert(0, str(headers))
    if _can_limit():
        # Not by py_limited_api=True: torch would define the macro, for an older Python.
        extension.define_macros.append(_MACRO)


def is_limited(extension: Extension) -> bool:
    """Returns whether an extension is compiled for the limited API."""
    return _MACRO in extension.define_macros


def file_name(extension: Extension, name: str) -> str:
    """Returns the name of an extension's file, from the name for this Python."""
    return f"{name.partition('.')[0]}.abi3.so" if is_limited(extension) else name


def wheel_tag(extensions: list[Extension], tag: tuple[str, str, str]) -> tuple[str, str, str]:
    """Returns the tag of a wheel with these extensions, from the tag for this Python."""
    if not all(map(is_limited, extensions)):
        return tag
    return f"cp{LIMITED_API[0]}{LIMITED_API[1]}", "abi3", tag[2]


def build_tag() -> str:
    """Returns a name for the folder of object files."""
    abi = "-abi3" if other_headers() else ""
    return f"cp{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}{abi}"
