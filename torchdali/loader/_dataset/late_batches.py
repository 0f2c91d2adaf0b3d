# SPDX-License-Identifier: Apache-2.0
"""Batches whose pipeline has not run yet, of loaders that others make of ours.

Accelerate's prepare() makes a loader of torch's with the dataset and the `collate_fn` of ours. Its
batches are those of this module, until they are moved to a device or used.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch

from torchdali.errors import UnsupportedError, _make
from torchdali.loader._dataset.stages import map_tensors
from torchdali.loader._dataset.worker_info import get_worker_info

__all__ = ["LateBatch", "register", "worker_place"]

_runners: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def register(key: str, runner: Any) -> None:
    """Makes known what works on the batches with this key, in this process."""
    _runners[key] = runner


def _runner_here(key: str) -> Any:
    runner = _runners.get(key)
    return runner if runner is not None and runner.is_here else None


def worker_place() -> tuple[int, int] | None:
    """Returns the number of this worker and that of all; None outside of workers."""
    info = get_worker_info()
    return None if info is None else (info.id, info.num_workers)


class LateBatch:
    """What a pipeline will make of a batch; it becomes that when it is used or moved.

    Args:
        key: of what runs the pipeline.
        fields: the batch.
        place: worker_place() of the worker that made it.

    Attributes:
        fields, place: as the arguments.
    """

    def __init__(self, key: str, fields: Any, place: tuple[int, int] | None) -> None:
        self._key, self.fields, self.place = key, fields, place
        self._made: tuple[Any] | None = None
        self._is_pinned = False
        runner = _runner_here(key)
        if runner is not None:
            runner.arrived(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self._key, self.fields.packed(), self.place)

    def value(self) -> Any:
        """Returns the batch in the structure of the function of `pipeline`.

        Raises:
            UnsupportedError: the DataLoader is not in this process.
            Exception: the pipeline has failed.
        """
        if self._made is None:
            runner = _runner_here(self._key)
            if runner is None:
                raise _make(
                    UnsupportedError,
                    "DataLoader: this loader was made from a copy of a torchdali.DataLoader, and "
                    "has lost its `pipeline`",
                    fix="make it from the DataLoader itself, in the process that made that",
                )
            made = runner.value_of(self)
            self._made = (map_tensors(made, _pinned) if self._is_pinned else made,)
        return self._made[0]

    @property
    def is_made(self) -> bool:
        """Whether value() has returned it."""
        return self._made is not None

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the batch with all tensors moved, as Tensor.to() does it."""
        return map_tensors(
            self.value(), lambda t: t.to(*args, **kwargs) if isinstance(t, torch.Tensor) else t
        )

    def pin_memory(self, *_: Any) -> LateBatch:
        """Has value() return tensors in page-locked memory. torch calls this in another thread."""
        self._is_pinned = True
        return self

    # Loops that move nothing use the batch itself.

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value())

    def __len__(self) -> int:
        return len(self.value())

    def __getitem__(self, key: Any) -> Any:
        return self.value()[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value(), name)


def _pinned(value: Any) -> Any:
    is_plain = isinstance(value, torch.Tensor) and value.device.type == "cpu"
    return value.pin_memory() if is_plain else value


def _arrived(key: str, fields: Any, place: tuple[int, int] | None) -> LateBatch:
    return LateBatch(key, fields.unpacked(), place)
