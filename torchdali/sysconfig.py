# SPDX-License-Identifier: Apache-2.0
"""DALI's module of flags for compiling operators; `torchdali.extension` uses them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torchdali
from torchdali._common.unsupported import names_of

__all__ = [
    "get_compile_flags",
    "get_include_dir",
    "get_include_flags",
    "get_lib_dir",
    "get_link_flags",
]


def get_lib_dir() -> str:
    """Returns the folder of the package, in which the engine's libraries are."""
    return os.path.dirname(os.path.abspath(torchdali.__file__))


def get_include_dir() -> str:
    """Returns the folder of the headers: `#include <torchdali/operator.h>`."""
    return os.path.join(get_lib_dir(), "include")


def get_include_flags() -> list[str]:
    """Returns the flag of the folder of the headers."""
    return [f"-I{get_include_dir()}"]


def get_compile_flags() -> list[str]:
    """Returns the flags that operators are compiled with.

    Any compiler of C++20 works: no type of its standard library crosses to the engine.
    """
    return [*get_include_flags(), "-std=c++20", "-fvisibility=hidden", "-ffp-contract=off"]


def get_link_flags() -> list[str]:
    """Returns an empty list: the engine passes its functions to a library when it is loaded."""
    return []


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
