# SPDX-License-Identifier: Apache-2.0
"""The work of fn.python_function(workers="processes"): calls the function with arrays in a slab.

Imports neither torch nor the rest of torchdali, as process.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torchdali._common.sample import SampleContext, enter_sample
from torchdali._workers.process import Work
from torchdali._workers.sources import as_array

__all__ = ["FunctionError", "FunctionWork", "pack"]

# (dtype, shape, offset in the slab) of an array
_Place = tuple[str, tuple[int, ...], int]


class FunctionError(Exception):
    """A function returned something that cannot be used."""


class _Capsule:
    """Makes a DLPack capsule acceptable to NumPy."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def pack(
    slab: Any,
    inputs: Sequence[Sequence[npt.NDArray[Any]]],
    samples: Sequence[tuple[int, int, int]],
) -> bytes:
    """Writes the inputs of a batch to a slab; returns the request for it.

    Args:
        slab: an empty one.
        inputs: for each input one array per sample.
        samples: (seed, id, index in the batch) of each.
    """
    slab.num_samples = len(samples)
    places = [[(a.dtype.str, a.shape, slab.put(a)) for a in arrays] for arrays in inputs]
    return pickle.dumps((places, samples))


class FunctionWork(Work):
    """Calls a function for each sample of a batch, as one task each, or once for the batch.

    Args:
        function: of the user.
        kind: type of its arguments: "numpy", "torch" or "dlpack".
        num_outputs: number of its outputs.
        batch_size: the greatest number of samples.
        whole_batch: whether it is called once for a batch.
        seeds: whether the global generators are seeded before each call.
    """

    def __init__(
        self,
        function: Any,
        kind: str,
        num_outputs: int,
        batch_size: int,
        whole_batch: bool,
        seeds: bool,
    ) -> None:
        super().__init__(
            num_outputs=num_outputs,
            max_samples=batch_size,
            num_tasks=1 if whole_batch else batch_size,
        )
        self._function, self._kind = function, kind
        self._whole_batch, self._seeds = whole_batch, seeds

    @property
    def given(self) -> Any:
        """See Work."""
        return self._function

    def sample(self, index: int) -> int | None:
        """See Work."""
        return None if self._whole_batch else index

    def do(self, task: Any, slab: Any) -> None:
        """See Work."""
        inputs, samples = pickle.loads(slab.request)
        memory = memoryview(slab)
        if self._whole_batch:
            arguments: list[Any] = [[self._value(memory, p) for p in places] for places in inputs]
            arrays = _Arrays()
            for output, batch in enumerate(self._call(samples[0], arguments)):
                if not isinstance(batch, list):
                    batch = list(arrays.of(batch, output))
                if len(batch) != len(samples):
                    raise FunctionError(
                        f"returned {len(batch)} samples as output {output}, the batch has "
                        f"{len(samples)}"
                    )
                for index, item in enumerate(batch):
                    slab.store(output, index, arrays.of(item, output))
        elif task.index < len(samples):  # the batch may be smaller than batch_size
            arguments = [self._value(memory, places[task.index]) for places in inputs]
            arrays = _Arrays()
            for output, value in enumerate(self._call(samples[task.index], arguments)):
                slab.store(output, task.index, arrays.of(value, output))

    def _value(self, memory: memoryview, place: _Place) -> Any:
        dtype, shape, offset = place
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(memory, dtype, count, offset if count else 0).reshape(shape)
        if self._kind == "torch":
            import torch

            return torch.from_numpy(array)
        return array.__dlpack__() if self._kind == "dlpack" else array

    def _call(self, sample: tuple[int, int, int], arguments: list[Any]) -> tuple[Any, ...]:
        """Returns the outputs."""
        if self._seeds:
            SampleContext(*sample).seed_global_generators()
        enter_sample(sample)
        try:
            if self._kind == "torch":
                import torch

                with torch.no_grad():
                    value = self._function(*arguments)
            else:
                value = self._function(*arguments)
        finally:
            enter_sample(None)
        count = self.num_outputs
        if count == 0 and value is None:
            return ()
        if count == 1 and value is not None and not isinstance(value, tuple):
            return (value,)
        if not isinstance(value, tuple) or len(value) != count:
            got = f"{len(value)} outputs" if isinstance(value, tuple) else type(value).__name__
            raise FunctionError(
                f"returned {got}, `num_outputs` is {count}; return several outputs as a tuple"
            )
        return value


class _Arrays:
    """Converts the outputs of a call to arrays. One capsule may be returned twice."""

    def __init__(self) -> None:
        self._taken: dict[int, npt.NDArray[Any]] = {}

    def of(self, value: Any, output: int) -> npt.NDArray[Any]:
        """Returns one output, or raises a FunctionError or a SourceError."""
        if type(value).__name__ == "PyCapsule":
            if id(value) not in self._taken:
                self._taken[id(value)] = np.from_dlpack(_Capsule(value))
            value = self._taken[id(value)]
        if isinstance(value, (bool, int, float, list)):
            raise FunctionError(f"output {output} is no array ({type(value).__name__})")
        return as_array(value)
