# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.inflate: LZ4 blocks, made by a small compressor."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op

from torchdali import Pipeline, fn, types
from torchdali.errors import DataError

OP = "decoders.inflate"


def _length(value):
    """Returns the four bits of the token, and the bytes that follow."""
    if value < 15:
        return value, b""
    return 15, bytes([255] * ((value - 15) // 255) + [(value - 15) % 255])


def sequence(literals, distance=0, count=0):
    first, more = _length(len(literals))
    if not distance:
        return bytes([first << 4]) + more + literals
    second, rest = _length(count - 4)
    return bytes([first << 4 | second]) + more + literals + distance.to_bytes(2, "little") + rest


def compress(data):
    """Greedy compression with matches of 4 bytes or more."""
    block, begin, at, seen = b"", 0, 0, {}
    while at + 4 <= len(data):
        found = seen.get(data[at : at + 4])
        seen[data[at : at + 4]] = at
        if found is None or at - found > 65535:
            at += 1
            continue
        count = 4
        while at + count < len(data) and data[found + count] == data[at + count]:
            count += 1
        block += sequence(data[begin:at], at - found, count)
        at = begin = at + count
    return block + sequence(data[begin:])


def data_of(seed, size, letters=4):
    draw = random.Random(seed)
    text = bytes(draw.randrange(letters) for _ in range(size))
    return text[: size // 2] + text[: size - size // 2]  # with a long match


def tensor(data):
    return torch.from_numpy(np.frombuffer(bytes(data), np.uint8).copy())


def inflated(block, size):
    return run_op(OP, tensor(block), shape=[size]).numpy().tobytes()


SIZES = [1, 40, 300]
NO_PARITY = "DALI has it on the GPU only"
CASES = [
    OpCase(
        OP,
        make=lambda i: tensor(compress(data_of(i, SIZES[i % 3]))),
        batch=3,
        args={"shape": PerSample([[n] for n in SIZES])},
        no_parity=NO_PARITY,
    ),
    OpCase(
        OP,
        make=lambda i: tensor(compress(data_of(i, 24)) * (i + 1)),
        batch=3,
        args={
            "shape": [2, 3],
            "dtype": types.FLOAT,
            "chunk_sizes": PerSample([[len(compress(data_of(i, 24)))] * (i + 1) for i in range(3)]),
            "layout": "HW",
        },
        no_parity=NO_PARITY,
    ),
]


def test_blocks_are_decompressed():
    for size in [0, 1, 3, 15, 16, 17, 100, 270, 5000, 70000]:
        for letters in (1, 2, 4, 256):
            data = data_of(size, size, letters)
            assert inflated(compress(data), size) == data


@for_each("distance", [1, 2, 3, 7, 15, 16, 17, 31, 40])
def test_matches_repeat_what_they_make(distance):
    start = bytes(range(40))
    for count in (4, 15, 18, 19, 33, 300):
        block = sequence(start, distance, count) + sequence(b"end")
        expected = bytearray(start)
        for _ in range(count):
            expected.append(expected[-distance])
        assert inflated(block, 43 + count) == bytes(expected) + b"end"


def test_shape_type_and_layout():
    data = np.arange(12, dtype=np.int16)
    args = {"shape": [3, 4], "dtype": types.INT16, "layout": "HW"}
    block = compress(data.tobytes())
    one = run_op(OP, tensor(block), shape=[3, 4], dtype=types.INT16)
    assert one.tolist() == data.reshape(3, 4).tolist()
    pipe = Pipeline(1, 1, device_id=None)
    with pipe, pytest.deprecated_call(match="experimental.inflate"):
        source = fn.external_source(source=[[tensor(block * 2)]], cycle=True)
        sizes = {"chunk_sizes": [len(block)] * 2}
        pipe.set_outputs(
            fn.decoders.inflate(source, **args, **sizes),
            fn.decoders.inflate(source, **args, **sizes, sequence_axis_name="D"),
            fn.experimental.inflate(source, **args, chunk_offsets=[0, len(block)]),
        )
    pipe.build()
    frames, slices, old = pipe.run()
    assert [out.layout() for out in (frames, slices, old)] == ["FHW", "DHW", "FHW"]
    for out in (frames, slices, old):
        assert out.as_torch_list()[0].tolist() == [data.reshape(3, 4).tolist()] * 2


def test_chunks_may_be_anywhere():
    a, b = data_of(1, 30), data_of(2, 30)
    first, second = compress(a), compress(b)
    whole = tensor(b"??" + second + b"???" + first)
    offsets = [5 + len(second), 2]
    sizes = [len(first), len(second)]
    out = run_op(OP, whole, shape=[30], chunk_offsets=offsets, chunk_sizes=sizes)
    assert [row.numpy().tobytes() for row in out] == [a, b]
    assert run_op(OP, whole, shape=[30], chunk_sizes=[]).shape == (0, 30)


def test_a_short_block_is_filled_with_zeros_or_refused():
    assert inflated(compress(b"abcd"), 6) == b"abcd\0\0"
    block = tensor(compress(b"abcd"))
    with pytest.raises(DataError, match="of 5 bytes has 4 bytes, expected 6"):
        run_op(OP, block, shape=[6], check_output_size=True)
    for checks in (False, True):
        with pytest.raises(DataError, match="has more than the expected 3 bytes"):
            run_op(OP, block, shape=[3], check_output_size=checks)


@for_each(
    ("block", "message"),
    [
        (b"", "truncated"),
        (b"\x50abcd", "truncated"),
        (b"\xf0", "truncated"),
        (b"\xf0\xff\xff", "truncated"),
        (b"\x10a\x01", "truncated"),
        (b"\x10a\x01\x00", "truncated"),
        (b"\x10a\x00\x00\x10b", "a match begins before the data"),
        (b"\x10a\x02\x00\x10b", "a match begins before the data"),
        (b"\x1fa\x01\x00" + b"\xff" * 50 + b"\x00\x10b", "has more than the expected 100 bytes"),
    ],
)
def test_damaged_blocks_are_refused(block, message):
    with pytest.raises(DataError, match=message):
        run_op(OP, tensor(block), shape=[100])


@for_each(
    ("args", "message"),
    [
        ({"algorithm": "zip"}, '`algorithm` is "zip", expected "LZ4"'),
        ({"sequence_axis_name": "FG"}, "expected one letter"),
        ({"shape": [-1]}, "`shape` has the extent -1"),
        ({"chunk_offsets": [0, 1], "chunk_sizes": [1]}, "has 2 values and `chunk_sizes` 1"),
        ({"chunk_offsets": [9]}, "chunk 0 begins at byte 9, but the sample has 5 bytes"),
        ({"chunk_offsets": [-1]}, "chunk 0 begins at byte -1"),
        ({"chunk_offsets": [3, 1]}, "chunk 0 begins at byte 3 and ends at 1"),
        ({"chunk_offsets": [0, -(2**31)]}, "ends at -2147483648"),
        ({"chunk_sizes": [2, 4]}, "chunk 1 has 4 bytes at byte 2"),
        ({"chunk_sizes": [-2]}, "chunk 0 has -2 bytes"),
    ],
)
def test_wrong_arguments_are_refused(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, tensor(compress(b"abcd")), **{"shape": [4], **args})
