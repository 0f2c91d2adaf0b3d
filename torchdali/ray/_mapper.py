# SPDX-License-Identifier: Apache-2.0
"""TorchDaliMapper: the class of map_batches() whose actors are pipelines."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from torchdali._common.bad_samples import BadSampleLog, ListsBadSamples
from torchdali.errors import ArgumentTypeError, _make
from torchdali.loader._dataset.fetch import NO_SAMPLES
from torchdali.loader._dataset.made_rows import MadeRows
from torchdali.loader.fields import File, Layout
from torchdali.ray._stage import RowStage, StageOptions, own_errors
from torchdali.ray._tables import array_of, columns_of_result, output_column

__all__ = ["TorchDaliMapper"]

_MOST_ROWS = 1 << 34  # numbers of samples with one seed


class TorchDaliMapper(ListsBadSamples):
    """Runs a pipeline over the batches of a dataset of Ray; each actor has one.

    The parameters of `pipeline` name the columns that it gets. The output has the columns that it
    returns. Those that it returns as it got them stay as they are, whatever they are.

    Args:
        pipeline: a function that takes a DataNode for each column, and returns a dict from columns
            to values, as for pipeline_def. Bytes, numbers, tensors and lists of numbers are data
            for operators.
        on_error: what happens to a row that fails: "raise", "skip" (the output has no row for it)
            or "replace" (its row is that of the nearest good one of the batch). A batch whose rows
            have all failed has no rows.
        max_errors: rows of an actor that may fail.
        errors_file: path of a file that each failure is appended to, as a line of JSON, on the
            machine of the actor.
        pipeline_options: arguments of Pipeline, such as `seed` and `device_id`, and
            `enable_conditionals` of pipeline_def. Without `num_threads`, it is the number of CPUs
            that Ray has assigned to the actor (`num_cpus` of map_batches).
        fields: what columns are: Layout("CHW"), or just "CHW", and File() for strings that are
            paths of files to read. Also as annotations of the parameters.
        name_column: the column by which errors name a row; None: "path", if there is one.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.

    Attributes:
        errors, error_count: rows that failed.

    Note:
        With batch_format="pyarrow", bytes and tensors are not copied on the way in, and dense
        outputs not on the way out; the default format works, too.

    Example:
        def thumbnails(bytes, label):
            return {"image": fn.resize(fn.decoders.image(bytes), size=[64, 64]), "label": label}

        dataset.map_batches(TorchDaliMapper, fn_constructor_args=[thumbnails],
                            batch_format="pyarrow", batch_size=64, num_cpus=4, concurrency=8)
    """

    def __init__(
        self,
        pipeline: Callable[..., Any],
        *,
        on_error: str = "raise",
        max_errors: int = 100,
        errors_file: str | os.PathLike[str] | None = None,
        pipeline_options: Mapping[str, Any] | None = None,
        fields: Mapping[str | int, Layout | File | str] | None = None,
        name_column: str | None = None,
    ) -> None:
        self._options = StageOptions(
            "TorchDaliMapper", pipeline, on_error, max_errors, errors_file, pipeline_options,
            fields, name_column,
        )  # fmt: skip
        self._stage = RowStage(self._options, None, lambda made: made)
        self._batches = 0
        self._stage.state.bad_samples.begin_epoch(0)
        seed = self._stage.given_seed
        self._is_seeded = seed is not None
        self._seed = int.from_bytes(os.urandom(7), "little") if seed is None else seed
        self._stage.start_epoch(self._seed, 0)

    def __call__(self, batch: Any) -> Any:
        """Returns the output of the pipeline: a table for a table, a dict for a dict.

        Args:
            batch: a pyarrow.Table, or a dict from columns to arrays.

        Raises:
            ArgumentTypeError: the batch has another format.
            TorchdaliError: the pipeline has failed; names the row.
        """
        if not isinstance(batch, (pa.Table, dict)):
            raise _make(
                ArgumentTypeError,
                f"TorchDaliMapper: a batch is a {type(batch).__name__}, expected a pyarrow.Table",
                fix='pass batch_format="pyarrow" to map_batches()',
            )
        is_table = isinstance(batch, pa.Table)
        if _count(batch) == 0:
            return pa.table({}) if is_table else {}
        stage, number = self._stage, self._batches
        fields = stage.fields_of(batch, number, None)
        if self._is_seeded:
            stage.start_epoch(self._seed, _fingerprint(fields))
        begun = stage.begin(fields)
        self._batches += 1
        made = stage.finish(begun)
        empty: Any = pa.table({}) if is_table else {}
        result = empty if made is NO_SAMPLES else self._output(made, batch, fields.names)
        stage.release(begun)
        return result

    def _output(self, made: MadeRows, batch: Any, names: Any) -> Any:
        is_table = isinstance(batch, pa.Table)
        rows = made.rows

        def beside(field: int) -> Any:
            column = batch[names[field]]
            if rows is None:
                return column
            return column.take(pa.array(rows)) if is_table else np.asarray(column)[list(rows)]

        def output(value: Any) -> Any:
            return output_column(array_of(value)) if is_table else array_of(value)

        with own_errors("TorchDaliMapper"):
            result = columns_of_result(made.rebuilt(output, beside), "TorchDaliMapper")
        return pa.table(dict(result)) if is_table else dict(result)

    def __torchdali_bad_samples__(self) -> list[BadSampleLog]:
        """Returns what has the records of rows that failed."""
        return [self._stage.state.bad_samples]


def _count(batch: Any) -> int:
    if isinstance(batch, pa.Table):
        return int(batch.num_rows)
    return len(next(iter(batch.values()), ()))


def _fingerprint(fields: Any) -> int:
    """Returns a number for a batch that is the same whenever it is made again."""
    check = fields.size
    for column in fields.columns:
        data = column.data if column.data is not None else column.values
        if data is not None and len(data):
            check = zlib.crc32(np.ascontiguousarray(np.asarray(data[0])).tobytes(), check)
    return int(check) % _MOST_ROWS
