# SPDX-License-Identifier: Apache-2.0
"""Writes protobuf messages: those of TensorFlow, Caffe and Caffe2 that readers take."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

__all__ = [
    "bytes_list",
    "datum",
    "example",
    "field",
    "float_list",
    "int64_list",
    "number",
    "tensor",
    "tensors",
    "varint",
]

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)


def varint(value: int) -> bytes:
    """Returns a number of 64 bits, signed or unsigned."""
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def tag(number: int, kind: int) -> bytes:
    """Returns what a field begins with."""
    return varint(number << 3 | kind)


def field(which: int, content: bytes) -> bytes:
    """Returns a field of bytes: a string, a message, or packed numbers."""
    return tag(which, BYTES) + varint(len(content)) + content


def number(which: int, value: int) -> bytes:
    """Returns a field of one integer."""
    return tag(which, VARINT) + varint(value)


def _floats(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


# -- tf.train.Example


def int64_list(values: Sequence[int], *, packed: bool = True) -> bytes:
    """Returns a Feature of integers."""
    if packed:
        return field(3, field(1, b"".join(map(varint, values))))
    return field(3, b"".join(number(1, value) for value in values))


def float_list(values: Sequence[float], *, packed: bool = True) -> bytes:
    """Returns a Feature of floats."""
    if packed:
        return field(2, field(1, _floats(values)))
    return field(2, b"".join(tag(1, FIXED32) + _floats([value]) for value in values))


def bytes_list(values: Sequence[bytes]) -> bytes:
    """Returns a Feature of strings."""
    return field(1, b"".join(field(1, value) for value in values))


def entry(name: str, feature: bytes) -> bytes:
    """Returns a Feature under its name, as Features has it."""
    return field(1, field(1, name.encode()) + field(2, feature))


def example(features: Mapping[str, bytes]) -> bytes:
    """Returns an Example."""
    return field(1, b"".join(entry(*item) for item in features.items()))


# -- Caffe, Caffe2


def datum(
    data: bytes | None = None,
    label: int | None = None,
    size: Sequence[int] = (),
    encoded: bool | None = None,
) -> bytes:
    """Returns a Datum; `size` is (channels, height, width)."""
    out = b"".join(number(which, extent) for which, extent in enumerate(size, 1))
    if data is not None:
        out += field(4, data)
    if label is not None:
        out += number(5, label)
    if encoded is not None:
        out += number(7, encoded)
    return out


def tensor(
    values: bytes | Sequence[bytes] | Sequence[int] | Sequence[float],
    dims: Sequence[int] = (),
    *,
    int64: bool = False,
) -> bytes:
    """Returns a TensorProto: of strings, of int32, of float, or of bytes."""
    out = b"".join(number(1, extent) for extent in dims)
    if isinstance(values, bytes):
        return out + number(2, 3) + field(5, values)
    if all(isinstance(value, bytes) for value in values):
        return out + number(2, 4) + b"".join(field(6, value) for value in values)
    if all(isinstance(value, int) for value in values):
        which = 10 if int64 else 4
        return out + number(2, 10 if int64 else 2) + field(which, b"".join(map(varint, values)))
    return out + number(2, 1) + field(3, _floats(values))


def tensors(*content: bytes) -> bytes:
    """Returns TensorProtos."""
    return b"".join(field(1, one) for one in content)
