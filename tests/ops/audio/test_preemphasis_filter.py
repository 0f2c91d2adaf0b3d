# SPDX-License-Identifier: Apache-2.0
"""fn.preemphasis_filter: y[i] = x[i] - coefficient * x[i - 1]."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali import types

INTEGERS = {
    torch.int8: types.INT8,
    torch.int16: types.INT16,
    torch.int32: types.INT32,
    torch.int64: types.INT64,
    torch.uint8: types.UINT8,
    torch.uint16: types.UINT16,
    torch.uint32: types.UINT32,
    torch.uint64: types.UINT64,
}
FLOAT, DOUBLE = torch.float32, torch.float64
HALF = PerSample([0.5, -0.25, 0.0])
CASES = [
    OpCase("preemphasis_filter", "t", shape, {"border": border, **args}, FLOAT).replace(
        algorithm="preemphasis"
    )
    for border in ("clamp", "zero", "reflect")
    for shape, args in [
        ((3000,), {}),
        ((1,), {}),
        ((2,), {}),
        ([(40,), (17,)], {"preemph_coeff": HALF}),
    ]
]
CASES += [
    OpCase("preemphasis_filter", layout, shape, args, dtype, algorithm="preemphasis")
    for layout, shape, args, dtype in [
        ("", (4, 3), {"border": "reflect"}, FLOAT),
        ("", (2, 3, 4), {}, FLOAT),
        ("t", (2000,), {"dtype": types.FLOAT64}, DOUBLE),
        ("t", (2000,), {}, DOUBLE),
        ("t", (2000,), {"dtype": types.FLOAT64}, FLOAT),
        *(("t", (1500,), {"preemph_coeff": 0.5}, dtype) for dtype in INTEGERS),
    ]
]
CASES += [
    OpCase(
        "preemphasis_filter",
        "t",
        make=lambda i: torch.tensor([100, 50.5, -121.25, 0, 3e9, 0.5, 1.25, 3 + i]),
        args={"preemph_coeff": 0.5, "dtype": dtype},
    )
    for dtype in INTEGERS.values()
]
CASES += [
    OpCase("preemphasis_filter", "t", (0,), {}, FLOAT, no_parity="DALI crashes"),
    OpCase("preemphasis_filter", make=lambda i: torch.tensor(float(i)), args={}).replace(
        algorithm="preemphasis"
    ),
]


@for_each("case", CASES)
def test_matches_reference(case):
    for i, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(i).double().numpy()
        flat = x.reshape(-1)
        by = case.args.get("preemph_coeff", 0.97)
        by = float(by.at(i)) if isinstance(by, PerSample) else by
        before = np.concatenate([flat[:1], flat[:-1]])
        border = case.args.get("border", "clamp")
        if border == "zero" or (border == "reflect" and flat.size == 1):
            before[:1] = 0
        elif border == "reflect":
            before[:1] = flat[1:2]
        expected = (flat - np.float32(by) * before).reshape(x.shape)
        if not actual.dtype.is_floating_point:
            limits = torch.iinfo(actual.dtype)
            expected = np.trunc(expected + np.copysign(0.5, expected))
            expected = np.clip(expected, limits.min, limits.max)
        largest = np.abs(x).max(initial=1)
        np.testing.assert_allclose(actual.double(), expected, rtol=1e-6, atol=largest * 3e-7)


def test_wrong_arguments():
    with pytest.raises(ValueError, match='`border` is "wrap", expected "clamp"'):
        run_op("preemphasis_filter", torch.ones(3), border="wrap")
    with pytest.raises(TypeError, match="`dtype` is float16, expected an integer type"):
        run_op("preemphasis_filter", torch.ones(3), dtype=types.FLOAT16)
    with pytest.raises(TypeError, match="input `data` is bool, expected an integer type"):
        run_op("preemphasis_filter", torch.ones(3, dtype=torch.bool))
