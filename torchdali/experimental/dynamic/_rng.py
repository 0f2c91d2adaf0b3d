# SPDX-License-Identifier: Apache-2.0
"""Generators of the seeds of random operators."""

from __future__ import annotations

import operator
import threading
from typing import Any, SupportsIndex

import torch

from torchdali._eager.program import derive_seeds, draw_seed
from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make

__all__ = ["RNG", "get_default_rng", "seed_of", "set_seed"]

_MASK = 0xFFFFFFFFFFFFFFFF


class RNG:
    """A generator: a seed, and the number of values that were drawn.

    Args:
        seed: an integer; None: drawn from torch's generator, so that ``torch.manual_seed()`` makes
            programs reproducible.
        state: of another generator, as `state` of it; then without `seed`.

    Raises:
        ArgumentError, ArgumentTypeError: an argument is wrong.
    """

    def __init__(self, seed: int | None = None, state: Any = None) -> None:
        if seed is not None and state is not None:
            raise _make(ArgumentError, "RNG takes `seed` or `state`, got both")
        self._drawn = 0
        if state is not None:
            self.set_state(state)
            return
        if seed is None:
            seed = draw_seed()
        self._seed = self._checked(seed)

    @staticmethod
    def _checked(seed: Any) -> int:
        try:
            return operator.index(seed)
        except TypeError:
            raise _make(ArgumentTypeError, f"a seed is an integer, got {seed!r}") from None

    def __call__(self) -> int:
        """Returns the next value, of 63 bits: the seed of an operator's values."""
        drawn = self._drawn
        self._drawn += 1
        [start] = derive_seeds(self._seed, 1)
        [value] = derive_seeds(start ^ (drawn * 0x9E3779B97F4A7C15 & _MASK), 1)
        return value >> 1

    @property
    def seed(self) -> int:
        """The seed; setting it starts again."""
        return self._seed

    @seed.setter
    def seed(self, value: int) -> None:
        self._seed, self._drawn = self._checked(value), 0

    @property
    def state(self) -> tuple[int, int]:
        """The seed, and the number of values that were drawn."""
        return self._seed, self._drawn

    @state.setter
    def state(self, value: Any) -> None:
        self.set_state(value)

    def get_state(self, *, cuda_stream: Any = None) -> tuple[int, int]:  # noqa: ARG002
        """Returns the state.

        Args:
            cuda_stream: without effect: the state is on the CPU.
        """
        return self.state

    def set_state(self, value: Any) -> None:
        """Continues where a generator with this state was.

        Raises:
            ArgumentError: it is no state.
        """
        try:
            seed, drawn = (operator.index(one) for one in value)
        except (TypeError, ValueError):
            raise _make(ArgumentError, f"{value!r} is no state of an RNG") from None
        if drawn < 0:
            raise _make(ArgumentError, f"{value!r} is no state of an RNG")
        self._seed, self._drawn = seed, drawn

    def advance(self, n: SupportsIndex) -> None:
        """Skips values.

        Args:
            n: how many of them, at least 0.
        """
        count = operator.index(n)
        if count < 0:
            raise _make(ArgumentError, f"an RNG advances by 0 values or more, got {count}")
        self._drawn += count

    def clone(self) -> RNG:
        """Returns a generator with the same state."""
        return RNG(state=self.state)

    def __repr__(self) -> str:
        return f"RNG(seed={self._seed}, state={self.state})"


class _OfThread(threading.local):
    rng: RNG | None = None


_of_thread = _OfThread()


def get_default_rng() -> RNG:
    """Returns the generator of calls without `rng=`, of the current thread."""
    if _of_thread.rng is None:
        _of_thread.rng = RNG()
    return _of_thread.rng


def set_seed(seed: int) -> None:
    """Sets the seed of get_default_rng(), which starts again."""
    _of_thread.rng = RNG(seed)


def seed_of(rng: Any) -> int:
    """Returns the seed of a call that was given a generator, or None.

    Raises:
        ArgumentTypeError: it is no RNG.
        UnsupportedError: it is a generator of torch.
    """
    if rng is None:
        return get_default_rng()()
    if isinstance(rng, torch.Generator):
        raise _make(
            UnsupportedError, "`rng` takes an RNG", fix="pass RNG(generator.initial_seed())"
        )
    if not isinstance(rng, RNG):
        raise _make(ArgumentTypeError, f"`rng` takes an RNG, got {type(rng).__name__}")
    return rng()
