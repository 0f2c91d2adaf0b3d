# SPDX-License-Identifier: Apache-2.0
"""Requests by fsspec (https://filesystem-spec.readthedocs.io), for all its file systems."""

from __future__ import annotations

import os
import threading
from typing import Any
from urllib.parse import urlsplit

import fsspec

from torchdali._storage import options
from torchdali._storage.failures import StoreError, from_exception

__all__ = ["make"]

# Under which names file systems report the version of an object.
_VERSIONS = ("ETag", "etag", "e_tag", "mtime", "LastModified", "last_modified", "created")


def make() -> _Fsspec:
    """Returns the backend."""
    return _Fsspec()


class _Fsspec:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._systems: dict[tuple[str, str, int], Any] = {}
        self._made_for: options.Options | None = None

    def stat(self, url: str) -> tuple[int, str]:
        system, path = self._place(url)
        try:
            info = system.info(path)
        except Exception as error:
            raise from_exception(error) from error
        if info.get("type") == "directory":
            raise StoreError("it is a folder", transient=False)
        size = info.get("size")
        version = next((str(info[name]) for name in _VERSIONS if info.get(name)), "")
        return -1 if size is None else int(size), version

    def get(self, url: str, offset: int, count: int) -> tuple[Any, int, str]:
        system, path = self._place(url)
        try:
            data = system.cat_file(path, start=offset, end=offset + count)
        except Exception as error:
            known = from_exception(error)
            if offset == 0 and known.message.startswith("HTTP status 416"):
                return b"", *self.stat(url)  # an empty object
            raise known from error
        if len(data) <= count:
            return data, -1, ""
        if offset > 0:
            raise StoreError(
                "the server does not send parts of files",
                transient=False,
                fix="use a server that supports range requests, or copy the file",
            )
        return memoryview(data)[:count], len(data), ""

    def list(self, folder: str) -> list[str]:
        system, path = self._place(folder)
        try:
            found = system.find(path)
        except Exception as error:
            raise from_exception(error) from error
        # Names begin as the folder does, however a file system writes it: memory:///a for memory://a.
        written = fsspec.core.strip_protocol(path).rstrip("/") + "/"
        return [
            f"{folder.rstrip('/')}/{name.removeprefix(written)}"
            if name.startswith(written)
            else system.unstrip_protocol(name)
            for name in found
        ]

    def _place(self, url: str) -> tuple[Any, str]:
        """Returns the file system of a URL, and the name of the object in it, which is the URL."""
        key, given = options.options_for(url)
        scheme = urlsplit(url).scheme
        with self._lock:
            if self._made_for is not options.current():
                self._systems.clear()
                self._made_for = options.current()
            # A file system with connections cannot be used in a process that was forked from it.
            place = (scheme, key, os.getpid())
            if place not in self._systems:
                given.setdefault("use_listings_cache", False)
                if scheme in ("http", "https"):
                    import aiohttp

                    limit = aiohttp.ClientTimeout(total=options.current().timeout)
                    given.setdefault("client_kwargs", {}).setdefault("timeout", limit)
                try:
                    self._systems[place] = fsspec.filesystem(scheme, **given)
                except ImportError as error:
                    raise StoreError(str(error), transient=False, fix=str(error)) from error
                except Exception as error:
                    raise StoreError(
                        f"fsspec refuses the options of {key or scheme}: {error}", transient=False
                    ) from error
            system = self._systems[place]
        return system, url
