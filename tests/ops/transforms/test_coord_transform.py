# SPDX-License-Identifier: Apache-2.0
"""fn.coord_transform: M x + T for all vectors of a sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op
from helpers.reference import convert
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

OP = "coord_transform"
NO_DTYPE = "DALI refuses the type"


def block(rows: int, columns: int, seed: int = 7) -> torch.Tensor:
    return random_tensor((rows, columns), torch.float32, seed) / 100


def case(args, shape=(9, 2), layout="", dtype=torch.float32, **more):
    return OpCase(OP, layout, shape, args, dtype=dtype, algorithm="affine", **more)


FRAMES = {"layout": "NP"}  # points without frames, and arguments with a value for each frame
CASES = [
    case(args)
    for args in [
        {},
        {"M": [1.0, 2, 3, 4]},
        {"M": [1.0, 2, 3, 4, 5, 6], "T": [1.0, 2.0, 3.0]},
        {"M": 2.0},
        {"T": [1.0, 2.0]},
        {"M": [1.0, 2.0], "T": 3.0},
        {"MT": [1.0, 2, 3, 4, 5, 6]},
        {"MT": 2.0},
        {"M": PerSample([block(3, 2)])},
        {"M": PerSample([2.0, 3.0]), "T": PerSample([5.0])},
        {"T": PerSample([[1.0, 2.0], [3.0, 4.0]])},
        {"MT": PerSample([block(2, 3), block(2, 3, 8)])},
        {"M": block(3, 2)},
        {"MT": block(2, 3)},
    ]
]
CASES += [
    case({"M": PerSample([torch.stack([block(2, 2), block(2, 2, 8)])], layout="F**")}, **FRAMES),
    case(
        {
            "M": PerSample([torch.stack([block(3, 2)] * 3)], layout="F**"),
            "T": PerSample([[[1.0, 2.0, 3.0]]], layout="F*"),
        },
        **FRAMES,
    ),
]
CASES += [
    case({"M": block(rows, columns).flatten().tolist()}, (37, columns))
    for rows, columns in [(3, 3), (1, 3), (2, 3), (4, 4), (5, 2), (6, 6)]
]
CASES += [
    case({"M": block(3, 3).flatten().tolist(), "T": 1.5}, (20, 70, 3), "HWC", torch.uint8),
    case({"M": [0.5] * 3, "dtype": types.UINT8}, (20, 70, 3), "HWC", torch.uint8),
    case({"M": -2.0, "T": 1.0, "dtype": types.INT16}, (20, 3), "", torch.int16),
    case({"M": 2.0}, (20, 3), "", torch.uint16),
    case({"M": 0.25}, (20, 3), "NX", torch.int32),
    case({"M": 2.0}, (0, 2), no_parity="DALI forgets how many components no vectors have"),
    case({"M": block(3, 7).flatten().tolist()}, (9, 7), no_parity="DALI takes at most 6"),
    case({"M": 2.0}, (3, 1, 2)),
    case({"M": [(1.0), 2.0]}, [(3, 2), (5, 2)]),
    case({"M": [1.0, 2, 3, 4, 5, 6]}, (2, 5, 2), "FNX"),
    case(
        {"M": [1.0, 2, 3, 4], "T": PerSample([[[1.0, 2.0], [3.0, 4.0]]], layout="F*")},
        (2, 5, 2),
        "FNX",
    ),
]
CASES += [
    case({"M": 0.5, "T": 1.0, "dtype": to}, (9, 3), "", dtype, no_parity=NO_DTYPE)
    for dtype, to in [
        (torch.int8, types.FLOAT),
        (torch.int64, types.FLOAT),
        (torch.float16, types.FLOAT16),
        (torch.float64, types.FLOAT64),
        (torch.float32, types.UINT8),
    ]
]


def reference(x: torch.Tensor, m: torch.Tensor | None, t: object) -> torch.Tensor:
    m = torch.eye(x.shape[-1]) if m is None else m
    m = m * torch.eye(x.shape[-1]) if m.ndim == 0 else m.reshape(-1, x.shape[-1])
    return x.double() @ m.double().T + torch.as_tensor(t).double()


def test_points_without_frames_and_layout_become_a_sequence():
    args = {"T": PerSample([[[1.0, 2.0], [3.0, 4.0]]], layout="F*")}
    run = run_case(case(args))
    assert run.layouts == ["F**"]
    x = case(args).input(0)
    expected = torch.stack([x + torch.tensor([1.0, 2.0]), x + torch.tensor([3.0, 4.0])])
    assert torch.equal(run.samples()[0][0], expected)


@for_each("case", [c for c in CASES if c.layout not in ("FNX", "NP")])
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {n: a.at(index) if isinstance(a, PerSample) else a for n, a in case.args.items()}
        x = case.input(index)
        m, t = args.get("M"), args.get("T", 0.0)
        m = None if m is None else torch.as_tensor(m)
        if "MT" in args:
            m = torch.as_tensor(args["MT"])
            if m.ndim:
                m = m.reshape(-1, x.shape[-1] + 1)
                m, t = m[:, :-1], m[:, -1]
        expected = reference(x, m, t)
        if actual.dtype.is_floating_point:
            torch.testing.assert_close(
                actual.double(),
                expected,
                rtol=2e-3 if x.dtype == torch.float16 else 1e-5,
                atol=1e-3,
            )
        else:
            assert torch.equal(actual, convert(expected.float(), actual.dtype))


@given(seed=st.integers(0, 1000))
def test_applying_two_maps_equals_their_product(seed):
    a, b, x = block(3, 2, seed), block(2, 3, seed + 1), block(5, 2, seed + 2)
    steps = run_op(OP, run_op(OP, x, M=a), M=b)
    torch.testing.assert_close(steps, run_op(OP, x, M=b @ a), rtol=1e-4, atol=1e-4)


def test_each_frame_may_have_its_own_offset():
    x = torch.zeros(2, 3, 2)
    offsets = PerSample([[[1.0, 2.0], [3.0, 4.0]]], layout="F*")
    out = run_op(OP, x, layout="FNX", T=offsets)
    np.testing.assert_array_equal(out[:, 0], [[1, 2], [3, 4]])


@for_each(
    ("args", "message"),
    [
        ({"M": [1.0, 2, 3]}, r"`M` has shape \[3\], expected rows of 2 values"),
        ({"M": []}, "`M` has shape"),
        ({"M": torch.zeros(1, 3)}, r"`M` has shape \[1, 3\], expected rows of 2 values"),
        ({"MT": [1.0, 2, 3, 4]}, r"`MT` has shape \[4\], expected rows of 3 values"),
        ({"MT": 1.0, "T": 2.0}, "`MT` excludes `M` and `T`"),
        ({"M": [1.0, 2.0], "T": [1.0, 2.0]}, "`T` has 2 values, expected one"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, torch.zeros(3, 2), **args)


def test_a_single_vector_is_an_error():
    with pytest.raises(ValueError, match="expected at least 2 dimensions"):
        run_op(OP, torch.zeros(3), M=2.0)
