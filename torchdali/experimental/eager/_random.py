# SPDX-License-Identifier: Apache-2.0
"""Random operators of the eager mode, as methods of an object that has their state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from torchdali._common.location import find_user_location
from torchdali._eager import functions
from torchdali._eager.caller import Caller
from torchdali._engine.schema import OperatorSchema
from torchdali.errors import UnsupportedError, _make
from torchdali.experimental.eager import _batches

__all__ = ["rng_state"]


def _schemas() -> dict[str, OperatorSchema]:
    return {name: schema for name, schema in functions.schemas().items() if schema.random}


class rng_state:  # DALI's name
    """Random operators as methods: ``rng_state(seed=42).random.uniform(batch_size=8)``.

    Each call draws the seed of its values. Two objects with one seed give the same values to the
    same sequence of calls.

    Args:
        seed: an integer; None: a new one each time.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._seeds = np.random.default_rng(seed)
        for name, schema in _schemas().items():
            *path, own = name.split(".")
            home: Any = self
            for part in path:
                if part not in vars(home):
                    setattr(home, part, SimpleNamespace())
                home = getattr(home, part)
            setattr(home, own, self._method(schema))

    def _method(self, schema: OperatorSchema) -> Any:
        caller = Caller(schema, f"{_batches.FACE}.rng_state")

        def method(*inputs: Any, **kwargs: Any) -> Any:
            seed = int(self._seeds.integers(1 << 63))
            return _batches.call(caller, inputs, kwargs, seed)

        method.__name__ = method.__qualname__ = schema.path[-1]
        return method

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in functions.schemas():
            raise _make(
                UnsupportedError,
                f"eager.rng_state has the random operators only, and `{name}` draws no values",
                location=find_user_location(),
                fix=f"call torchdali.experimental.eager.{name}",
            )
        raise AttributeError(f"rng_state has no attribute {name!r}", name=name, obj=self)
