# SPDX-License-Identifier: Apache-2.0
"""DALI's module that loads libraries of operators; torchdali cannot load any yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of
from torchdali.backend import LoadLibrary

__all__ = ["load_library"]


def load_library(library_path: str, global_symbols: bool = False) -> None:
    """Raises an error: operators in shared libraries cannot be added to torchdali yet.

    Write operators of your own in Python: see `fn.python_function`,
    `fn.torch_python_function` and `torchdali.plugin.numba`.

    Args:
        library_path: a library built for DALI, whose operators cannot run here.
        global_symbols: no effect.

    Raises:
        FileError: there is no such file.
        UnsupportedError: the file exists.
    """
    LoadLibrary(library_path, global_symbols)


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
