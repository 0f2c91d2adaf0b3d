# SPDX-License-Identifier: Apache-2.0
"""Values of samples as operators take them. Runs in workers."""

from __future__ import annotations

import os
import stat
from typing import Any

import numpy as np
import torch

from torchdali.errors import ArgumentTypeError, FileError, _make

__all__ = ["NUMBERS", "file_data", "operator_data"]

_BYTES = (bytes, bytearray, memoryview)
NUMBERS = (bool, int, float, np.bool_, np.number)


def operator_data(value: Any, owner: str, index: int = 0, count: int = 1) -> Any:
    """Returns an array or a tensor for operators; None if they cannot take the value.

    Args:
        value: of a sample: an array, a tensor, numbers, bytes, or a file as a path.
        owner: what has the value, for errors.
        index: of the sample.
        count: of the samples of the batch.

    Raises:
        FileError: the file cannot be read.
    """
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, os.PathLike):
        return file_data(value, index, count, owner)
    if isinstance(value, _BYTES):
        return np.frombuffer(value, np.uint8)
    if isinstance(value, dict):
        return _encoded(value, index, count, owner)
    if isinstance(value, (list, tuple)):
        return _array_of_numbers(value)
    if isinstance(value, NUMBERS) or hasattr(value, "__array_interface__"):
        array = np.asarray(value)
        return None if array.dtype == object or array.dtype.kind in "USMmV" else array
    return None


def _encoded(value: dict[Any, Any], index: int, count: int, owner: str) -> Any:
    """Returns the bytes of a file as Hugging Face datasets have it; None for another dict."""
    if value.keys() != {"bytes", "path"}:
        return None
    if isinstance(value["bytes"], _BYTES):
        return np.frombuffer(value["bytes"], np.uint8)
    if value["bytes"] is None and isinstance(value["path"], str):
        return file_data(value["path"], index, count, owner)
    return None


def _array_of_numbers(values: Any) -> Any:
    """Returns a list of numbers as an array; None if it is another list, or not rectangular."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        return None
    return array if array.dtype.kind in "biuf" else None


def file_data(value: Any, index: int, count: int, owner: str) -> Any:
    """Returns the bytes of a file: uint8 [N].

    Raises:
        ArgumentTypeError: it is no path.
        FileError: it cannot be read.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise _make(
            ArgumentTypeError,
            f"{owner} is marked File and has a {type(value).__name__}, expected a path",
            sample=index,
            batch_size=count,
        )
    try:
        return _contents(value)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        failure = _make(
            FileError,
            f'{owner}: the file "{os.fspath(value)}" cannot be read: {reason}',
            sample=index,
            batch_size=count,
        )
        failure.source = os.fspath(value)
        raise failure from None


def _contents(path: str | os.PathLike[str]) -> Any:
    """Returns the bytes of a file.

    Four calls that release the GIL, where np.fromfile() has twelve: each may have to wait for other
    threads to get it again.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return np.fromfile(path, np.uint8)
        contents = np.empty(status.st_size, np.uint8)
        missing = contents.data
        while missing and (count := os.readv(descriptor, [missing])):
            missing = missing[count:]
        return contents[: len(contents) - len(missing)]
    finally:
        os.close(descriptor)
