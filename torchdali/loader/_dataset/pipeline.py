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
from torchdali.loader._dataset.ahead import Layer
from torchdali.pipeline import pipeline_def
from torchdali.pipeline._driver import driver_of

__all__ = ["PipelineLayer", "fields_of"]

_DEPTH = 2  # batches that the engine has in work


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


def fields_of(samples: Sequence[Any]) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Turns samples into what external sources take; as collate_fn.

    Args:
        samples: of one structure: a dict, a tuple or list, or one value.

    Returns:
        The names of the fields, None where they have none, and for each of them an array with the
        batch as first axis, or an array a sample.
    """
    first = samples[0]
    if isinstance(first, Mapping):
        names = tuple(first)
        return names, [_column([sample[name] for sample in samples]) for name in names]
    if isinstance(first, (tuple, list)):
        return None, [_column(values) for values in zip(*samples, strict=True)]
    return None, [_column(samples)]


def _tensors(batch: Any) -> Any:
    """Returns an output as one tensor, or a list of them where shapes differ."""
    return batch.as_torch() if batch.is_dense_tensor() else batch.as_torch_list()


class PipelineLayer(Layer):
    """Feeds batches to a pipeline, and gives its outputs in the structure of its function.

    Args:
        loader: a DataLoader with `pipeline`.
    """

    depth = _DEPTH - 1

    def __init__(self, loader: Any) -> None:
        super().__init__()
        self._function = loader.pipeline
        self._options = dict(loader.pipeline_options or {})
        size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
        self._batch_size = size if isinstance(size, int) else 0
        self._home: list[_Made] = loader._pipelines
        self._waits = loader._waits
        self._made: _Made | None = None

    def _make(self, names: tuple[str, ...] | None, count: int) -> _Made:
        structures: list[Structure] = []
        function = self._function  # the pipeline keeps define(), which must not keep the layer

        def define() -> Any:
            inputs = [fn.external_source(name=_name(i), no_copy=True) for i in range(count)]
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
        self._waits.engine = weakref.ref(pipeline)
        return _Made(pipeline, self._batch_size, names, count, structures[-1])

    def begin(self, batch: Any) -> Any:
        """See Layer."""
        names, columns = batch
        count = len(columns[0])
        made = self._made
        if made is None and self._home:
            # The one that the last epoch had: its random operators go on.
            made = self._made = self._home.pop()
        if made is None or not made.fits(names, len(columns), count):
            self._batch_size = max(count, self._batch_size)
            made = self._made = self._make(names, len(columns))
        inputs = driver_of(made.pipeline).input_names
        for index, column in enumerate(columns):
            if _name(index) in inputs:  # an output needs it
                made.pipeline.feed_input(_name(index), column)
        made.pipeline.schedule_run()
        return made

    def finish(self, begun: Any) -> Any:
        """See Layer."""
        outputs = [_tensors(batch) for batch in begun.pipeline.share_outputs()]
        return begun.structure.rebuild(outputs)

    def clear(self) -> None:
        """See Layer. What was fed is made, and left."""
        for begun, _, failure in self._queue:
            if failure is None:
                with contextlib.suppress(TorchdaliError):
                    begun.pipeline.share_outputs()
        super().clear()

    def __del__(self) -> None:
        self.clear()
        if self._made is not None:
            self._home.append(self._made)


@dataclasses.dataclass
class _Made:
    """A pipeline, what it takes, and the structure of its outputs."""

    pipeline: Any
    batch_size: int
    names: tuple[str, ...] | None
    num_fields: int
    structure: Structure

    def fits(self, names: tuple[str, ...] | None, num_fields: int, count: int) -> bool:
        """Returns whether it can take a batch."""
        return (self.names, self.num_fields) == (names, num_fields) and count <= self.batch_size


def _name(index: int) -> str:
    return f"field {index}"
