# SPDX-License-Identifier: Apache-2.0
"""The pipeline of a RayLoader or a TorchDaliMapper: that of DataLoader(pipeline=), fed by rows."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import ray

from torchdali._common.bad_samples import ON_ERROR
from torchdali._common.cpus import granted_cpus, limit_cpus
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    TorchdaliError,
    _make,
    _of_another,
)
from torchdali.loader._dataset.columns import FieldCollate, Fields
from torchdali.loader._dataset.fetch import NO_SAMPLES
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.pipeline_options import PipelineOptions
from torchdali.loader._dataset.pipeline_stage import PipelineStage
from torchdali.loader.fields import FieldMarks
from torchdali.ray._tables import RowNames, columns_for, samples_of

__all__ = ["RowStage", "StageOptions", "assigned_cpus"]

_NAME_COLUMN = "path"  # what Ray calls the column of include_paths=True


def assigned_cpus() -> int | None:
    """Returns the CPUs that Ray has assigned to this actor or task; None outside of them."""
    if not ray.is_initialized():
        return None
    context = ray.get_runtime_context()
    if context.worker.mode != ray.WORKER_MODE:
        return None
    cpus = float(context.get_assigned_resources().get("CPU", 1))
    return max(1, math.floor(cpus))


class StageOptions:
    """The arguments that RayLoader and TorchDaliMapper have in common, checked.

    Args:
        owner: the name of the class, for errors.
        pipeline, on_error, max_errors, errors_file, pipeline_options, fields, name_column: of it.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.
    """

    def __init__(
        self,
        owner: str,
        pipeline: Callable[..., Any],
        on_error: str,
        max_errors: int,
        errors_file: Any,
        pipeline_options: Mapping[str, Any] | None,
        fields: Mapping[str | int, Any] | None,
        name_column: str | None,
    ) -> None:
        if not callable(pipeline):
            raise _make(
                ArgumentTypeError,
                f"{owner}: `pipeline` is a {type(pipeline).__name__}, expected a function",
            )
        if on_error not in ON_ERROR:
            raise _make(
                ArgumentError,
                f"{owner}: `on_error` is {on_error!r}, expected one of {', '.join(ON_ERROR)}",
            )
        if isinstance(max_errors, bool) or not isinstance(max_errors, int) or max_errors < 0:
            raise _make(
                ArgumentError, f"{owner}: `max_errors` is {max_errors!r}, expected a number"
            )
        self.owner, self.pipeline, self.on_error = owner, pipeline, on_error
        self.max_errors, self.errors_file = max_errors, errors_file
        self.fields, self.name_column = fields, name_column
        cpus = assigned_cpus()
        if cpus is not None:
            limit_cpus(cpus)
            cpus = granted_cpus()
        self.pipeline_options = {
            **({} if cpus is None else {"num_threads": cpus}),
            **(pipeline_options or {}),
        }
        with own_errors(owner):
            options = PipelineOptions(self.pipeline_options, None)
            self.marks = FieldMarks(pipeline, fields, options.fields)


class _RowFields(Fields):
    """The columns of a batch, with what is known about its rows."""

    names_of_rows: RowNames
    number: int


class RowStage(PipelineStage):
    """Feeds rows of tables to a pipeline.

    Args:
        options: of the class.
        batch_size: samples of a batch; None: unknown.
        finish: makes what finish() returns of MadeRows.
        must_have_samples: whether a batch without samples is an error.

    Attributes:
        state: has the log of samples that failed.
    """

    def __init__(
        self,
        options: StageOptions,
        batch_size: int | None,
        finish: Callable[[Any], Any] | None = None,
        must_have_samples: bool = False,
    ) -> None:
        self.state = state = LoaderState()
        state.bad_samples.max_errors = options.max_errors
        state.bad_samples.path = options.errors_file
        loader = SimpleNamespace(
            pipeline=options.pipeline,
            pipeline_options=options.pipeline_options,
            jpeg_index=None,
            fields=options.fields,
            batch_size=batch_size,
            batch_sampler=None,
            on_error=options.on_error,
            fill_batches=False,
        )
        if finish is not None:
            loader.finish_batch = finish
        super().__init__(loader, state)
        self._owner, self._name_column = options.owner, options.name_column
        self._user_function = options.pipeline
        self._must_have_samples = must_have_samples
        self._collate = FieldCollate(options.marks, options.on_error != "raise")

    def fields_of(self, batch: Any, number: int, rows: Sequence[int] | None) -> Fields:
        """Returns the columns of a batch for begin().

        Args:
            batch: a table, or a dict of arrays.
            number: of the batch.
            rows: the numbers of its rows in the dataset; None: unknown.

        Raises:
            ArgumentError: the function has a parameter without a column.
            TorchdaliError: the rows cannot be used.
        """
        known = batch.column_names if hasattr(batch, "column_names") else list(batch)
        names = columns_for(self._user_function, known, self._owner)
        if not names:
            raise _make(
                ArgumentError, f"{self._owner}: `pipeline` has no parameters for the columns"
            )
        count = len(batch[names[0]])
        name_column = self._name_column
        if name_column is None and _NAME_COLUMN in known:
            name_column = _NAME_COLUMN
        elif name_column is not None and name_column not in known:
            raise _make(
                ArgumentError,
                f"{self._owner}: `name_column` is {name_column!r}, the rows have "
                + ", ".join(f"`{name}`" for name in known),
            )
        row_names = RowNames(rows, None if name_column is None else batch[name_column], count)
        with own_errors(self._owner, row_names):
            fields = _RowFields(*self._collate.columns(samples_of(batch, names)))
        fields.names_of_rows, fields.number = row_names, number
        return fields

    def _sources_of(self, batch: Fields) -> Sequence[str] | None:
        assert isinstance(batch, _RowFields)
        return batch.names_of_rows

    def begin(self, batch: Any) -> Any:
        """See Stage."""
        with own_errors(self._owner, batch.names_of_rows):
            return super().begin(batch)

    def finish(self, begun: Any) -> Any:
        """See Stage."""
        batch = begun[2]
        self.state.bad_samples.batch = batch.number
        with own_errors(self._owner, batch.names_of_rows):
            made = super().finish(begun)
        if made is NO_SAMPLES and self._must_have_samples:
            raise _make(
                DataError,
                f"all samples of batch {batch.number} have failed, so this rank would have fewer "
                "batches than others",
                fix="repair the data, or use larger batches",
            )
        return made


@contextlib.contextmanager
def own_errors(owner: str, names: RowNames | None = None) -> Iterator[None]:
    """Has errors of the DataLoader's machinery name the class that the user knows, and the row."""
    try:
        yield
    except TorchdaliError as error:
        sample, source = error.sample, error.source
        if not source and names is not None and sample is not None and sample < len(names):
            source = names[sample]
        raise _of_another(error, "DataLoader", owner, source=source) from error.__cause__
