# SPDX-License-Identifier: Apache-2.0
"""Rows of Arrow tables as samples, and outputs of pipelines as columns of tables."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ray.data.block import BlockAccessor
from ray.data.extensions import ArrowTensorArray, ArrowVariableShapedTensorArray

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = [
    "RowNames",
    "array_of",
    "columns_for",
    "columns_of_result",
    "output_column",
    "samples_of",
    "table_of",
]

_PYTHON_NUMBERS = (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_))


def table_of(block: Any) -> pa.Table:
    """Returns a block of Ray as an Arrow table."""
    return block if isinstance(block, pa.Table) else BlockAccessor.for_block(block).to_arrow()


def columns_for(function: Callable[..., Any], names: Sequence[str], owner: str) -> list[str]:
    """Returns the columns that a function takes: those that its parameters name.

    Args:
        function: of the user. All columns if it has `**kwargs`, or no signature.
        names: of the columns.
        owner: whose argument the function is, for errors.

    Raises:
        ArgumentError: there is no column for a parameter.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # code in C has none
        return list(names)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return list(names)
    wanted = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
    for parameter in wanted:
        if parameter.name not in names and parameter.default is parameter.empty:
            raise _make(
                ArgumentError,
                f"{owner}: `pipeline` has the parameter `{parameter.name}`, the rows have "
                + ", ".join(f"`{name}`" for name in names),
                fix="name the parameters as the columns, or use Dataset.rename_columns()",
            )
    return [p.name for p in wanted if p.name in names]


def samples_of(batch: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the rows of a table, or of a dict of arrays; bytes and tensors are not copied."""
    if isinstance(batch, pa.Table):
        columns = [list(_values(batch.column(name))) for name in names]
    else:
        columns = [list(batch[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: pa.ChunkedArray) -> Iterator[Any]:
    for chunk in column.chunks:
        yield from _values_of_chunk(chunk)


def _values_of_chunk(chunk: pa.Array) -> Sequence[Any]:
    kind = chunk.type
    if isinstance(chunk, pa.ExtensionArray):
        if hasattr(chunk, "to_numpy_ndarray"):  # tensors of one shape
            return list(chunk.to_numpy_ndarray())
        return list(chunk.to_numpy(zero_copy_only=False))
    if pa.types.is_dictionary(kind):
        return _values_of_chunk(chunk.dictionary_decode())
    if pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        chunk = chunk.cast(pa.large_binary())
        kind = chunk.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _views_of_bytes(chunk)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    is_list = is_list or pa.types.is_fixed_size_list(kind)
    if chunk.null_count or not (is_number or is_list or pa.types.is_boolean(kind)):
        values: list[Any] = chunk.to_pylist()
        return values
    array = chunk.to_numpy(zero_copy_only=False)
    # Python's numbers are collated faster than those of NumPy, to the same types.
    return array.tolist() if array.dtype in _PYTHON_NUMBERS else list(array)


def _views_of_bytes(chunk: pa.Array) -> list[npt.NDArray[np.uint8]]:
    """Returns the values as uint8 [N] over the memory of the array; nulls have no bytes."""
    _, offsets, data = chunk.buffers()
    dtype = np.dtype(np.int64 if pa.types.is_large_binary(chunk.type) else np.int32)
    places = np.frombuffer(offsets, dtype, len(chunk) + 1, chunk.offset * dtype.itemsize)
    memory = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    views = [memory[start:end] for start, end in itertools.pairwise(places.tolist())]
    if chunk.null_count:
        none = memory[:0]
        views = [v if there else none for v, there in zip(views, chunk.is_valid(), strict=True)]
    return views


class RowNames(Sequence[str]):
    """How errors name the rows of a batch.

    Args:
        numbers: of the rows; None: they have none in the dataset.
        values: of the column with their names, such as paths; None: there is none.
        count: of the rows.
    """

    def __init__(self, numbers: Sequence[int] | None, values: Any, count: int) -> None:
        self._numbers, self._values, self._count = numbers, values, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if self._values is not None:
            value = self._values[index]
            return str(value.as_py() if isinstance(value, pa.Scalar) else value)
        if self._numbers is not None:
            return f"row {self._numbers[index]}"
        return f"row {index} of the batch"


# -- outputs


def array_of(output: Any) -> Any:
    """Returns an output of a pipeline as an array, or as a list of arrays if shapes differ."""
    if output.is_dense_tensor():
        return output.as_torch().cpu().numpy()
    return [tensor.cpu().numpy() for tensor in output.as_torch_list()]


def output_column(values: Any) -> pa.Array:
    """Returns a column of what array_of() has returned. A dense one is not copied."""
    if isinstance(values, np.ndarray):
        return pa.array(values) if values.ndim == 1 else ArrowTensorArray.from_numpy(values)
    if all(value.ndim == 0 for value in values):
        return pa.array(np.stack(values))
    column = np.empty(len(values), object)
    for index, value in enumerate(values):  # not column[:], which would join equal shapes
        column[index] = value
    return ArrowVariableShapedTensorArray.from_numpy(column)


def columns_of_result(result: Any, owner: str) -> Mapping[str, Any]:
    """Returns what a function under `pipeline` has returned, if it is a dict of columns.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not isinstance(result, Mapping) or any(not isinstance(name, str) for name in result):
        raise _make(
            ArgumentTypeError,
            f"{owner}: `pipeline` returns a {type(result).__name__}, expected a dict from columns "
            "to values",
            fix='return {"image": image, ...}',
        )
    for name, value in result.items():
        if isinstance(value, (Mapping, tuple)):
            raise _make(
                ArgumentTypeError,
                f"{owner}: `pipeline` returns a {type(value).__name__} for `{name}`, expected one "
                "value for a column",
            )
    return result
