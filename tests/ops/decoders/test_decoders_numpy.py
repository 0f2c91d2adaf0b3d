# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.numpy: arrays in the bytes of .npy files; NumPy is the reference."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from helpers.array_readers import assert_equal
from helpers.cases import for_each
from helpers.ops import OpCase, run_op

from torchdali import types
from torchdali.errors import DataError

OP = "decoders.numpy"


def encoded(array):
    file = io.BytesIO()
    np.save(file, array)
    return torch.from_numpy(np.frombuffer(file.getvalue(), np.uint8).copy())


def array(i=0, dtype="f4", order="C"):
    return np.asarray(np.arange(12).reshape(i + 1, -1) * 25.25 - 40, dtype, order)


CASES = [
    OpCase(
        OP,
        make=lambda i, order=order: encoded(array(i % 4, order=order)),
        batch=4,
        args=args,
        no_parity="DALI 1.35 has no such operator",
    )
    for order in "CF"
    for args in ({}, {"dtype": types.INT16})
]


@for_each("order", ["C", "F"])
@for_each("dtype", ["?", "u1", "u8", "i2", ">i4", "f2", "f4", ">f8"])
def test_arrays_are_those_of_numpy(dtype, order):
    for shape in [(), (0, 3), (12,), (3, 4), (2, 2, 3)]:
        x = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), dtype, order)
        assert_equal([run_op(OP, encoded(x))], [x.astype(x.dtype.newbyteorder("="))])


@for_each("order", ["C", "F"])
def test_dtype_converts_as_cast_does(order):
    x = array(2, "f8", order)
    for dtype in (types.UINT8, types.FLOAT16, types.FLOAT64, types.BOOL):
        expected = run_op("cast", torch.from_numpy(np.ascontiguousarray(x)), dtype=dtype)
        assert_equal([run_op(OP, encoded(x), dtype=dtype)], [expected])


def test_bad_bytes_are_refused():
    with pytest.raises(DataError, match="needs 48 bytes, but the file has 47"):
        run_op(OP, encoded(array())[:-1])
    with pytest.raises(DataError, match="no .npy file"):
        run_op(OP, torch.zeros(0, dtype=torch.uint8))
    with pytest.raises(TypeError, match="1-D tensors of uint8, got float32"):
        run_op(OP, torch.zeros(3))
