# SPDX-License-Identifier: Apache-2.0
"""DataLoader(pipeline=): the engine makes batches of what a dataset returns."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchdali import fn
from torchdali._graph.pytree import Structure, flatten
from torchdali.errors import ArgumentTypeError, TorchdaliError, _make
from torchdali.loader._dataset.loader_state import LoaderState
from torchdali.loader._dataset.stages import Stage
from torchdali.pipeline import Pipeline, pipeline_def
from torchdali.pipeline._driver import driver_of

__all__ = ["PipelineStage", "collate_fields"]

_DEPTH = 2  # batches in work in the engine


def _array(value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return np.fromfile(value, np.uint8)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8)
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "USMmV":
        raise _make(
            ArgumentTypeError,
            f"DataLoader: a pipeline cannot take a {type(value).__name__} of the dataset",
            fix="return arrays, tensors, numbers, bytes, or paths of files to read",
        )
    return array


def _column(values: Sequence[Any]) -> Any:
    if all(isinstance(value, (bool, int, float, np.generic)) for value in values):
        return np.asarray(values)
    return [_array(value) for value in values]


def collate_fields(samples: Sequence[Any]) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Turns samples into data for external sources; used as `collate_fn`.

    Args:
        samples: of one structure: a dict, a tuple or list, or one value.

    Returns:
        The names of the fields, None if they have none, and for each field an array with the batch
        as first axis, or a list with one array per sample.
    """
    first = samples[0]
    if isinstance(first, Mapping):
        names = tuple(first)
        return names, [_column([sample[name] for sample in samples]) for name in names]
    if isinstance(first, (tuple, list)):
        return None, [_column(values) for values in zip(*samples, strict=True)]
    return None, [_column(samples)]


def _tensors(batch: Any) -> Any:
    """Returns an output as one tensor, or as a list of tensors if shapes differ."""
    return batch.as_torch() if batch.is_dense_tensor() else batch.as_torch_list()


@dataclasses.dataclass(frozen=True)
class _FedPipeline:
    """A pipeline with an external source for each field of a sample.

    Attributes:
        pipeline: built.
        batch_size: the greatest number of samples.
        names: of the fields; None if they have none.
        num_fields: number of fields.
        structure: of the outputs.
    """

    pipeline: Pipeline
    batch_size: int
    names: tuple[str, ...] | None
    num_fields: int
    structure: Structure

    def fits(self, names: tuple[str, ...] | None, num_fields: int, count: int) -> bool:
        """Returns whether it can take a batch of `count` samples."""
        return (self.names, self.num_fields) == (names, num_fields) and count <= self.batch_size

    def feed(self, columns: Sequence[Any]) -> None:
        """Feeds the fields of a batch that an output needs, and starts an iteration."""
        needed = set(driver_of(self.pipeline).input_names)
        for index, column in enumerate(columns):
            if _input_name(index) in needed:
                self.pipeline.feed_input(_input_name(index), column)
        self.pipeline.schedule_run()


class PipelineStage(Stage):
    """Feeds batches to a pipeline, and returns its outputs in the structure of its function.

    Args:
        loader: a DataLoader with `pipeline`.
        state: of the loader.
    """

    depth = _DEPTH - 1

    def __init__(self, loader: Any, state: LoaderState) -> None:
        super().__init__()
        self._function = loader.pipeline
        self._options = dict(loader.pipeline_options or {})
        size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
        self._batch_size = size if isinstance(size, int) else 0
        self._idle: list[_FedPipeline] = state.idle_pipelines
        self._clock = state.clock
        self._current: _FedPipeline | None = None

    def _make(self, names: tuple[str, ...] | None, count: int) -> _FedPipeline:
        structures: list[Structure] = []
        function = self._function  # define() is kept by the pipeline and must not refer to self

        def define() -> Any:
            inputs = [fn.external_source(name=_input_name(i), no_copy=True) for i in range(count)]
            made = (
                function(*inputs)
                if names is None
                else function(**dict(zip(names, inputs, strict=True)))
            )
            outputs, structure = flatten(made)
            structures.append(structure)
            return tuple(outputs)

        options = {
            "num_threads": max(1, len(os.sched_getaffinity(0))),
            "device_id": None,
            "prefetch_queue_depth": _DEPTH,
            **self._options,
            "batch_size": self._batch_size,
        }
        pipeline = pipeline_def(define, **options)()
        pipeline.build()
        self._clock.pipeline = weakref.ref(pipeline)
        return _FedPipeline(pipeline, self._batch_size, names, count, structures[-1])

    def begin(self, batch: Any) -> Any:
        """See Stage."""
        names, columns = batch
        count = len(columns[0])
        current = self._current
        if current is None and self._idle:
            current = self._current = self._idle.pop()
        if current is None or not current.fits(names, len(columns), count):
            self._batch_size = max(count, self._batch_size)
            current = self._current = self._make(names, len(columns))
        current.feed(columns)
        return current

    def finish(self, begun: Any) -> Any:
        """See Stage."""
        outputs = [_tensors(batch) for batch in begun.pipeline.share_outputs()]
        return begun.structure.rebuild(outputs)

    def clear(self) -> None:
        """See Stage. Batches that were fed are finished, and dropped."""
        for begun, _, error in self._queue:
            if error is None:
                with contextlib.suppress(TorchdaliError):
                    begun.pipeline.share_outputs()
        super().clear()

    def __del__(self) -> None:
        self.clear()
        if self._current is not None:
            self._idle.append(self._current)


def _input_name(index: int) -> str:
    return f"field {index}"
