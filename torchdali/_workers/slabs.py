# SPDX-License-Identifier: Apache-2.0
"""The slabs of a pool: shared memory that workers write results to."""

from __future__ import annotations

import functools
import resource
from collections.abc import Callable, Sequence
from typing import Any

from torchdali import _shm
from torchdali._workers.process import Work

__all__ = ["SlabStore", "is_scarce"]

_FEW_LEASES = 16
_MAX_LEASES = 1024  # a slab reserves address space


def is_scarce() -> bool:
    """Returns whether the user keeps so many batches in slabs that further ones must be copied.

    Each slab has a descriptor in this process and in every worker. They may have a quarter of
    those that the system permits.
    """
    count = _shm.num_leases()
    if count <= _FEW_LEASES:
        return False
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return count > min(descriptors // 4, _MAX_LEASES)


class SlabStore:
    """Makes slabs, reuses those that nothing refers to any more, and numbers them.

    Workers know a slab by its number; its descriptor is sent to each worker once.

    Args:
        works: the work of each queue.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        self._works = works
        self._free = [_shm.Slabs() for _ in works]
        self._numbers: dict[int, int] = {}  # descriptor -> number
        self._count = 0

    def take(self, queue: int) -> Any:
        """Returns an empty slab for a job of a queue."""
        slab = self._free[queue].take()
        if slab is not None:
            slab.clear()
            return slab
        work = self._works[queue]
        slab = _shm.Slab(work.num_outputs, work.max_samples, work.slab_bytes)
        self._numbers[slab.fd] = self._count
        self._count += 1
        return slab

    def number(self, slab: Any) -> int:
        """Returns the number of a slab."""
        return self._numbers[slab.fd]

    def leasing(self, queue: int, slab: Any) -> Callable[[], Any]:
        """Returns a function that leases a slab; it becomes free when nothing refers to that."""
        return functools.partial(_shm.Lease, slab, self._free[queue])

    def release_unused(self, queue: int) -> None:
        """Frees the memory of the slabs that no job and no lease has."""
        self._free[queue].release_unused()

    def give_back(self, queue: int, slab: Any) -> None:
        """Makes a slab free at once."""
        self._free[queue].give_back(slab)
