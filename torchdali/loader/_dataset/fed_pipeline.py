# SPDX-License-Identifier: Apache-2.0
"""A pipeline that processes the columns of a loader's batches."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from torchdali import fn
from torchdali._common.bad_samples import BadSampleLog
from torchdali._common.location import SourceLocation
from torchdali._graph import conditionals
from torchdali._graph.pytree import flatten
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    TorchdaliError,
    _make,
    _with_context,
)
from torchdali.loader._dataset.columns import Fields, can_be_chosen_from
from torchdali.loader._dataset.made_rows import MadeRows
from torchdali.loader._dataset.pipeline_options import PipelineOptions
from torchdali.loader.fields import FieldMarks, Layout, described
from torchdali.pipeline import Pipeline
from torchdali.pipeline._driver import driver_of
from torchdali.pipeline._options import Options

__all__ = ["FedPipeline"]

_SIZE = "size of the batch"  # an external source


class FedPipeline:
    """A pipeline with an external source for each field of a sample.

    What the function returns as it got it, travels beside the pipeline.

    Args:
        function: of the user.
        batch: that shows the fields.
        marks: of the fields.
        options: of the pipeline.
        batch_size: the greatest number of samples.
        seed: of the random operators.
        policy: `on_error`, and the log for samples that fail.

    Attributes:
        pipeline: built.
        position: number of the next sample; None: unknown, since submit() was interrupted.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        batch: Fields,
        marks: FieldMarks,
        options: PipelineOptions,
        batch_size: int,
        seed: int,
        policy: tuple[str | None, BadSampleLog],
    ) -> None:
        self._names, count = batch.names, len(batch.columns)
        self._batch_size = batch_size
        marks.check(self._names, count)
        self._inputs = [described(self._names, i).replace("`", "") for i in range(count)]
        self._layouts = [
            mark.letters if isinstance(mark, Layout) else None
            for mark in (marks.of(self._names, i) for i in range(count))
        ]
        _check_parameters(function, self._names, count)
        pipeline = Pipeline(**options.arguments, batch_size=batch_size, seed=seed)
        driver_of(pipeline).require_layouts()
        driver_of(pipeline).set_error_policy(*policy)
        with pipeline:
            size = fn.external_source(name=_SIZE, no_copy=True)
            nodes = [fn.external_source(name=name, no_copy=True) for name in self._inputs]
            define = conditionals.convert(function) if options.enable_conditionals else function
            made = (
                define(*nodes)
                if self._names is None
                else define(**dict(zip(self._names, nodes, strict=True)))
            )
        leaves, self._structure = flatten(made)
        if not leaves:
            raise _make(
                ArgumentTypeError,
                "DataLoader: `pipeline` returns nothing",
                location=_location(function),
                fix="return the values of a batch",
            )
        # For each leaf, the field that it is; None: it is an output of the pipeline.
        self._fields = [
            next((i for i, node in enumerate(nodes) if node is leaf), None) for leaf in leaves
        ]
        outputs = [leaf for leaf, field in zip(leaves, self._fields, strict=True) if field is None]
        self._declared = self._declarations(options.declared)
        # Without an input, a pipeline makes batches of its full size.
        pipeline.set_outputs(*outputs, size)
        pipeline.build()
        if driver_of(pipeline).failures.lets_samples_fail:
            self._check_samples_may_be_left_out(batch)
        self.pipeline = pipeline
        self._seed = seed
        self.position: int | None = 0
        self._needed = set(driver_of(pipeline).input_names)

    def _check_samples_may_be_left_out(self, batch: Fields) -> None:
        """Checks that fields that travel beside the pipeline can lose samples.

        Raises:
            ArgumentError: the workers have collated one and not sent its values.
        """
        for field in self._fields:
            if field is not None and not can_be_chosen_from(batch.columns[field]):
                raise _make(
                    ArgumentError,
                    "DataLoader: an operator of `pipeline` has `on_error`, and "
                    f"{described(self._names, field)} travels beside the pipeline",
                    fix='pass on_error="skip" or "replace" to the DataLoader, too',
                )

    def _declarations(self, given: Mapping[str, Any]) -> Options | None:
        """Returns what is declared about the outputs of the pipeline; None: nothing.

        Raises:
            ArgumentError: it is declared about other outputs.
        """
        own = {}
        for name, value in given.items():
            own[name] = value
            if not isinstance(value, (list, tuple)):
                continue
            if len(value) != len(self._fields):
                raise _make(
                    ArgumentError,
                    f"DataLoader: `{name}` has {len(value)} entries, `pipeline` returns "
                    f"{len(self._fields)} values",
                )
            for index, (entry, field) in enumerate(zip(value, self._fields, strict=True)):
                if entry is not None and field is not None:
                    raise _make(
                        ArgumentError,
                        f"DataLoader: `{name}` has {entry!r} for the value {index}, which is "
                        f"{described(self._names, field)} as the dataset returns it",
                        fix="declare None for it",
                    )
            own[name] = [v for v, field in zip(value, self._fields, strict=True) if field is None]
        return Options(**own) if own and None in self._fields else None

    def fits(self, batch: Fields) -> bool:
        """Returns whether it can take a batch."""
        return (
            self._names == batch.names
            and len(self._inputs) == len(batch.columns)
            and batch.size <= self._batch_size
        )

    def move_to(self, seed: int, position: int) -> None:
        """Has the next batch begin with other random values; drops the batches in work.

        Args:
            seed: of the random operators.
            position: number of the next sample.
        """
        if (seed, position) == (self._seed, self.position):
            return
        driver = driver_of(self.pipeline)
        driver.resume_from(
            dataclasses.replace(driver.snapshot(), seed=seed, samples=position, ended=False)
        )
        self.pipeline.build()
        self._seed, self.position = seed, position

    def submit(self, batch: Fields) -> Any:
        """Starts an iteration of the fields of a batch that operators need: of all or of none.

        Returns:
            What outputs_of() knows the iteration by.

        Raises:
            TorchdaliError: operators need a field that they cannot take.
        """
        needed = [i for i, name in enumerate(self._inputs) if name in self._needed]
        for index in needed:
            if batch.columns[index].data is None:
                raise _no_data(batch, index)
        size = torch.zeros(batch.size, dtype=torch.uint8)

        def feed() -> None:
            for index in needed:
                name, layout = self._inputs[index], self._layouts[index]
                try:
                    self.pipeline.feed_input(name, batch.columns[index].data, layout=layout)
                except TorchdaliError as error:
                    owner = f"DataLoader: {described(self._names, index)}"
                    raise _with_context(error, operator=owner, location=None) from None
            self.pipeline.feed_input(_SIZE, size)

        position, self.position = self.position, None
        try:
            submitted = driver_of(self.pipeline).submit(feed)
        except Exception:
            self.position = position  # nothing was started
            raise
        assert position is not None
        self.position = position + batch.size
        return submitted

    @property
    def depth(self) -> int:
        """Number of batches that it has in work."""
        return driver_of(self.pipeline).queue_depth

    def settle(self) -> None:
        """The user has what outputs_of() has returned."""
        driver_of(self.pipeline).settle()

    def outputs_of(self, submitted: Any, batch: Fields) -> MadeRows | None:
        """Returns what was made of a batch, the same until settle().

        None if all of its samples have failed.

        Args:
            submitted: what submit() has returned.
            batch: that it was called with.
        """
        *made, _ = driver_of(self.pipeline).outputs_of(submitted)
        rows = driver_of(self.pipeline).failures.value_rows
        if rows is not None and not rows:
            return None
        if self._declared is not None:
            self._declared.check_outputs(made)
        return MadeRows(made, batch, rows, self._fields, self._structure)


