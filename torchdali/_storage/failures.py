# SPDX-License-Identifier: Apache-2.0
"""Failed requests: what they say, and whether it is worth to try again."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass
from http import HTTPStatus

__all__ = ["Failure", "StoreError", "from_exception", "from_status"]

_CREDENTIALS = (
    'give credentials: storage.configure(options={"s3://bucket": {...}}), or the environment '
    "variables of the store, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a public bucket "
    'takes {"skip_signature": True}'
)
_NAME = "check the URL"
_TRANSIENT_STATUS = {408, 425, 429}
_PERMANENT_ERRNO = {
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EINVAL,
    errno.ENOSYS,
}


@dataclass(frozen=True)
class Failure:
    """A request that failed, for the engine.

    Attributes:
        message: what happened.
        transient: the same request may succeed later.
        fix: what the user can do; may be empty.
        cause: the exception, if there was one.
    """

    message: str
    transient: bool
    fix: str
    cause: BaseException | None


class StoreError(Exception):
    """A request failed, in a way that is understood."""

    def __init__(self, message: str, *, transient: bool, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.transient, self.fix = message, transient, fix


def from_status(status: int) -> StoreError:
    """Returns the error for a status of HTTP."""
    try:
        text = f"HTTP status {status} {HTTPStatus(status).phrase}"
    except ValueError:
        text = f"HTTP status {status}"
    if status in (401, 403):
        return StoreError(text, transient=False, fix=_CREDENTIALS)
    if status in (404, 410):
        return StoreError(text, transient=False, fix=_NAME)
    return StoreError(text, transient=status >= 500 or status in _TRANSIENT_STATUS)


def from_exception(error: Exception) -> StoreError:
    """Returns the error for an exception of a library whose exceptions are Python's."""
    if isinstance(error, StoreError):
        return error
    status = getattr(error, "status", None)
    if isinstance(status, int) and status >= 400:
        return from_status(status)
    text = str(error) or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return StoreError(f"there is no such object ({text})", transient=False, fix=_NAME)
    if isinstance(error, PermissionError):
        return StoreError(f"access is denied ({text})", transient=False, fix=_CREDENTIALS)
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return StoreError("the request timed out", transient=True)
    # Libraries wrap what they do not know as OSError; aiohttp has classes of its own.
    lost = isinstance(error, OSError) and error.errno not in _PERMANENT_ERRNO
    lost = lost or type(error).__module__.startswith("aiohttp")
    return StoreError(f"{type(error).__name__}: {text}", transient=lost)
