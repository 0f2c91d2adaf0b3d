# SPDX-License-Identifier: Apache-2.0
"""Remote files: options, and reading of single ones. docs/guide/remote_files.md.

Every argument of a reader that is a path may be a URL: ``s3://bucket/key``, ``gs://``, ``az://``,
``http(s)://``, and what fsspec knows.
"""

from __future__ import annotations

import dataclasses
import enum
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from torchdali._engine.extension import _C
from torchdali._storage import options as _options
from torchdali._storage.options import Options
from torchdali._storage.urls import is_remote
from torchdali.errors import ArgumentError, _make

__all__ = ["Options", "Store", "configure", "list", "options", "read", "size"]


class Store(Protocol):
    """What an object needs to be a `backend`. Any thread may call it.

    It raises FileNotFoundError or PermissionError for an object that cannot be read; requests that
    raise another OSError, such as TimeoutError or ConnectionError, are repeated. A method
    ``etag(url)``, which returns a text that changes with the contents, makes its objects cacheable.
    """

    def size(self, url: str) -> int:
        """Returns the size of an object in bytes."""

    def read(self, url: str, start: int, end: int) -> Any:
        """Returns the bytes from `start` to `end`; fewer only if the object ends before `end`."""

    def list(self, folder: str) -> Iterable[str]:
        """Returns the URLs of all objects in a folder, and in the folders in it."""


class _Kept(enum.Enum):
    """The default of configure(): an option stays as it is."""

    KEPT = "kept"

    def __repr__(self) -> str:
        return "KEPT"


_KEPT: Final = _Kept.KEPT


def configure(
    *,
    backend: Any = _KEPT,
    options: Mapping[str, Mapping[str, Any]] | _Kept = _KEPT,
    cache_dir: str | os.PathLike[str] | _Kept | None = _KEPT,
    cache_bytes: int | str | _Kept = _KEPT,
    retries: int | _Kept = _KEPT,
    timeout: float | _Kept = _KEPT,
    concurrency: int | _Kept = _KEPT,
) -> None:
    """Sets options of remote files for this process and the worker processes it starts later.

    Options that are not given keep their values. Pipelines that exist go on with the old ones.

    Args:
        backend: the library that makes the requests. "auto" (default) takes obstore for s3, gs, az,
            abfs, http and https if it is installed, else fsspec; "obstore" or "fsspec" takes that
            one; an object with the methods of Store is called itself. TORCHDALI_STORAGE_BACKEND.
        options: what the library is given for URLs that begin with a text, as credentials and
            endpoints: ``{"s3://bucket": {"region": "eu-west-1", "endpoint": ...}}``. The longest
            text counts. Without it, libraries read their environment variables, as AWS_*.
        cache_dir: a folder on a local disk for objects that were read; None: no cache (default).
            TORCHDALI_CACHE_DIR.
        cache_bytes: how much of the disk all processes may use, as a number or as "200GB"; 0: no
            cache; default 100 GB. TORCHDALI_CACHE_BYTES.
        retries: how often a request is repeated that failed for a while, such as by a time-out, a
            lost connection, or status 429 or 5xx; default 6. TORCHDALI_STORAGE_RETRIES.
        timeout: seconds that one request may take, default 30. TORCHDALI_STORAGE_TIMEOUT.
        concurrency: requests that one reader has in flight, default 64.
            TORCHDALI_STORAGE_CONCURRENCY.

    Raises:
        ArgumentError: a wrong value.
        ArgumentTypeError: a backend without one of the methods.
    """
    given: dict[str, Any] = {
        "backend": backend,
        "options": options,
        "cache_dir": cache_dir,
        "cache_bytes": cache_bytes,
        "retries": retries,
        "timeout": timeout,
        "concurrency": concurrency,
    }
    changes = {name: value for name, value in given.items() if value is not _KEPT}
    if "cache_bytes" in changes:
        changes["cache_bytes"] = _options.byte_count(changes["cache_bytes"], "cache_bytes")
    if changes.get("cache_dir") is not None:
        changes["cache_dir"] = os.fspath(changes["cache_dir"])
        _check_folder(changes["cache_dir"])
    _options.set_current(dataclasses.replace(_options.current(), **changes))


def _check_folder(folder: str) -> None:
    """Warns about a folder that cannot be written: reading does not fail for want of a cache."""
    try:
        os.makedirs(folder, exist_ok=True)
        usable = os.access(folder, os.W_OK, effective_ids=True)
    except OSError:
        usable = False
    if not usable:
        warnings.warn(
            f"torchdali: the folder `cache_dir`, {folder}, cannot be written: nothing is added to "
            "the cache",
            stacklevel=3,
        )


def options() -> Options:
    """Returns the options of this process."""
    return _options.current()


def read(url: str, offset: int = 0, count: int | None = None) -> bytes:
    """Returns the bytes of a file: a URL or a path.

    For datasets and external sources; uses retries and the cache. The GIL is released meanwhile.

    Args:
        url: the file.
        offset: where to begin.
        count: how many bytes; None: to the end.

    Raises:
        FileError: it cannot be read, or has fewer bytes.
        ArgumentError: `offset` or `count` is negative.
    """
    if offset < 0 or (count is not None and count < 0):
        raise _make(ArgumentError, f"`offset` is {offset} and `count` {count}, expected 0 or more")
    return _C.InputFile(url).read(offset, -1 if count is None else count)


def size(url: str) -> int:
    """Returns the size of a file, a URL or a path, in bytes.

    Raises:
        FileError: it cannot be found.
    """
    return _C.InputFile(url).size()


def list(folder: str) -> Iterable[str]:
    """Returns the URLs of the objects in a folder of a store, and in the folders in it, sorted.

    Raises:
        FileError: it cannot be listed.
        ArgumentError: it is not a URL of a store.
    """
    if not is_remote(folder):
        raise _make(ArgumentError, f'"{folder}" is no URL of a store', fix="use os.walk()")
    return _C.storage_list(folder)
