# SPDX-License-Identifier: Apache-2.0
"""fn.constant: one tensor for every sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op

from torchdali import fn, types

NUMERIC = [t for t in types.DALIDataType if t.value <= types.BOOL.value and t is not types.NO_TYPE]
# DALI 1.35 has no constants of these.
NOT_IN_DALI = {types.FLOAT64: "DALI 1.35 has no constants of type FLOAT64"}
CASES = [
    OpCase("constant", args={"idata": [1, 0, 3], "dtype": t}, no_parity=NOT_IN_DALI.get(t, ""))
    for t in NUMERIC
]
CASES += [
    OpCase("constant", args=args)
    for args in [
        {"idata": 7},
        {"idata": [7]},
        {"fdata": 7.5},
        {"idata": 7, "shape": [2, 3]},
        {"idata": [1, 2, 3, 4], "shape": [2, 2], "layout": "HW"},
        {"fdata": [1.5, -2.5, 3e9], "dtype": types.INT32},
        {"fdata": [0.3, 0.5, -0.3, 0.0], "dtype": types.BOOL},
        {"fdata": [1e6, 1e-9], "dtype": types.FLOAT16},
        {"idata": [300, -2, 255], "dtype": types.UINT8},
        {"idata": [-1], "dtype": types.UINT64},
        {"idata": [], "shape": [0]},
        {"idata": [5], "shape": []},
        {"fdata": 2, "shape": [3, 0, 2]},
    ]
]


@for_each("case", CASES)
def test_every_sample_is_the_tensor(case):
    args = case.args
    (samples,) = run_case(case).samples()
    values = args.get("idata", args.get("fdata"))
    values = values if isinstance(values, list) else [values]
    shape = args.get("shape", [len(values)])
    dtype = types.to_torch_type(args.get("dtype", types.INT32 if "idata" in args else types.FLOAT))
    assert len(samples) == case.batch
    for sample in samples:
        assert sample.dtype == dtype
        assert list(sample.shape) == shape
        expected = torch.tensor(values, dtype=torch.float64).expand(
            max(sample.numel(), len(values))
        )
        if sample.numel() and dtype in (torch.float32, torch.int64):
            torch.testing.assert_close(sample.reshape(-1).double(), expected)


def test_bytes_are_the_elements_of_an_array():
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    args = {"data": x.tobytes(), "data_dtype": types.INT16, "shape": [2, 3]}
    assert np.array_equal(run_op("constant", **args).numpy(), x)
    converted = run_op("constant", **args, dtype=types.FLOAT)
    assert converted.dtype == torch.float32
    assert np.array_equal(converted.numpy(), x)


@for_each(
    ("args", "error", "text"),
    [
        ({}, ValueError, "takes one of `fdata`, `idata` and `data`"),
        ({"idata": 1, "fdata": 1.0}, ValueError, "takes one of"),
        ({"idata": [1, 2, 3], "shape": [2, 2]}, ValueError, r"`shape` \[2, 2\] does not fit 3"),
        ({"idata": [1, 2], "shape": []}, ValueError, "does not fit 2 values"),
        ({"idata": 1, "shape": [-1]}, ValueError, "negative extent: -1"),
        ({"idata": 1 << 40}, ValueError, "which int32 cannot hold(?s:.*)types.INT64"),
        ({"data": b"abc", "data_dtype": types.INT16}, ValueError, "3 bytes"),
        ({"data": b"abcd"}, ValueError, "`data_dtype`"),
        ({"data": "abcd", "data_dtype": types.UINT8}, TypeError, "`data` takes bytes"),
    ],
)
def test_wrong_arguments_are_errors_of_the_build(args, error, text):
    with pytest.raises(error, match=f"fn.constant: (?s:.*){text}"):
        run_op("constant", **args)


def test_constants_may_have_64_bits():
    actual = run_op("constant", idata=[1 << 40, -(1 << 62)], dtype=types.INT64)
    assert actual.tolist() == [1 << 40, -(1 << 62)]


def test_the_node_has_its_layout():
    assert fn.constant(idata=[1, 2], shape=[1, 2], layout="HW").layout == "HW"
