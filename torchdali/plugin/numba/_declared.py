# SPDX-License-Identifier: Apache-2.0
"""What the user declares about the tensors of a Numba function, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torchdali._common.location import SourceLocation
from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.plugin.numba._compile import OWNER
from torchdali.plugin.numba._wrappers import Array
from torchdali.types import DALIDataType, to_dali_type, to_numpy_type

__all__ = ["Tensors", "fail", "grid", "ints", "wrong_type"]

_MAX = 6  # inputs, and outputs
_MAX_DIMS = 16  # of a tensor in the engine


def fail(message: str, location: SourceLocation | None, fix: str | None = None) -> Exception:
    """Returns the error for a wrong value."""
    return _make(ArgumentError, message, operator=OWNER, location=location, fix=fix)


def wrong_type(message: str, location: SourceLocation | None) -> Exception:
    """Returns the error for a value of a wrong type, or a missing one."""
    return _make(ArgumentTypeError, message, operator=OWNER, location=location)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]


def _types(name: str, value: Any, location: SourceLocation | None) -> list[DALIDataType]:
    result: list[DALIDataType] = []
    for item in _listed(value):
        try:
            found = item if isinstance(item, DALIDataType) else to_dali_type(item)
            to_numpy_type(found)
        except (TypeError, KeyError):
            raise wrong_type(
                f"`{name}` takes element types such as types.UINT8, got {item!r}", location
            ) from None
        if found is DALIDataType.FLOAT16:
            raise fail(
                f"`{name}` has FLOAT16, which Numba does not have on the CPU",
                location,
                "fn.cast(..., dtype=types.FLOAT) before it",
            )
        result.append(found)
    return result


def ints(name: str, value: Any, location: SourceLocation | None) -> list[int]:
    """Returns whole numbers, or one of them, as a list."""
    items = _listed(value)
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
            raise wrong_type(f"`{name}` takes whole numbers, got {item!r}", location)
    return [int(item) for item in items]


@dataclass(frozen=True)
class Tensors:
    """What the user says about inputs or outputs."""

    types: tuple[DALIDataType, ...]
    ndims: tuple[int, ...]

    @classmethod
    def checked(
        cls, which: str, types: Any, ndims: Any, location: SourceLocation | None
    ) -> Tensors:
        """Returns them as the user gave them in `{which}_types` and `{which}s_ndim`."""
        types_name, ndims_name = f"{which}_types", f"{which}s_ndim"
        own = cls(
            tuple(_types(types_name, types, location)), tuple(ints(ndims_name, ndims, location))
        )
        if len(own.types) != len(own.ndims):
            raise fail(
                f"`{types_name}` has {len(own.types)} entries and `{ndims_name}` "
                f"{len(own.ndims)}; each has one for every {which}put",
                location,
            )
        if not 1 <= len(own.types) <= _MAX:
            raise fail(f"takes 1 to {_MAX} {which}puts, got {len(own.types)}", location)
        for ndim in own.ndims:
            if not 0 <= ndim <= _MAX_DIMS:
                raise fail(
                    f"`{ndims_name}` has {ndim}; tensors have 0 to {_MAX_DIMS} dimensions", location
                )
        return own

    def arrays(self, *, writable: bool) -> list[Array]:
        """Returns them as arguments of the user's function."""
        # np.bool is another thing before NumPy 2
        names = [np.dtype(to_numpy_type(t)).name.replace("bool", "bool_") for t in self.types]
        return [Array(n, d, writable) for n, d in zip(names, self.ndims, strict=True)]


def grid(name: str, value: Any, location: SourceLocation | None) -> list[int] | None:
    """Returns the sizes of a grid or of a block, or None if they were not given."""
    if value is None:
        return None
    sizes = ints(name, value, location)
    if len(sizes) != 3 or min(sizes) < 1:
        raise fail(f"`{name}` takes 3 positive numbers, got {sizes}", location)
    return sizes
