# SPDX-License-Identifier: Apache-2.0
"""Source of the functions that the engine calls, and that call the user's function.

The engine knows addresses and extents; the user's function takes arrays. The
conversion is written for one signature, so that nothing is looked up while samples run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["NAME", "Array", "batch_source", "sample_source", "setup_source"]

NAME = "torchdali_call"


@dataclass(frozen=True)
class Array:
    """An argument of the user's function: NumPy's name of its type, dimensions, whose it is."""

    dtype: str
    ndim: int
    writable: bool


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _view(array: Array, address: str, extents: Sequence[str]) -> str:
    made = f"carray(address({address}), {_tuple(extents)}, np.{array.dtype})"
    return made if array.writable else f"frozen({made})"


def _source(parameters: str, body: Sequence[str], arguments: Sequence[str]) -> str:
    lines = [*body, f"function({', '.join(arguments)})", "return 0"]
    return f"def {NAME}({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def sample_source(arrays: Sequence[Array]) -> str:
    """Returns the source for calls with one sample.

    `data` has the addresses of the arrays, and `shapes` their extents, one after
    the other.
    """
    arguments, position = [], 0
    for slot, array in enumerate(arrays):
        extents = [f"extents[{position + axis}]" for axis in range(array.ndim)]
        arguments.append(_view(array, f"addresses[{slot}]", extents))
        position += array.ndim
    body = [
        f"addresses = carray(address(data), ({len(arrays)},), np.int64)",
        f"extents = carray(address(shapes), ({position},), np.int64)",
    ]
    return _source("data, shapes", body, arguments)


def batch_source(arrays: Sequence[Array]) -> str:
    """Returns the source for calls with `count` samples, which the function gets as lists.

    `data` and `shapes` hold all samples of one argument before those of the next.
    """
    body = [
        f"addresses = carray(address(data), ({len(arrays)}, count), np.int64)",
        f"extents = carray(address(shapes), ({sum(a.ndim for a in arrays)} * count,), np.int64)",
    ]
    arguments, position = [], 0
    for slot, array in enumerate(arrays):
        extents = [
            f"extents[{position} * count + i * {array.ndim} + {axis}]" for axis in range(array.ndim)
        ]
        view = _view(array, f"addresses[{slot}, i]", extents)
        body.append(f"list{slot} = [{view} for i in range(count)]")
        arguments.append(f"list{slot}")
        position += array.ndim
    return _source("data, shapes, count", body, arguments)


def setup_source(outs_ndim: Sequence[int], ins_ndim: Sequence[int]) -> str:
    """Returns the source of the function that returns the shapes of the outputs of a batch.

    It gets lists of lists: the shape of sample `s` of output `o` is the array `outs[o][s]`.
    """
    body, arguments = [], []
    for name, ndims, writable in (("outs", outs_ndim, True), ("ins", ins_ndim, False)):
        lists, position = [], 0
        for ndim in ndims:
            # The address is counted in bytes: extents have 8.
            start = f"{name}_shapes + 8 * ({position} * count + {ndim} * i)"
            view = _view(Array("int64", 1, writable), start, [str(ndim)])
            lists.append(f"[{view} for i in range(count)]")
            position += ndim
        body.append(f"{name} = [{', '.join(lists)}]")
        arguments.append(name)
    return _source("outs_shapes, ins_shapes, count", body, arguments)
