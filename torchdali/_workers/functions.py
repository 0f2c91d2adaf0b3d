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

from torchdali import _shm
from torchdali._common.sample import SampleContext, enter_sample
from torchdali._workers.process import Work
from torchdali._workers.sources import as_array
from torchdali._workers.task_errors import note_of_error

__all__ = ["FunctionError", "FunctionWork", "pack"]

# (dtype, shape, offset in the slab) of an array
_Place = tuple[str, tuple[int, ...], int]
_Places = Sequence[Sequence[_Place]]  # of each input and sample
_Samples = Sequence[tuple[int, int, int]]  # (seed, id, index in the batch) of each
_Stored = tuple[int, int, npt.NDArray[Any]]  # number of the output, sample, data


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
        lets_samples_fail: whether an exception, or a wrong result, fails only the sample, or all
            samples of the batch. The slab has note_of_error() for it then.
    """

    def __init__(
        self,
        function: Any,
        kind: str,
        num_outputs: int,
        batch_size: int,
        whole_batch: bool,
        seeds: bool,
        lets_samples_fail: bool = False,
    ) -> None:
        super().__init__(
            num_outputs=num_outputs,
            max_samples=batch_size,
            num_tasks=1 if whole_batch else batch_size,
        )
        self._function, self._kind = function, kind
        self._whole_batch, self._seeds = whole_batch, seeds
        self._lets_samples_fail = lets_samples_fail

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
        if task.index >= len(samples):  # the batch may be smaller than batch_size
            return
        memory = memoryview(slab)
        try:
            if self._whole_batch:
                outputs = self._outputs_of_batch(memory, inputs, samples)
            else:
                outputs = self._outputs(memory, inputs, samples, task.index)
        except BaseException as error:
            if not self._lets_samples_fail:
                raise
            if self._whole_batch:
                slab.num_samples = 1  # stands for all
            slab.fail(task.index, note_of_error(error))
            return
        for output, sample, array in outputs:
            slab.store(output, sample, array)

    def _outputs(
        self, memory: memoryview, inputs: _Places, samples: _Samples, sample: int
    ) -> list[_Stored]:
        arguments = [self._value(memory, places[sample]) for places in inputs]
        arrays = _Arrays()
        values = self._call(samples[sample], arguments)
        return [(output, sample, arrays.of(value, output)) for output, value in enumerate(values)]

    def _outputs_of_batch(
        self, memory: memoryview, inputs: _Places, samples: _Samples
    ) -> list[_Stored]:
        arguments: list[Any] = [[self._value(memory, p) for p in places] for places in inputs]
        arrays = _Arrays()
        stored = []
        for output, batch in enumerate(self._call(samples[0], arguments)):
            if not isinstance(batch, list):
                batch = list(arrays.of(batch, output, axes=1))
            if len(batch) != len(samples):
                raise FunctionError(
                    f"returned {len(batch)} samples as output {output}, the batch has "
                    f"{len(samples)}"
                )
            stored += [(output, index, arrays.of(item, output)) for index, item in enumerate(batch)]
        return stored

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

    def of(self, value: Any, output: int, axes: int = 0) -> npt.NDArray[Any]:
        """Returns one output of a sample, or of a batch with `axes=1`.

        Raises:
            FunctionError, SourceError: it cannot be used.
        """
        if type(value).__name__ == "PyCapsule":
            if id(value) not in self._taken:
                self._taken[id(value)] = np.from_dlpack(_Capsule(value))
            value = self._taken[id(value)]
        if isinstance(value, (bool, int, float, list)):
            raise FunctionError(f"output {output} is no array ({type(value).__name__})")
        array = as_array(value)
        if array.ndim > _shm.MAX_DIMS + axes:
            raise FunctionError(
                f"returned an array of {array.ndim - axes} dimensions as output {output}; a sample "
                f"has at most {_shm.MAX_DIMS}"
            )
        return array
