# SPDX-License-Identifier: Apache-2.0
"""Table: rows in chunks, as the engine takes them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from torchdali.errors import FileError, TorchdaliError

__all__ = ["Table", "TableError", "facts_of_error", "pyarrow"]


class TableError(Exception):
    """What is wrong with a table, and what to do about it."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def facts_of_error(error: BaseException) -> tuple[bool, str, str]:
    """Returns whether an error is about a file, its message, and what to do about it."""
    if isinstance(error, TableError):
        return False, str(error), error.fix
    if isinstance(error, TorchdaliError):
        return isinstance(error, FileError), str(error), ""
    return isinstance(error, OSError), f"{type(error).__name__}: {error}", ""


def pyarrow() -> ModuleType:
    """Returns the package pyarrow."""
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise TableError(
            f"tables need the package pyarrow ({error})", "pip install pyarrow"
        ) from None


class Table:
    """Rows in chunks.

    Attributes:
        chunk_rows: the number of rows of each chunk.
        chunk_names: where each chunk comes from, for messages.
        first_rows: the number of the first row of each chunk in messages.
        rows: the rows to read, as positions in the chunks one after the other; empty for all.
    """

    def __init__(
        self,
        chunk_rows: Sequence[int],
        chunk_names: Sequence[str],
        first_rows: Sequence[int],
        rows: Sequence[int],
        batch: Callable[[int], tuple[Any, int]],
    ) -> None:
        self.chunk_rows, self.chunk_names = list(chunk_rows), list(chunk_names)
        self.first_rows, self.rows = list(first_rows), list(rows)
        self._batch = batch

    def load(self, chunk: int) -> tuple[tuple[object, object], int]:
        """Returns a chunk in the Arrow C data interface, and its memory in bytes."""
        try:
            batch, size = self._batch(chunk)
        except (TableError, TorchdaliError, OSError):
            raise
        except Exception as error:
            raise TableError(
                f"cannot load {self.chunk_names[chunk]}: {type(error).__name__}: {error}"
            ) from error
        return batch.__arrow_c_array__(), size
