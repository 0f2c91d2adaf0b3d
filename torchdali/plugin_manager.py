# SPDX-License-Identifier: Apache-2.0
"""DALI's module that loads libraries of operators: those compiled by `torchdali.extension`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of
from torchdali.backend import LoadLibrary
from torchdali.errors import FileError, _make

__all__ = ["load_directory", "load_library"]


def load_library(library_path: str | os.PathLike[str], global_symbols: bool = False) -> None:
    """Adds the operators of a shared library to `fn`, `ops` and all other modules of operators.

    Args:
        library_path: a library compiled with the headers of torchdali. Libraries for DALI cannot be
            used.
        global_symbols: libraries that are loaded later see its symbols.

    Raises:
        FileError: there is no such file.
        UnsupportedError: it is not a library of operators, or is for another version of torchdali.
        ArgumentError: an operator is described wrongly, or its name is taken.
    """
    LoadLibrary(library_path, global_symbols)


def load_directory(
    plugin_dir_path: str | os.PathLike[str], global_symbols: bool = False, allow_fail: bool = False
) -> None:
    """Loads all libraries (`*.so`) in a folder and the folders in it, in the order of their names.

    Args:
        plugin_dir_path: the folder.
        global_symbols: as for `load_library`.
        allow_fail: warn of a library that cannot be loaded instead of raising.

    Raises:
        FileError: there is no such folder.
        UnsupportedError: a file is not a library of operators, unless `allow_fail`.
        ArgumentError: an operator's name is taken, unless `allow_fail`.
    """
    folder = Path(plugin_dir_path)
    if not folder.is_dir():
        raise _make(FileError, f'load_directory: there is no folder "{folder}"')
    for path in sorted(folder.rglob("*.so")):
        LoadLibrary(path, global_symbols, allow_fail)


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
