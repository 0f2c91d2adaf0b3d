# SPDX-License-Identifier: Apache-2.0
"""From samples to columns: for each field, the data of a batch. Runs in workers.

Arrays, tensors, bytes and files are data for operators. Everything else travels beside the pipeline
and is collated as torch's default_collate does it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch

from torchdali.errors import ArgumentError, ArgumentTypeError, FileError, UnsupportedError, _make
from torchdali.loader._dataset.torch_internals import torch_collate
from torchdali.loader.fields import FieldMarks, File, described

__all__ = ["Column", "FieldCollate", "Fields", "can_be_chosen_from", "chosen"]

_BYTES = (bytes, bytearray, memoryview)
_NUMBERS = (bool, int, float, np.bool_, np.number)


class Column(NamedTuple):
    """A field of all samples of a batch.

    Attributes:
        data: for operators: one array or tensor per sample, or a tensor with the batch as first
            axis; None if operators cannot take it.
        beside: what default_collate makes of it; None if it is made of `data`.
        problem: why operators cannot take it, and the number of the sample; None if they can.
        failure: why it cannot be collated; None if it can.
        values: what `beside` is made of, if samples may be left out; else None.
    """

    data: Any
    beside: Any = None
    problem: tuple[str, int] | None = None
    failure: str | None = None
    values: list[Any] | None = None


def _is_collated(column: Column) -> bool:
    return column.data is None or column.beside is not None


def can_be_chosen_from(column: Column) -> bool:
    """Returns whether chosen() can make a column of some of the samples."""
    return column.values is not None or not _is_collated(column)


def chosen(parts: Sequence[tuple[Column, Sequence[int]]]) -> Column:
    """Returns the column of some samples, for what travels beside the pipeline.

    Args:
        parts: columns of the same field, and the samples of each.
    """
    values = [
        (column.data if column.values is None else column.values)[row]
        for column, rows in parts
        for row in rows
    ]
    if all(column.values is None for column, _ in parts):
        return Column(values)
    beside, _, failure = _collated(values)
    return Column(None, beside, None, failure)


class Fields(NamedTuple):
    """The columns of a batch.

    Attributes:
        names: of the fields; None if samples are tuples or single values.
        columns: one for each field.
        size: number of samples.
    """

    names: tuple[str, ...] | None
    columns: list[Column]
    size: int


class FieldCollate:
    """The `collate_fn` of a loader with a pipeline, which calls columns() instead.

    Args:
        marks: of the fields.
        keeps_values: whether samples of a batch may be left out later.
    """

    def __init__(self, marks: FieldMarks, keeps_values: bool = False) -> None:
        self._marks, self._keeps_values = marks, keeps_values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldCollate) and self._marks == other._marks

    __hash__ = None  # type: ignore[assignment]  # it is compared by value, and never a key

    def __call__(self, samples: Sequence[Any]) -> NoReturn:
        """Refuses: a loader of another class has our `collate_fn`, but no pipeline."""
        del samples
        raise _make(
            UnsupportedError,
            "DataLoader: this loader was made from a torchdali.DataLoader, and has lost its "
            "`pipeline`",
            fix="Accelerate's prepare() makes such a loader: leave the DataLoader out of it, and "
            "pass device=accelerator.device and, with several processes, a DistributedSampler",
        )

    def columns(self, samples: Sequence[Any]) -> Fields:
        """Returns the columns of samples of one structure: a dict, a tuple or list, or one value.

        Raises:
            ArgumentError: the samples differ in structure.
            FileError: a file cannot be read.
        """
        names, fields = _fields(samples)
        columns = [
            _column(values, self._marks.of(names, index), described(names, index))
            for index, values in enumerate(fields)
        ]
        if self._keeps_values:
            columns = [
                column._replace(values=values) if _is_collated(column) else column
                for column, values in zip(columns, fields, strict=True)
            ]
        return Fields(names, columns, len(samples))


def _fields(samples: Sequence[Any]) -> tuple[tuple[str, ...] | None, list[list[Any]]]:
    """Returns the names of the fields, and the values of each."""
    first = samples[0]
    if isinstance(first, Mapping):
        names = tuple(first)
        for index, sample in enumerate(samples):
            lacking = [n for n in names if not isinstance(sample, Mapping) or n not in sample]
            if lacking:
                raise _differs(index, len(samples), f"has no field `{lacking[0]}`")
        return names, [[sample[name] for sample in samples] for name in names]
    if not isinstance(first, (tuple, list)):
        return None, [list(samples)]
    for index, sample in enumerate(samples):
        if not isinstance(sample, (tuple, list)) or len(sample) != len(first):
            fields = len(sample) if isinstance(sample, (tuple, list)) else 1
            raise _differs(index, len(samples), f"has {fields} fields, sample 0 has {len(first)}")
    return None, [list(values) for values in zip(*samples, strict=True)]


def _differs(sample: int, batch_size: int, how: str) -> Exception:
    return _make(
        ArgumentError,
        f"DataLoader: the samples of a batch differ: sample {sample} {how}",
        sample=sample,
        batch_size=batch_size,
    )


def _column(values: list[Any], mark: Any, name: str) -> Column:
    if isinstance(mark, File):
        return Column([_read(value, i, len(values), name) for i, value in enumerate(values)])
    if all(isinstance(value, _NUMBERS) for value in values):
        return _numbers(values)
    data: list[Any] = []
    for index, value in enumerate(values):
        array = _array(value, index, len(values), name)
        if array is None:
            return _travelling(values, index)
        data.append(array)
    if any(isinstance(value, (list, tuple)) for value in values):
        return Column(data, *_collated(values))  # lists of numbers
    return Column(data)


def _numbers(values: list[Any]) -> Column:
    beside, problem, failure = _collated(values)
    return Column(beside if isinstance(beside, torch.Tensor) else None, beside, problem, failure)


def _travelling(values: list[Any], index: int) -> Column:
    """Returns a column that operators cannot take, because of the sample `index`."""
    beside, _, failure = _collated(values)
    return Column(None, beside, (type(values[index]).__name__, index), failure)


def _array(value: Any, index: int, count: int, name: str) -> Any:
    """Returns data for operators; None if it is none."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, os.PathLike):
        return _read(value, index, count, name)
    if isinstance(value, _BYTES):
        return np.frombuffer(value, np.uint8)
    if isinstance(value, dict):
        return _encoded(value, index, count, name)
    if isinstance(value, (list, tuple)):
        return _array_of_numbers(value)
    if isinstance(value, _NUMBERS) or hasattr(value, "__array_interface__"):
        array = np.asarray(value)
        return None if array.dtype == object or array.dtype.kind in "USMmV" else array
    return None


