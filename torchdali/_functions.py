# SPDX-License-Identifier: Apache-2.0
"""The Python side of fn.python_function: randomness inside a function, and what its errors say."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from torchdali import _source_location
from torchdali._extension import _C

__all__ = ["SampleContext", "current_sample"]


class SampleContext:
    """The sample that a Python function is called for, and generators of its own.

    What the generators draw depends on the seed of the operator (else of the pipeline) and on the
    position of the sample in the pipeline's stream, and on nothing else: neither threads nor
    prefetching change it, and a pipeline that goes on from a checkpoint draws the same. In a
    function that is called for a whole batch they are those of its first sample.

    Attributes:
        index: of the sample in its batch.
        id: position of the sample in the pipeline's stream of samples.
        seed: 64 bits that only this operator has for this sample.
    """

    __slots__ = ("_numpy", "_python", "_torch", "id", "index", "seed")

    def __init__(self, operator_seed: int, sample_id: int, index: int) -> None:
        self.index, self.id = index, sample_id
        self.seed: int = _C.derive_seed(operator_seed, sample_id)
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
            self._torch = torch.Generator().manual_seed(self.seed)
        return self._torch

    @property
    def python(self) -> random.Random:
        """A generator of the module ``random`` for this sample."""
        if self._python is None:
            self._python = random.Random(self.seed)
        return self._python

    def __repr__(self) -> str:
        return f"SampleContext(index={self.index}, id={self.id}, seed={self.seed})"


def current_sample() -> SampleContext:
    """Returns what is known about the sample that the running Python function is called for.

    Each call makes new generators, which draw from their beginning.

    Raises:
        RuntimeError: no function of a pipeline is running in this thread.
    """
    found = _C.current_sample()
    if found is None:
        raise RuntimeError(
            "torchdali.current_sample() has a meaning inside a function that a pipeline calls "
            "(fn.python_function and its kin), and in the thread that it is called in"
        )
    return SampleContext(*found)


def _generator_states() -> tuple[Any, ...]:
    numpy = np.random.get_state()  # noqa: NPY002
    return random.getstate(), numpy, torch.default_generator.get_state()


def _restore_generators(states: tuple[Any, ...]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    torch.default_generator.set_state(states[2])


def _seed_generators(seed: int) -> None:
    random.seed(seed)
    np.random.seed([seed & 0xFFFFFFFF, seed >> 32])  # noqa: NPY002
    torch.default_generator.manual_seed(seed)


def _describe_function(function: Callable[..., Any]) -> str:
    """Returns "function `augment` (train.py:12)"."""
    inner = getattr(function, "func", function)  # of functools.partial
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    code = getattr(inner, "__code__", None)
    if code is None:  # a method has its function's; an object with __call__ its class's
        code = getattr(getattr(type(inner), "__call__", None), "__code__", None)  # noqa: B004
    where = ""
    if code is not None:
        line = _source_location.SourceLocation(code.co_filename, code.co_firstlineno, name)
        where = f" ({line.short()})"
    return f"function `{name.replace('<locals>.', '')}`{where}"


def _describe_exception(function: Callable[..., Any], error: BaseException) -> str:
    """Returns the first line of an error about what the user's function raised."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    at = ""
    if frames:
        last = frames[-1]
        line = _source_location.SourceLocation(last.filename, last.lineno or 0, last.name)
        at = f" at {line.short()}"
    return f"{_describe_function(function)} raised {text}{at}"