def _no_data(batch: Fields, index: int) -> Exception:
    column, name = batch.columns[index], described(batch.names, index)
    kind, sample = column.problem or ("value", 0)
    key = index if batch.names is None else batch.names[index]
    return _make(
        ArgumentTypeError,
        f"DataLoader: {name} is a {kind}, which operators of `pipeline` cannot take",
        sample=sample,
        batch_size=batch.size,
        fix=f"mark it if it is the path of a file: fields={{{key!r}: File()}}; otherwise return it "
        "from `pipeline` as it is"
        if kind == "str"
        else "return arrays, tensors, numbers, bytes or pathlib.Path, or return the field from "
        "`pipeline` as it is",
    )


def _location(function: Callable[..., Any]) -> SourceLocation | None:
    """Returns where a function is defined; None if it has no line."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code and SourceLocation(code.co_filename, code.co_firstlineno, code.co_name)


def _check_parameters(
    function: Callable[..., Any], names: tuple[str, ...] | None, count: int
) -> None:
    """Checks that a function takes the fields.

    Raises:
        ArgumentTypeError: it does not.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # code in C has none
        return
    fields = f"{count} fields" if names is None else ", ".join(f"`{name}`" for name in names)
    try:
        if names is None:
            signature.bind(*range(count))
        else:
            signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        raise _make(
            ArgumentTypeError,
            f"DataLoader: `pipeline` takes {signature}, a sample has {fields}: {error}",
            location=_location(function),
            fix="give the function one parameter for each field"
            + ("" if names is None else ", with its name, or **kwargs for those that it ignores"),
        ) from None
