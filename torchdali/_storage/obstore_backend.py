# SPDX-License-Identifier: Apache-2.0
"""Requests by obstore (https://developmentseed.org/obstore): S3, GCS, Azure, HTTP."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import obstore
from obstore import exceptions
from obstore.store import HTTPStore, from_url

from torchdali._storage import options
from torchdali._storage.failures import StoreError, from_status

__all__ = ["make"]

# Arguments of obstore's stores that are not configuration of one kind of store.
_ARGUMENTS = ("client_options", "config", "credential_provider", "retry_config")
_PERMANENT = (
    exceptions.InvalidPathError,
    exceptions.NotSupportedError,
    exceptions.UnknownConfigurationKeyError,
    exceptions.PreconditionError,
)


def make() -> _Obstore:
    """Returns the backend."""
    return _Obstore()


class _Obstore:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stores: dict[tuple[str, str], Any] = {}
        self._made_for: options.Options | None = None
        self._process = os.getpid()

    def stat(self, url: str) -> tuple[int, str]:
        store, path = self._place(url)
        try:
            meta = obstore.head(store, path)
        except Exception as error:
            raise _converted(error) from error
        return meta["size"], _etag(meta)

    def get(self, url: str, offset: int, count: int) -> tuple[Any, int, str]:
        store, path = self._place(url)
        try:
            found = obstore.get(store, path, options={"range": (offset, offset + count)})
            return found.bytes(), found.meta["size"], _etag(found.meta)
        except exceptions.NotSupportedError as error:
            if offset > 0:
                raise StoreError(
                    "the server does not send parts of files",
                    transient=False,
                    fix="use a server that supports range requests, or copy the file",
                ) from error
        except Exception as error:
            known = _converted(error)
            if offset == 0 and known.message.startswith("HTTP status 416"):
                size, etag = self.stat(url)
                if size == 0:  # no range of it can be asked for
                    return b"", size, etag
            raise known from error
        try:
            whole = obstore.get(store, path)
            return memoryview(whole.bytes())[:count], whole.meta["size"], _etag(whole.meta)
        except Exception as error:
            raise _converted(error) from error

    def list(self, folder: str) -> list[str]:
        if folder.startswith(("http://", "https://")):
            raise StoreError(
                "a web server has no list of its files",
                transient=False,
                fix="give the files, or a list of them",
            )
        store, prefix = self._place(folder)
        start = folder[: len(folder) - len(prefix)] if prefix else folder.rstrip("/") + "/"
        try:
            return [
                start + meta["path"]
                for chunk in obstore.list(store, prefix.rstrip("/") or None, chunk_size=1000)
                for meta in chunk
            ]
        except Exception as error:
            raise _converted(error) from error

    def _place(self, url: str) -> tuple[Any, str]:
        """Returns the store of a URL, and the object's path in it."""
        if self._process != os.getpid():
            raise StoreError(
                "obstore was used before this process was forked, and would hang here",
                transient=False,
                fix='start workers by "spawn" or "forkserver", read remote files only in them, or '
                'use storage.configure(backend="fsspec")',
            )
        scheme, _, host, *rest = url.split("/", 3)
        base = f"{scheme}//{host}"
        path = rest[0].lstrip("/") if rest else ""
        if scheme in ("http:", "https:") and "%" in path:
            path = unquote(path)
        key, given = options.options_for(url)
        with self._lock:
            if self._made_for is not options.current():
                self._stores.clear()
                self._made_for = options.current()
            place = (base, key)
            if place not in self._stores:
                try:
                    self._stores[place] = _make_store(base, given)
                except Exception as error:
                    raise StoreError(
                        f"obstore refuses the options of {key or base}: {_short(error)}",
                        transient=False,
                        fix="see obstore's documentation of store configuration",
                    ) from error
            return self._stores[place], path


def _make_store(base: str, given: Mapping[str, Any]) -> Any:
    arguments = {name: value for name, value in given.items() if name in _ARGUMENTS}
    config = {name: value for name, value in given.items() if name not in _ARGUMENTS}
    timeout = f"{max(1, round(options.current().timeout * 1000))}ms"
    endpoint = str(config.get("endpoint", os.environ.get("AWS_ENDPOINT_URL", base)))
    arguments["client_options"] = {
        "timeout": timeout,
        "connect_timeout": timeout,
        **({"allow_http": True} if endpoint.startswith("http://") else {}),
        **dict(arguments.get("client_options", {})),
    }
    # The engine repeats requests, and says how often it did.
    arguments.setdefault("retry_config", {"max_retries": 0})
    if base.startswith(("http://", "https://")):
        return HTTPStore(base, **arguments, **config)
    return from_url(base, **arguments, **config)


def _etag(meta: Mapping[str, Any]) -> str:
    if meta.get("e_tag"):
        return str(meta["e_tag"])
    modified = meta.get("last_modified")
    return f"modified {modified.timestamp():.0f}" if modified and modified.timestamp() > 0 else ""


def _short(error: Exception) -> str:
    """Returns the text of an exception of obstore without its source in Rust."""
    text = str(error).split("\n\nDebug source")[0]
    text = re.sub(r"Error performing [A-Z]+ \S+ in \S+ - ", "", text)
    return re.sub(r"^Generic \w+ error: ", "", text).strip().rstrip(":")


def _converted(error: Exception) -> StoreError:
    text = str(error)
    if status := re.search(r"non-2xx status code: (\d{3})", text):
        return from_status(int(status[1]))
    if isinstance(error, FileNotFoundError):
        return from_status(404)
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        return from_status(403)
    if isinstance(error, _PERMANENT):
        return StoreError(_short(error), transient=False)
    if "kind: Timeout" in text or "TimedOut" in text:
        limit = options.current().timeout
        return StoreError(f"the request took longer than {limit:g} s", transient=True)
    if "IncompleteBody" in text:
        return StoreError("the connection was closed before all bytes had come", transient=True)
    reason = re.findall(r'message: "([^"]+)"', text)
    return StoreError(f"{_short(error)}{f' ({reason[-1]})' if reason else ''}", transient=True)
