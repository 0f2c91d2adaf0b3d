# SPDX-License-Identifier: Apache-2.0
"""The features that ``fn.readers.tfrecord`` reads, under the names of ``nvidia.dali.tfrecord``.

Example:
    >>> from torchdali import tfrecord
    >>> features = {
    ...     "image/encoded": tfrecord.FixedLenFeature([], tfrecord.string, ""),
    ...     "image/class/label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
    ...     "image/object/bbox/xmin": tfrecord.VarLenFeature(tfrecord.float32, 0.0),
    ... }
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, UnsupportedError, _make

__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]

# DALI's numbers.
int64 = 0
string = 1
float32 = 2

_NAMES = {int64: "int64", string: "string", float32: "float32"}


@dataclass(frozen=True)
class Feature:
    """A feature of a record: FixedLenFeature and VarLenFeature make them.

    Attributes:
        dtype: int64, string or float32.
        shape: of the output; of a VarLenFeature, without the first extent.
        default_value: an int, a float, or the bytes of a string.
        fixed: whether it is a FixedLenFeature.
    """

    dtype: int
    shape: tuple[int, ...]
    default_value: int | float | bytes
    fixed: bool

    def fields(self, name: str) -> tuple[str, bool, list[int], int | float | bytes]:
        """Returns the feature of a name as the engine and documents have it.

        The type is that of the default.
        """
        return name, self.fixed, list(self.shape), self.default_value

    @staticmethod
    def from_fields(fields: Any) -> tuple[str, Feature]:
        """Returns what fields() was called with: the name, and the feature.

        Raises:
            ArgumentError, ArgumentTypeError, UnsupportedError, ValueError: these are no fields.
        """
        name, fixed, shape, default = fields
        kinds = {int: int64, float: float32, bytes: string}
        if not isinstance(name, str) or not isinstance(fixed, bool) or type(default) not in kinds:
            raise ValueError
        make = FixedLenFeature if fixed else VarLenFeature
        return name, make(shape, kinds[type(default)], default)


def FixedLenFeature(
    shape: Sequence[int], dtype: int, default_value: int | float | str | bytes, /
) -> Feature:
    """Returns a feature whose output has a shape that is known.

    Args:
        shape: of the output, [] for a scalar. A string is an output of its bytes, uint8 [size], and
            its shape is [] or [1].
        dtype: int64, float32 or string.
        default_value: of elements that a record lacks; of all of them if it lacks the feature.

    Raises:
        ArgumentError, ArgumentTypeError, UnsupportedError: there is no such feature.
    """
    feature = Feature(dtype, _extents(shape), _default(dtype, default_value), True)
    count = 1
    for extent in feature.shape:
        count *= extent
    if dtype == string and count > 1:
        raise _make(
            UnsupportedError,
            f"tfrecord.FixedLenFeature: a tensor of strings (`shape` is {list(feature.shape)}) "
            "cannot be read, only one string of a feature",
            fix="give the shape []",
        )
    return feature


def VarLenFeature(*args: Any) -> Feature:
    """Returns a feature of any number of elements: ``VarLenFeature([shape,] dtype, default)``.

    Args:
        *args: the shape without its first extent, which follows from the number of elements (by
            default the output has one dimension); int64 or float32; and a default, which has no
            effect, because the output of a record without elements is empty.

    Raises:
        ArgumentError, ArgumentTypeError, UnsupportedError: there is no such feature.
    """
    if len(args) not in (2, 3):
        raise _make(
            ArgumentTypeError,
            "tfrecord.VarLenFeature: takes (dtype, default_value) or (shape, dtype, "
            f"default_value), got {len(args)} arguments",
        )
    shape, (dtype, default_value) = ((), args) if len(args) == 2 else (args[0], args[1:])
    feature = Feature(dtype, _extents(shape), _default(dtype, default_value), False)
    if dtype == string:
        raise _make(
            UnsupportedError,
            "tfrecord.VarLenFeature: lists of strings cannot be read, only one string of a feature",
            fix='use FixedLenFeature([], tfrecord.string, "")',
        )
    if 0 in feature.shape:
        raise _make(
            ArgumentError,
            f"tfrecord.VarLenFeature: `shape` is {list(feature.shape)}, expected extents of 1 or "
            "more",
        )
    return feature


def _extents(shape: Any) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(extent) for extent in shape)
    except TypeError:
        raise _make(
            ArgumentTypeError, f"tfrecord: `shape` takes a list of integers, got {shape!r}"
        ) from None
    if any(extent < 0 for extent in extents):
        raise _make(
            ArgumentError,
            f"tfrecord: `shape` is {list(extents)}, expected extents of 0 or more",
            fix="use VarLenFeature for a first extent that the record decides",
        )
    return extents


def _default(dtype: Any, value: Any) -> int | float | bytes:
    if isinstance(dtype, bool) or not isinstance(dtype, int) or dtype not in _NAMES:
        raise _make(
            ArgumentTypeError,
            f"tfrecord: `dtype` takes tfrecord.int64, tfrecord.float32 or tfrecord.string, got "
            f"{dtype!r}",
        )
    if dtype == string and isinstance(value, (str, bytes)):
        return os.fsencode(value)
    if dtype == float32 and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if dtype == int64 and isinstance(value, int) and not isinstance(value, bool):
        if not -(1 << 63) <= value < 1 << 63:
            raise _make(ArgumentError, f"tfrecord: `default_value` is {value}, which is no int64")
        return value
    raise _make(
        ArgumentTypeError,
        f"tfrecord: `default_value` of a feature of type {_NAMES[dtype]}, got {value!r}",
    )
