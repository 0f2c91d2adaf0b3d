# SPDX-License-Identifier: Apache-2.0
"""Functions at the top level of a module, for external sources that are found by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def counting(index: int) -> np.ndarray:
    """Returns a batch that holds the index of its iteration."""
    return np.full((2, 3), index, np.int32)


def one_sample(info: object) -> np.ndarray:
    """Returns one sample that holds its index in the epoch."""
    return np.full(2, info.idx_in_epoch, np.int32)  # type: ignore[attr-defined]


def pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gives three batches of two outputs each."""
    for index in range(3):
        yield np.full((2, 1), index, np.float32), np.full((2, 1), -index, np.int64)


class Holder:
    """A class with functions in it."""

    @staticmethod
    def static(index: int) -> np.ndarray:
        """Returns a batch that holds minus the index of its iteration."""
        return np.full((2, 1), -index, np.int32)

    def method(self, index: int) -> np.ndarray:
        """Returns a batch; bound to an object, it has data of its own."""
        return np.full((2, 1), index, np.int32)


def negated(sample: np.ndarray) -> np.ndarray:
    """A function inside of a pipeline: minus what it gets."""
    return -sample
