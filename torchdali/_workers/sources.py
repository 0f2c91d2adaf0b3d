# SPDX-License-Identifier: Apache-2.0
"""The work of an external source: calls it, and writes what it returns to the slab.

Imports neither torch nor the rest of torchdali, as process.py.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from torchdali._common.infos import BatchInfo, SampleInfo
from torchdali._workers.process import Work
from torchdali._workers.task_errors import EndedByError, note_of_error

__all__ = [
    "SourceError",
    "SourceSpec",
    "SourceWork",
    "as_array",
    "has_ended",
    "has_state",
    "state_of",
]


@dataclass
class SourceSpec:
    """One external source as a worker sees it.

    Attributes:
        function: callable, iterable or generator function.
        kind: "sample" (called with a SampleInfo), "batch" (with an iteration), "batch_info" (with a
            BatchInfo) or "iterable" (iterated over, again in every epoch).
        num_outputs: length of the tuples that the source returns; None: it returns no tuples.
    """

    function: Any
    kind: str
    num_outputs: int | None


class SourceError(Exception):
    """A source returned something that cannot be used."""


def has_state(source: Any) -> bool:
    """Returns whether a source has state_dict() and load_state_dict()."""
    return callable(getattr(source, "state_dict", None)) and callable(
        getattr(source, "load_state_dict", None)
    )


def state_of(source: Any) -> bytes:
    """Returns the state_dict() of a source as JSON, or the reason why it cannot be stored."""
    try:
        return json.dumps({"state": source.state_dict()}).encode()
    except (TypeError, ValueError) as error:
        return json.dumps({"error": str(error)}).encode()


class SourceWork(Work):
    """Makes the batches of one source. A task is a sample if it returns samples, else the batch.

    For an iterable, the request of a job is a state to load before it is iterated over, as JSON.
    The reply is its state_of() after the batch.

    Args:
        spec: the source.
        batch_size: the greatest number of samples of a batch.
        sample_bytes: expected size of a sample; 0: unknown.
        worker: the one that iterates over it; -1 for a callable.
        lets_samples_fail: whether an exception of the source fails only the sample; if it makes
            batches, all samples of the batch. The slab has note_of_error() for it then.
    """

    def __init__(
        self,
        spec: SourceSpec,
        batch_size: int,
        sample_bytes: int,
        worker: int = -1,
        lets_samples_fail: bool = False,
    ) -> None:
        super().__init__(
            num_outputs=spec.num_outputs or 1,
            max_samples=batch_size,
            num_tasks=batch_size if spec.kind == "sample" else 1,
            slab_bytes=sample_bytes * batch_size,
            worker=worker,
        )
        self._spec = spec
        self._lets_samples_fail = lets_samples_fail
        self._epoch = -1
        self._iterator: Iterator[Any] = iter(())
        self._raised = b""  # by the iterator instead of the last item, as note_of_error()
        self._to_load = b""  # state that could not be loaded; other data would be wrong

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the iterator: each worker makes its own."""
        return {**self.__dict__, "_iterator": None}

    @property
    def given(self) -> Any:
        """See Work."""
        return self._spec.function

    def sample(self, index: int) -> int | None:
        """See Work."""
        return index if self._spec.kind == "sample" else None

    def do(self, task: Any, slab: Any) -> None:
        """See Work."""
        spec = self._spec
        if spec.kind == "iterable":
            self._begin(task, slab.request)
        failed = b""
        try:
            value = self._ask(task)
        except (StopIteration, EndedByError):
            raise
        except Exception as error:
            if not self._lets_samples_fail:
                raise
            failed = note_of_error(error)
        finally:
            if spec.kind == "iterable" and has_state(spec.function):
                slab.reply = state_of(spec.function)
        if failed:
            if spec.kind != "sample":
                slab.num_samples = 1  # stands for all
            slab.fail(task.index, failed)
        elif spec.kind == "sample":
            for output, item in enumerate(_outputs(value, spec.num_outputs)):
                slab.store(output, task.index, as_array(item))
        else:
            self._store_batch(value, slab)

    def _store_batch(self, value: Any, slab: Any) -> None:
        batches = [_batch(item) for item in _outputs(value, self._spec.num_outputs)]
        counts = {len(batch) for batch in batches}
        if len(counts) > 1:
            raise SourceError(
                f"the outputs of a batch must have the same number of samples, got {sorted(counts)}"
            )
        count = counts.pop()
        if not 0 < count <= self.max_samples:
            raise SourceError(f"a batch has 1 to {self.max_samples} samples, got {count}")
        slab.num_samples = count
        for output, batch in enumerate(batches):
            if isinstance(batch, np.ndarray):
                slab.store_batch(output, batch)
            else:
                for index, item in enumerate(batch):
                    slab.store(output, index, item)

    def _ask(self, task: Any) -> Any:
        """Returns what the user's code makes for a task."""
        function, kind = self._spec.function, self._spec.kind
        if kind == "iterable":
            return self._next_item()
        if kind == "sample":
            first = task.iteration * self.max_samples
            return function(SampleInfo(first + task.index, task.index, task.iteration, task.epoch))
        return function(
            BatchInfo(task.iteration, task.epoch) if kind == "batch_info" else task.iteration
        )

    def _begin(self, task: Any, state: bytes) -> None:
        """Begins to iterate, if the task is of another epoch, or loads a state."""
        source = self._spec.function
        self._to_load = state or self._to_load
        if self._to_load:
            source.load_state_dict(json.loads(self._to_load))
            self._to_load, self._epoch = b"", -1
        if self._epoch != task.epoch:
            again = isinstance(source, Iterable) or hasattr(type(source), "__getitem__")
            self._iterator = iter(source if again else source())
            self._epoch = task.epoch
            self._raised = b""

    def _next_item(self) -> Any:
        """Returns the next item of the iterator.

        Raises:
            StopIteration: the iterator has ended.
            EndedByError: it has raised, and has ended with that.
            Exception: it has raised.
        """
        raised, self._raised = self._raised, b""
        try:
            return next(self._iterator)
        except StopIteration:
            # Jobs are posted ahead: an iterator that continues after its end must not be asked.
            self._iterator = iter(())
            if raised:
                raise EndedByError(raised) from None
            raise
        except Exception as error:
            if self._lets_samples_fail:
                raised = note_of_error(error)
                if has_ended(self._iterator):
                    self._iterator = iter(())
                    raise EndedByError(raised) from None
                self._raised = raised
                _pass_item(self._iterator)
            raise


