# SPDX-License-Identifier: Apache-2.0
"""Parquet files as tables, and the cache of their row groups."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torchdali._common.location import user_stack_level
from torchdali._engine.extension import _C
from torchdali._sources.tables.columns import Columns
from torchdali._sources.tables.table import Table, TableError, pyarrow
from torchdali._storage.urls import is_remote

__all__ = ["parquet_table"]


def _files(paths: Sequence[str]) -> list[str]:
    """Returns the files that paths of files and folders mean."""
    files = []
    for path in paths:
        if is_remote(path):
            files.append(path)
            continue
        local = Path(path.removeprefix("file://"))
        if not local.is_dir():
            files.append(str(local))
            continue
        found = sorted(str(p) for p in local.rglob("*.parquet") if p.is_file())
        if not found:
            raise TableError(f"the folder {path!r} has no files *.parquet")
        files += found
    return files


class RemoteFile(io.RawIOBase):
    """A file in a store, as a Python file."""

    def __init__(self, file: _C.InputFile) -> None:
        self._file, self._size, self._at = file, file.size(), 0

    def readable(self) -> bool:
        """Returns True."""
        return True

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def tell(self) -> int:
        """Returns the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves the position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Returns the bytes from the position on."""
        left = max(self._size - self._at, 0)
        count = left if size < 0 else min(size, left)
        data = self._file.read(self._at, count) if count > 0 else b""
        self._at += count
        return data


class ParquetFile:
    """A file: its metadata, and its row groups when they are asked for."""

    def __init__(self, path: str, names: Sequence[str]) -> None:
        self.path = path
        self._file = _C.InputFile(path) if is_remote(path) else None
        pa = pyarrow()
        try:
            with pa.parquet.ParquetFile(self._source()) as file:
                self.metadata = file.metadata
                schema = file.schema_arrow
        except pa.ArrowInvalid as error:
            raise TableError(f"{path!r} is not a Parquet file, or is damaged: {error}") from None
        try:
            self.columns = Columns(schema, names)
        except TableError as error:
            raise TableError(f"{path!r}: {error}", error.fix) from None

    @property
    def version(self) -> str:
        """Differs if the contents differ."""
        version = (self._file or _C.InputFile(self.path)).version()
        if not version:
            raise TableError(
                f"{self.path!r} has no etag: the rows in the row cache could be those of an older "
                "version",
                "leave out `row_cache`",
            )
        return f"{self.path if self._file else os.path.abspath(self.path)} {version}"

    def _source(self) -> Any:
        return self.path if self._file is None else RemoteFile(self._file)

    def read(self, group: int) -> Any:
        """Returns the columns of a row group as a record batch."""
        pa = pyarrow()
        try:
            with pa.parquet.ParquetFile(self._source(), metadata=self.metadata) as file:
                batch = self.columns.batch(file.read_row_group(group, columns=self.columns.top))
        except (pa.ArrowException, OSError) as error:
            raise TableError(
                f"{self.path!r}, row group {group}, cannot be read: {error}",
                "the file is damaged, or was changed since the pipeline was built",
            ) from error
        # pyarrow may lose rows whose values are all null; the others would be at wrong positions.
        rows = self.metadata.row_group(group).num_rows
        if batch.num_rows != rows:
            raise TableError(
                f"{self.path!r}, row group {group}: pyarrow {pa.__version__} returns "
                f"{batch.num_rows} rows, expected {rows}",
                "write the file again with data_page_version='1.0', or with another pyarrow",
            )
        return batch


class RowCache:
    """Row groups as Arrow files, which are mapped into memory."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def get(self, file: ParquetFile, group: int) -> Any:
        """Returns a row group; makes its file if there is none."""
        pa = pyarrow()
        key = f"1 {file.version} {group} {file.columns.facts()}"
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.arrow"
        for attempt in range(2):
            try:
                return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
            except FileNotFoundError:
                pass
            except pa.ArrowInvalid:  # of a machine that lost power
                path.unlink(missing_ok=True)
            assert attempt == 0
            self._write(path, file.read(group))
        raise AssertionError

    def _write(self, path: Path, batch: Any) -> None:
        pa = pyarrow()
        part = path.with_suffix(f".{os.getpid()}.{id(batch)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(part, "wb") as out:
                with pa.ipc.new_file(out, batch.schema) as writer:
                    writer.write_batch(batch)
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise TableError(
                f"cannot write to the row cache {str(self._folder)!r}: {error}",
                "give a folder with room for the decoded columns as `row_cache`",
            ) from error


def parquet_table(
    paths: Sequence[str], columns: Sequence[str], row_cache: str, most_bytes: int
) -> Table:
    """Opens Parquet files.

    Args:
        paths: of files and folders.
        columns: names of columns.
        row_cache: a folder; empty for none.
        most_bytes: warn if the row groups need more memory than this; negative: do not.
    """
    names = _files(paths)
    with ThreadPoolExecutor(min(16, len(names))) as pool:
        files = list(pool.map(lambda path: ParquetFile(path, columns), names))
    for file in files:
        if file.columns.facts() != files[0].columns.facts():
            raise TableError(
                f"the files differ in the types of their columns: {files[0].path!r} has "
                f"{dict(files[0].columns.facts())}, {file.path!r} has {dict(file.columns.facts())}"
            )
    groups = [(file, group) for file in files for group in range(file.metadata.num_row_groups)]
    groups = [(f, g) for f, g in groups if f.metadata.row_group(g).num_rows > 0]
    size = sum(_decoded_bytes(file, group) for file, group in groups)
    if 0 <= most_bytes < size and not row_cache:
        warnings.warn(
            f"readers.parquet: the columns take {size / 1e9:.1f} GB when decoded, and shuffling "
            f"needs all of them, but `memory_bytes` is {most_bytes / 1e9:.1f} GB: row groups will "
            "be decoded again and again. Give `row_cache` a folder with room for them, or increase "
            "`memory_bytes`",
            stacklevel=user_stack_level(),
        )
    cache = RowCache(row_cache) if row_cache else None

    def batch(chunk: int) -> tuple[Any, int]:
        file, group = groups[chunk]
        if cache is not None:
            return cache.get(file, group), 0
        made = file.read(group)
        return made, made.nbytes

    return Table(
        [file.metadata.row_group(group).num_rows for file, group in groups],
        [f"{file.path}, row group {group}" for file, group in groups],
        [0] * len(groups),
        [],
        batch,
    )


def _decoded_bytes(file: ParquetFile, group: int) -> int:
    facts = file.metadata.row_group(group)
    columns = [facts.column(i) for i in range(facts.num_columns)]
    top = set(file.columns.top)
    return sum(
        c.total_uncompressed_size for c in columns if c.path_in_schema.partition(".")[0] in top
    )
