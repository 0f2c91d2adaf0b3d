# SPDX-License-Identifier: Apache-2.0
"""What the pipeline of a DataLoader has made of a batch: outputs, and what travels beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from torchdali._graph.pytree import Structure
from torchdali.errors import DataError, _make
from torchdali.loader._dataset.columns import Column, Fields, chosen
from torchdali.loader._filling import Part
from torchdali.loader._rows import joined_outputs
from torchdali.loader.fields import described

__all__ = ["MadeRows"]


class MadeRows:
    """A batch that a pipeline has made.

    Args:
        outputs: of the pipeline.
        batch: that it was made of.
        rows: the samples of the batch that are left; None: all.
        fields: for each value of the user's function, the field that it is; None: it is an output.
        structure: of those values.
    """

    def __init__(
        self,
        outputs: Sequence[Any],
        batch: Fields,
        rows: Sequence[int] | None,
        fields: Sequence[int | None],
        structure: Structure,
    ) -> None:
        self._outputs, self._batch, self._rows = outputs, batch, rows
        self._fields, self._structure = fields, structure

    @property
    def count(self) -> int:
        """See Rows."""
        return self._batch.size if self._rows is None else len(self._rows)

    def whole(self) -> Any:
        """Returns the batch in the structure of the user's function.

        Raises:
            DataError: a field that travels beside the pipeline cannot be collated.
        """
        return self.rebuilt(_tensors, self._beside)

    def rebuilt(self, output: Callable[[Any], Any], beside: Callable[[int], Any]) -> Any:
        """Returns the structure of the user's function with other values.

        Args:
            output: makes a value of an output of the pipeline.
            beside: makes one of the index of a field that travels beside the pipeline.
        """
        outputs = iter(self._outputs)
        return self._structure.rebuild(
            [output(next(outputs)) if field is None else beside(field) for field in self._fields]
        )

    @property
    def rows(self) -> Sequence[int] | None:
        """The samples of the batch that are left; None: all."""
        return self._rows

    def first_output(self) -> Any:
        """Returns the first output of the pipeline, as whole() does."""
        return _tensors(self._outputs[0])

    def samples(self) -> list[Any]:
        """Returns the samples one by one, in the structure of the user's function."""
        outputs = iter(self._outputs)
        columns = [
            next(outputs).as_torch_list() if field is None else self._values(field)
            for field in self._fields
        ]
        return [self._structure.rebuild(list(row)) for row in zip(*columns, strict=True)]

    def _values(self, index: int) -> list[Any]:
        """Returns the values of a field that travels beside the pipeline."""
        column = self._batch.columns[index]
        values = column.data if column.values is None else column.values
        return [values[row] for row in self._samples]

    def _beside(self, index: int) -> Any:
        column = self._batch.columns[index]
        if self._rows is not None:
            column = chosen([(column, self._rows)])
        return _collated(column, self._batch, index)

    def joined(self, parts: Sequence[Part]) -> Any:
        """See Rows."""
        if any(rows._fields != self._fields or rows._form != self._form for rows, _, _ in parts):
            raise _make(
                DataError,
                "DataLoader: `fill_batches`: samples of batches of which one is to be made differ "
                "in their fields",
                fix="return the same fields for all samples, or leave out `fill_batches`",
            )
        paths, values, output = self._structure.paths, [], 0
        for path, field in zip(paths, self._fields, strict=True):
            if field is None:
                own = [(rows._outputs[output], start, end) for rows, start, end in parts]
                values.append(_tensors(joined_outputs(own, path)))
                output += 1
            else:
                columns = [
                    (r._batch.columns[field], r._samples[start:end]) for r, start, end in parts
                ]
                values.append(_collated(chosen(columns), self._batch, field))
        return self._structure.rebuild(values)

    @property
    def _form(self) -> tuple[Any, ...]:
        return self._structure.paths, self._batch.names

    @property
    def _samples(self) -> Sequence[int]:
        return range(self._batch.size) if self._rows is None else self._rows


def _tensors(batch: Any) -> Any:
    """Returns an output as one tensor, or as a list of tensors if shapes differ."""
    return batch.as_torch() if batch.is_dense_tensor() else batch.as_torch_list()


def _collated(column: Column, batch: Fields, index: int) -> Any:
    """Returns a field that travels beside the pipeline."""
    if column.failure is not None:
        raise _make(
            DataError,
            f"DataLoader: {described(batch.names, index)} cannot be collated: {column.failure}",
            fix="return tensors or arrays, or leave the field out of what `pipeline` returns",
        )
    return _together(column) if column.beside is None else column.beside


def _together(column: Column) -> Any:
    """Returns the data of a column as one tensor, or as a list of tensors if shapes differ."""
    tensors = [_as_tensor(value) for value in column.data]
    first = tensors[0]
    if all(t.shape == first.shape and t.dtype == first.dtype for t in tensors):
        return torch.stack(tensors)
    return [tensor.clone() for tensor in tensors]


def _as_tensor(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    if not value.flags.writeable or any(stride < 0 for stride in value.strides):
        value = np.array(value)
    return torch.from_numpy(value)
