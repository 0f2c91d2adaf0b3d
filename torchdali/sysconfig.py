# SPDX-License-Identifier: Apache-2.0
"""DALI's module of flags for compiling operators, which torchdali does not support yet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import torchdali
from torchdali._common.unsupported import names_of
from torchdali.errors import UnsupportedError, _make

__all__ = [
    "get_compile_flags",
    "get_include_dir",
    "get_include_flags",
    "get_lib_dir",
    "get_link_flags",
]


def _refuse(function: str, what: str) -> NoReturn:
    raise _make(
        UnsupportedError,
        f"sysconfig.{function}: {what}, since operators in C++ cannot be added yet",
        fix="write the operator in Python: fn.python_function, fn.torch_python_function or "
        "torchdali.plugin.numba; get the ABI from torchdali.backend.GetCxx11AbiFlag()",
    )


def get_lib_dir() -> str:
    """Returns the folder of the package, in which the engine's libraries are."""
    return os.path.dirname(os.path.abspath(torchdali.__file__))


def get_include_dir() -> str:
    """Raises an error: the package has no headers.

    Raises:
        UnsupportedError: always.
    """
    _refuse("get_include_dir", "the package has no headers")


def get_include_flags() -> list[str]:
    """Raises an error: the package has no headers.

    Raises:
        UnsupportedError: always.
    """
    _refuse("get_include_flags", "the package has no headers")


def get_compile_flags() -> list[str]:
    """Raises an error: the package has no headers.

    Raises:
        UnsupportedError: always.
    """
    _refuse("get_compile_flags", "the package has no headers")


def get_link_flags() -> list[str]:
    """Raises an error: there is no library to link.

    Raises:
        UnsupportedError: always.
    """
    _refuse("get_link_flags", "there is no library to link")


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