def _encoded(value: dict[Any, Any], index: int, count: int, name: str) -> Any:
    """Returns the bytes of a file as Hugging Face datasets have it; None for another dict."""
    if value.keys() != {"bytes", "path"}:
        return None
    if isinstance(value["bytes"], _BYTES):
        return np.frombuffer(value["bytes"], np.uint8)
    if value["bytes"] is None and isinstance(value["path"], str):
        return _read(value["path"], index, count, name)
    return None


def _array_of_numbers(values: Any) -> Any:
    """Returns a list of numbers as an array; None if it is another list, or not rectangular."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        return None
    return array if array.dtype.kind in "biuf" else None


def _read(value: Any, index: int, count: int, name: str) -> Any:
    """Returns the bytes of a file."""
    if not isinstance(value, (str, os.PathLike)):
        raise _make(
            ArgumentTypeError,
            f"DataLoader: {name} is marked File and has a {type(value).__name__}, expected a path",
            sample=index,
            batch_size=count,
        )
    try:
        return np.fromfile(value, np.uint8)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        failure = _make(
            FileError,
            f'DataLoader: {name}: the file "{os.fspath(value)}" cannot be read: {reason}',
            sample=index,
            batch_size=count,
        )
        failure.source = os.fspath(value)
        raise failure from None


# -- beside the pipeline


def _collated(values: list[Any]) -> tuple[Any, None, str | None]:
    """Returns what default_collate makes of values, and why if it fails: fields of a Column.

    What it refuses (None, objects of the user's) is returned as a list, as it does with strings.
    """
    try:
        return torch_collate.collate(values, collate_fn_map=_functions()), None, None
    except TypeError:
        return values, None, None
    except Exception as error:
        return None, None, f"{type(error).__name__}: {error}"


def _functions() -> dict[Any, Callable[..., Any]]:
    """Returns the functions of default_collate, also those that the user registered, and None's."""
    functions = {
        kind: _unless_none(function)
        for kind, function in torch_collate.default_collate_fn_map.items()
    }
    functions[type(None)] = _as_list
    return functions


def _as_list(batch: Sequence[Any], *, collate_fn_map: Any = None) -> list[Any]:
    del collate_fn_map
    return list(batch)


def _unless_none(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that keeps values as a list if some of them are None."""

    def collate(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
        if any(value is None for value in batch):
            return list(batch)
        return function(batch, collate_fn_map=collate_fn_map)

    return collate
