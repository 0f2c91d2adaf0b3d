# SPDX-License-Identifier: Apache-2.0
"""Tables in memory, and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdali._sources.tables.columns import Columns
from torchdali._sources.tables.table import Table, TableError, pyarrow

__all__ = ["object_table"]


def object_table(table: Any, columns: Sequence[str]) -> Table:
    """Opens a table in memory, or a Hugging Face dataset."""
    pa = pyarrow()
    rows: list[int] = []
    name = type(table).__name__
    if type(table).__module__.partition(".")[0] == "datasets":
        table, rows, name = _opened_dataset(table)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    elif not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TableError(
                f"`table` is {type(table).__name__}, expected a pyarrow.Table, a "
                "datasets.Dataset, or an object with __arrow_c_stream__()"
            )
        table = pa.RecordBatchReader.from_stream(table).read_all()
    chosen = Columns(table.schema, columns)
    batches = [b for b in table.select(chosen.top).to_batches() if b.num_rows > 0]
    first_rows, total = [], 0
    for batch in batches:
        first_rows.append(total)
        total += batch.num_rows

    def load(chunk: int) -> tuple[Any, int]:
        batches[chunk].validate()
        return chosen.batch(batches[chunk]), 0

    chunk_rows = [b.num_rows for b in batches]
    return Table(chunk_rows, [name] * len(batches), first_rows, rows, load)


def _opened_dataset(dataset: Any) -> tuple[Any, list[int], str]:
    """Returns the table of a Hugging Face dataset, its rows in their order, and its name."""
    kind = type(dataset).__name__
    if kind != "Dataset":
        raise TableError(
            f"`table` is a datasets.{kind}, expected a datasets.Dataset",
            "choose a split, such as dataset['train']"
            if kind == "DatasetDict"
            else "load it without streaming=True; streams go into a torchdali.DataLoader",
        )
    indices = dataset._indices
    rows = [] if indices is None else indices.column(0).to_numpy().tolist()
    if indices is not None and not rows:
        raise TableError("the dataset has no rows")
    return dataset.data.table, rows, str(dataset.split or "dataset")
