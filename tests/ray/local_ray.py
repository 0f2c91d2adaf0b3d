# SPDX-License-Identifier: Apache-2.0
"""Datasets of numbered images, and a substitute for Ray in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from torchdali import fn
from torchdali.ray import SharedDataset
from torchdali.ray._shared import _Executor

BROKEN = b"P6 8 8 255\nhalf"


def encoded(number: int) -> bytes:
    """Returns an image whose pixels are a number."""
    return b"P6 4 4 255\n" + bytes([number % 256] * 48)


def table_of_numbers(numbers: Sequence[int], broken: Sequence[int] = ()) -> pa.Table:
    """Returns a table with an image, a number and a path in each row."""
    return pa.table(
        {
            "image": [BROKEN if n in broken else encoded(n) for n in numbers],
            "number": list(numbers),
            "path": [f"images/{n}.ppm" for n in numbers],
        }
    )


def tables_of_numbers(sizes: Sequence[int], broken: Sequence[int] = ()) -> list[pa.Table]:
    """Returns tables of these numbers of rows, whose numbers go on from one to the next."""
    tables, first = [], 0
    for size in sizes:
        tables.append(table_of_numbers(range(first, first + size), broken))
        first += size
    return tables


def decode(image: Any, number: Any) -> dict[str, Any]:
    """The definition of a pipeline."""
    return {"image": fn.decoders.image(image), "number": number}


class Reference:
    """Stands for a reference to an object of Ray; `make` returns the object."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class LocalRay:
    """Stands for the module ray."""

    def get(self, reference: Reference) -> Any:
        return reference.make()

    def wait(self, references: Sequence[Any], **_: Any) -> tuple[Sequence[Any], list[Any]]:
        return references, []


class FakeDataset:
    """A dataset whose blocks are tables; counts its executions."""

    def __init__(self, tables: Sequence[pa.Table]) -> None:
        self.context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False))
        self.blocks = [Reference(lambda table=table: table) for table in tables]
        self.rows = [table.num_rows for table in tables]
        self.executions = 0

    def copy(self, dataset: FakeDataset) -> FakeDataset:
        return dataset

    def iter_internal_ref_bundles(self) -> Iterator[Any]:
        assert self.context.execution_options.preserve_order
        self.executions += 1
        for block, rows in zip(self.blocks, self.rows, strict=True):
            yield SimpleNamespace(blocks=[(block, SimpleNamespace(num_rows=rows))])


class LocalDataset(SharedDataset):
    """A SharedDataset whose actor is in this process."""

    def __init__(self, tables: Sequence[pa.Table], shuffle: Any = None) -> None:
        self.dataset = FakeDataset(tables)
        self.executor = _Executor(self.dataset, shuffle)
        self.answers: dict[Any, Any] = {}

    def request(self, share: Any, step: int, again: bool = False) -> Reference:
        return Reference(lambda: self.executor.piece(share, step, again))
