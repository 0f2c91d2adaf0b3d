# SPDX-License-Identifier: Apache-2.0
"""What the engine calls (csrc/python/storage): one request each, without retries.

Each function returns its result, or a Failure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from torchdali._storage.backends import backend_for
from torchdali._storage.failures import Failure, from_exception

__all__ = ["Failure", "get", "list_objects", "stat"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _returns_failures(function: Callable[_P, _R]) -> Callable[_P, _R | Failure]:
    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R | Failure:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            known = from_exception(error)
            cause = known.__cause__ if known is error else error
            return Failure(known.message, known.transient, known.fix, cause)

    return call


@_returns_failures
def stat(url: str) -> tuple[int, str]:
    """Returns size and etag of an object."""
    return backend_for(url).stat(url)


@_returns_failures
def get(url: str, offset: int, count: int) -> tuple[Any, int, str]:
    """Returns bytes of an object, and its size (-1: unknown) and etag ("": unknown) as of then."""
    return backend_for(url).get(url, offset, count)


@_returns_failures
def list_objects(folder: str) -> list[str]:
    """Returns the URLs of the objects in a folder, and in the folders in it."""
    return backend_for(folder).list(folder)
