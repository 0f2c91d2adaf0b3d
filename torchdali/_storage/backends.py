# SPDX-License-Identifier: Apache-2.0
"""Which library makes the requests for a URL."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Protocol

from torchdali._storage import options
from torchdali._storage.failures import StoreError

__all__ = ["Backend", "backend_for"]

# Schemes that obstore knows.
_OBSTORE = {"s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https"}


class Backend(Protocol):
    """Requests to stores; see calls.py. Failures are exceptions."""

    def stat(self, url: str) -> tuple[int, str]:
        """Returns size and etag of an object."""

    def get(self, url: str, offset: int, count: int) -> tuple[Any, int, str]:
        """Returns bytes of an object, with its size and etag."""

    def list(self, folder: str) -> list[str]:
        """Returns the URLs of the objects in a folder."""


class _Custom:
    """A backend over the object of a user, which is documented in torchdali.storage."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def stat(self, url: str) -> tuple[int, str]:
        etag = getattr(self._store, "etag", None)
        return int(self._store.size(url)), str(etag(url) or "") if etag is not None else ""

    def get(self, url: str, offset: int, count: int) -> tuple[Any, int, str]:
        return self._store.read(url, offset, offset + count), -1, ""

    def list(self, folder: str) -> list[str]:
        return [str(url) for url in self._store.list(folder)]


_made: dict[str, Backend] = {}


def backend_for(url: str) -> Backend:
    """Returns the backend for a URL.

    Raises:
        StoreError: the libraries that could read it are not installed.
    """
    chosen = options.current().backend
    if not isinstance(chosen, str):
        return _Custom(chosen)
    if chosen == "auto":
        chosen = _choice(url)
    if chosen not in _made:
        try:
            module = importlib.import_module(f"torchdali._storage.{chosen}_backend")
        except ModuleNotFoundError as error:
            raise StoreError(
                f'the backend "{chosen}" of torchdali.storage needs a package that is not '
                f"installed: {error.name}",
                transient=False,
                fix=f"pip install {chosen}",
            ) from error
        _made[chosen] = module.make()
    return _made[chosen]


def _choice(url: str) -> str:
    """Returns "obstore" or "fsspec", whatever suits the URL and is installed."""
    scheme = url.partition(":")[0].lower()
    # Signed URLs have their signature in the query, which obstore would take for a name.
    suits = scheme in _OBSTORE and not (scheme in ("http", "https") and "?" in url)
    if suits and importlib.util.find_spec("obstore"):
        return "obstore"
    if importlib.util.find_spec("fsspec"):
        return "fsspec"
    library = "obstore" if suits else "fsspec"
    raise StoreError(
        f"reading {scheme}:// needs the package {library}, which is not installed",
        transient=False,
        fix=f"pip install {library}",
    )