class _Sequence:
    def __getitem__(self, index: int) -> int:
        return index


_SEQUENCE_ITERATOR: Any = type(iter(_Sequence()))


def _pass_item(iterator: Any) -> None:
    """Has the iterator of a sequence go on after an item that raised; others do so anyway."""
    if type(iterator) is _SEQUENCE_ITERATOR:
        iterator.__setstate__(iterator.__reduce__()[2] + 1)


def has_ended(iterator: Any) -> bool:
    """Returns whether an iterator that has raised is known to have no more items."""
    return inspect.isgenerator(iterator) and iterator.gi_frame is None


def _outputs(value: Any, count: int | None) -> tuple[Any, ...]:
    """Returns one value for each output; see Input._check_outputs()."""
    if count is None:
        return (value,)
    sequence = isinstance(value, (list, tuple))
    several = sequence or (hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0)
    if sequence and len(value) > count:
        warnings.warn(
            f"fn.external_source: `num_outputs` is {count}, and the source returned {len(value)} "
            f"values; those after the first {count} are ignored",
            stacklevel=1,
        )
        value = value[:count]
    if not several or len(value) != count:
        got = f"{len(value)} values" if several else type(value).__name__
        raise SourceError(
            f"`num_outputs` is {count}, so the source must return tuples of {count}; got {got}"
        )
    return tuple(value)


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """Returns a sample as a C-contiguous array, without a copy if it is one."""
    if not isinstance(value, np.ndarray):
        if hasattr(value, "__cuda_array_interface__"):
            raise SourceError("a source in a worker process returns CPU arrays, got one on a GPU")
        if hasattr(value, "detach"):  # a torch tensor, which may require gradients
            value = value.detach().resolve_neg()
        elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            value = np.from_dlpack(value)
        elif not (
            hasattr(value, "__array__")
            or hasattr(value, "__array_interface__")
            or isinstance(value, (bool, int, float, list))
        ):
            try:
                value = memoryview(value)
            except TypeError:
                raise SourceError(
                    f"expected a NumPy array or a CPU torch tensor, got {type(value).__name__}"
                ) from None
        value = np.asarray(value)
    if value.dtype.hasobject or value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        raise SourceError(f"DALI has no element type for an array of {value.dtype}")
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)


def _batch(value: Any) -> Any:
    """Returns a batch as one array or as a list of arrays."""
    if hasattr(value, "as_torch_list"):  # a TensorListCPU
        value = value.as_torch() if value.is_dense_tensor() else value.as_torch_list()
    if isinstance(value, (list, tuple)):
        return [as_array(item) for item in value]
    array = as_array(value)
    if array.ndim == 0:
        raise SourceError("a batch needs an axis for its samples, got a scalar")
    return array
