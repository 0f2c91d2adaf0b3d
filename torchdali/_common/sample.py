# SPDX-License-Identifier: Apache-2.0
"""The sample that a Python function of the user's is called for, and randomness for it.

Imports neither torch nor the engine: worker processes use it too.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

__all__ = ["SampleContext", "current_sample", "enter_sample", "set_engine"]

_Sample = tuple[int, int, int]  # seed, id, index
_in_worker: _Sample | None = None


def _ask_engine() -> _Sample | None:
    """Returns the sample that this thread of the engine is at. Replaced when it is loaded."""
    return None


def set_engine(ask: Callable[[], _Sample | None]) -> None:
    """Says how to ask the engine."""
    global _ask_engine
    _ask_engine = ask


class SampleContext:
    """The sample that a Python function is called for, and its random generators.

    What the generators draw depends on the seed of the operator (else of the pipeline) and on the
    position of the sample in the pipeline's stream, and on nothing else: neither threads nor
    prefetching change it, and a pipeline that resumes from a checkpoint draws the same. In a
    function that is called for a whole batch they are those of its first sample.

    Attributes:
        seed: 64 bits that only this operator has for this sample.
        id: position of the sample in the pipeline's stream of samples.
        index: of the sample in its batch.
    """

    __slots__ = ("_numpy", "_python", "_torch", "id", "index", "seed")

    def __init__(self, seed: int, sample_id: int, index: int) -> None:
        self.seed, self.id, self.index = seed, sample_id, index
        self._numpy: np.random.Generator | None = None
        self._torch: torch.Generator | None = None
        self._python: random.Random | None = None

    @property
    def numpy(self) -> np.random.Generator:
        """A NumPy generator for this sample; the same object within a SampleContext."""
        if self._numpy is None:
            self._numpy = np.random.Generator(np.random.Philox(key=self.seed))
        return self._numpy

    @property
    def torch(self) -> torch.Generator:
        """A torch generator on the CPU for this sample: the `generator` of torch's functions."""
        if self._torch is None:
            import torch

            self._torch = torch.Generator().manual_seed(self.seed)
        return self._torch

    @property
    def python(self) -> random.Random:
        """A generator of the module ``random`` for this sample."""
        if self._python is None:
            self._python = random.Random(self.seed)
        return self._python

    def seed_global_generators(self) -> None:
        """Seeds the generators that all of the process shares: random, NumPy's, and torch's.

        That of torch only if torch is loaded.
        """
        # As bytes: from the number itself it would draw what NumPy's, the same algorithm, draws.
        random.seed(self.seed.to_bytes(8, "little"))
        np.random.seed([self.seed & 0xFFFFFFFF, self.seed >> 32])  # noqa: NPY002
        loaded = sys.modules.get("torch")
        if loaded is not None:
            loaded.default_generator.manual_seed(self.seed)

    def __repr__(self) -> str:
        return f"SampleContext(seed={self.seed}, id={self.id}, index={self.index})"


def enter_sample(sample: _Sample | None) -> None:
    """Says which sample this worker process is at: (seed, id, index), None between samples."""
    global _in_worker
    _in_worker = sample


def current_sample() -> SampleContext:
    """Returns what is known about the sample that the running Python function is called for.

    Each call makes new generators, which draw from their beginning.

    Raises:
        RuntimeError: no function of a pipeline is running in this thread.
    """
    found = _in_worker or _ask_engine()
    if found is None:
        raise RuntimeError(
            "torchdali.current_sample() has a meaning inside a function that a pipeline calls "
            "(fn.python_function and its kin), and in the thread that it is called in"
        )
    return SampleContext(*found)
