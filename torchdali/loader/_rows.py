# SPDX-License-Identifier: Apache-2.0
"""Rows of batches, and batches that are put together from rows of others."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import torch

from torchdali.errors import DataError, _make
from torchdali.loader._filling import Part
from torchdali.tensors import wrap

__all__ = ["CollatedRows", "joined_outputs"]


def joined_outputs(parts: Sequence[Part], name: str) -> Any:
    """Returns one batch of an output of the engine.

    Args:
        parts: batches of the output, and their rows.
        name: of the output, for errors.

    Raises:
        DataError: they differ in type or number of dimensions.
    """
    batches = [batch for batch, _, _ in parts]
    first = batches[0]
    for batch in batches[1:]:
        if (batch.dtype, batch.ndim()) != (first.dtype, first.ndim()):
            raise _cannot_join(
                name,
                f"{first.dtype} of {first.ndim()} dimensions and {batch.dtype} of {batch.ndim()}",
            )
    shapes = {batch.shape()[0] for batch in batches if batch.is_dense_tensor()}
    if len(shapes) == 1 and all(batch.is_dense_tensor() for batch in batches):
        dense = torch.cat([batch.as_torch()[start:end] for batch, start, end in parts])
        return wrap(dense, first.layout())
    samples = [s for batch, start, end in parts for s in batch.as_torch_list()[start:end]]
    return wrap(samples, first.layout())


class CollatedRows:
    """The rows of what torch's default_collate has made.

    Args:
        batch: that it has made.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    @functools.cached_property
    def count(self) -> int:
        """See Rows."""
        counts = list(dict.fromkeys(_counts(self._batch, "")))
        if len(counts) != 1:
            raise _make(
                DataError,
                f"DataLoader: `fill_batches`: values of one batch have {counts} rows, expected one "
                "number",
            )
        return counts[0]

    def whole(self) -> Any:
        """See Rows."""
        return self._batch

    def joined(self, parts: Sequence[Part]) -> Any:
        """See Rows."""
        return _joined([(rows.whole(), start, end) for rows, start, end in parts], "")


def _is_text(value: Sequence[Any]) -> bool:
    """Returns whether a list or tuple has a string for each row; others have columns."""
    return bool(value) and all(isinstance(item, (str, bytes)) for item in value)


def _counts(value: Any, path: str) -> Iterator[int]:
    """Yields the number of rows of each value of a batch."""
    if isinstance(value, torch.Tensor) and value.dim() and not value.is_nested:
        yield len(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _counts(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        if _is_text(value):
            yield len(value)
            return
        for index, item in enumerate(value):
            yield from _counts(item, f"{path}[{index}]")
    else:
        raise _make(
            DataError,
            f"DataLoader: `fill_batches`: {_named(path)} is a {type(value).__name__}, whose rows "
            "are not known",
            fix="let samples be tensors, arrays, numbers and strings, in dicts, tuples and lists",
        )


def _joined(parts: Sequence[Part], path: str) -> Any:
    """Returns one value of the rows of values of several batches."""
    values = [value for value, _, _ in parts]
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        raise _cannot_join(path, " and ".join(sorted({type(value).__name__ for value in values})))
    if isinstance(first, torch.Tensor):
        for value in values[1:]:
            if (value.dtype, value.shape[1:]) != (first.dtype, first.shape[1:]):
                shapes = [f"{v.dtype} of shape {list(v.shape[1:])}" for v in (first, value)]
                raise _cannot_join(path, " and ".join(shapes))
        return torch.cat([value[start:end] for value, start, end in parts])
    if isinstance(first, Mapping):
        if any(value.keys() != first.keys() for value in values):
            raise _cannot_join(path, "other keys")
        return _like(
            first,
            {
                key: _joined([(v[key], start, end) for v, start, end in parts], f"{path}[{key!r}]")
                for key in first
            },
        )
    if len({_is_text(value) for value in values}) > 1:
        raise _cannot_join(path, "strings and other values")
    if _is_text(first):
        return _like(first, [row for value, start, end in parts for row in value[start:end]])
    if any(len(value) != len(first) for value in values):
        raise _cannot_join(path, "other fields")
    columns = [
        _joined([(v[i], start, end) for v, start, end in parts], f"{path}[{i}]")
        for i in range(len(first))
    ]
    return _like(first, columns)


def _like(value: Any, items: Any) -> Any:
    """Returns a dict, list or tuple of the class of a value, with other items.

    default_collate makes them in the same way.
    """
    kind: Any = type(value)
    if hasattr(value, "_fields"):
        return kind(*items)
    if isinstance(value, MutableMapping) and kind is not dict:
        made: Any = copy.copy(value)
        made.update(items)
        return made
    return kind(items)


def _named(path: str) -> str:
    return f"batch{path}" if path.startswith("[") else f'"{path}"' if path else "the batch"


def _cannot_join(path: str, what: str) -> Exception:
    return _make(
        DataError,
        f"`fill_batches`: {_named(path)} has {what} in batches of which one is to be made",
        fix="make samples equal in type and shape, or leave out `fill_batches`",
    )
