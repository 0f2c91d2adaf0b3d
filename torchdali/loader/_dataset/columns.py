# SPDX-License-Identifier: Apache-2.0
"""From samples to columns: for each field, the data of a batch. Runs in workers.

Arrays, tensors, bytes and files are data for operators. Everything else travels beside the pipeline
and is collated as torch's default_collate does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.late_batches import LateBatch, worker_place
from torchdali.loader._dataset.torch_internals import torch_collate
from torchdali.loader.fields import FieldMarks, File, described
from torchdali.loader.operator_data import NUMBERS, file_data, operator_data
from torchdali.loader.packing import packed, unpacked

__all__ = ["Column", "FieldCollate", "Fields", "can_be_chosen_from", "chosen"]


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

    def packed(self) -> Fields:
        """Returns it in few pieces, for another process."""
        return self._replace(columns=[c._replace(data=packed(c.data)) for c in self.columns])

    def unpacked(self) -> Fields:
        """Returns what packed() was called for."""
        return self._replace(columns=[c._replace(data=unpacked(c.data)) for c in self.columns])


class FieldCollate:
    """The `collate_fn` of a loader with a pipeline, which calls columns() instead.

    Loaders of other classes call it, and get batches whose pipeline runs later.

    Args:
        marks: of the fields.
        keeps_values: whether samples of a batch may be left out later.
        only: the name or the index of the field that operators work on; None: any.
        collates: whether the values of other fields than `only` are collated; else they are kept.
    """

    def __init__(
        self,
        marks: FieldMarks,
        keeps_values: bool = False,
        only: str | int | None = None,
        collates: bool = True,
    ) -> None:
        self._marks, self._keeps_values, self._only = marks, keeps_values, only
        self._collates = collates
        self._key = ""
        self._runner: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldCollate) and self._marks == other._marks

    __hash__ = None  # type: ignore[assignment]  # it is compared by value, and never a key

    def adopt(self, runner: Any) -> None:
        """Has a pipeline work on the batches of loaders of other classes.

        Args:
            runner: see late_batches.py.
        """
        self._runner, self._key = runner, runner.key

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_runner": None}  # the function of the user stays in the process

    def __call__(self, samples: Sequence[Any]) -> LateBatch:
        """Returns a batch for a loader of another class, which has our `collate_fn`."""
        return LateBatch(self._key, self.columns(samples), worker_place())

    def columns(self, samples: Sequence[Any]) -> Fields:
        """Returns the columns of samples of one structure: a dict, a tuple or list, or one value.

        Raises:
            ArgumentError: the samples differ in structure.
            FileError: a file cannot be read.
        """
        names, fields = _fields(samples)
        columns = [
            _column(values, self._marks.of(names, index), described(names, index))
            if self._only in (None, index if names is None else names[index])
            else self._beside(values if names else tuple(values))
            for index, values in enumerate(fields)
        ]
        if self._keeps_values:
            columns = [
                column._replace(values=values) if _is_collated(column) else column
                for column, values in zip(columns, fields, strict=True)
            ]
        return Fields(names, columns, len(samples))

    def _beside(self, values: Sequence[Any]) -> Column:
        return _travelling(values, 0) if self._collates else Column(None, values=list(values))


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
    owner = f"DataLoader: {name}"
    if isinstance(mark, File):
        return Column([file_data(value, i, len(values), owner) for i, value in enumerate(values)])
    if all(isinstance(value, NUMBERS) for value in values):
        return _numbers(values)
    data: list[Any] = []
    for index, value in enumerate(values):
        array = operator_data(value, owner, index, len(values))
        if array is None:
            return _travelling(values, index)
        data.append(array)
    if any(isinstance(value, (list, tuple)) for value in values):
        return Column(data, *_collated(values))  # lists of numbers
    return Column(data)


def _numbers(values: list[Any]) -> Column:
    beside, problem, failure = _collated(values)
    return Column(beside if isinstance(beside, torch.Tensor) else None, beside, problem, failure)


def _travelling(values: Sequence[Any], index: int) -> Column:
    """Returns a column that operators cannot take, because of the sample `index`."""
    beside, _, failure = _collated(values)
    return Column(None, beside, (type(values[index]).__name__, index), failure)


# -- beside the pipeline


def _collated(values: Sequence[Any]) -> tuple[Any, None, str | None]:
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
