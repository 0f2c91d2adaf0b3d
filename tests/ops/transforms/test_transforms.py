# SPDX-License-Identifier: Apache-2.0
"""fn.transforms.*: affine transforms as matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import Input, OpCase, PerSample, run_case, run_op
from hypothesis import given
from hypothesis import strategies as st

OPERATORS = [
    "transforms.combine",
    "transforms.crop",
    "transforms.rotation",
    "transforms.scale",
    "transforms.shear",
    "transforms.translation",
]

# The matrix of each without an input.
ALONE = {
    "translation": [
        {"offset": [2.0, -3.5]},
        {"offset": 5.0},
        {"offset": [1, 2, 3]},
        {"offset": PerSample([[1.0, 2.0], [3.0, 4.0]])},
        {"offset": PerSample([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]], layout="F*")},
    ],
    "scale": [
        {"scale": [2.0, 0.5]},
        {"scale": 2.0},
        {"scale": 2.0, "ndim": 3},
        {"scale": [2.0, 3.0], "ndim": 3},
        {"scale": [2.0, 3.0], "center": [1.0, -4.0]},
        {"scale": [1.0, 2, 3, 4, 5, 6], "center": 1.5},
        {"scale": PerSample([[2.0, 3.0]]), "center": PerSample([[1.0, 2.0], [0.0, 5.0]])},
    ],
    "rotation": [
        {"angle": 30.0},
        {"angle": -400.0, "center": [10.0, 20.0]},
        {"angle": 30.0, "center": 3.0},
        {"angle": 30.0, "axis": [0, 0, 2.0]},
        {"angle": 70.0, "axis": [1.0, 2.0, -3.0], "center": [10.0, 20.0, 3.0]},
        {"angle": PerSample([10.0, 90.0]), "center": PerSample([[1.0, 2.0]])},
        {"angle": PerSample([10.0, 90.0]), "axis": PerSample([[1.0, 2.0, 0.5], [0.0, 1.0, 0.0]])},
        {"angle": PerSample([[10.0, 90.0]], layout="F"), "center": 1.0},
    ],
    "shear": [
        {"shear": [1.0, 2.0]},
        {"shear": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "center": [1.0, 2.0, 3.0]},
        {"angles": [30.0, -45.0], "center": 2.0},
        {"angles": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]},
        {"shear": PerSample([[1.0, 2.0], [0.0, -1.0]])},
        {"angles": PerSample([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])},
    ],
    "crop": [
        {},
        {"from_start": [1.0, 2.0], "from_end": [3.0, 5.0]},
        {"from_start": 0.1, "from_end": 0.9, "to_start": [0.0, 10.0, 20.0], "to_end": 30.0},
        {"from_start": [0.9, 0.2], "from_end": [0.1, 0.8], "absolute": True},
        {"from_start": [0.9, 0.2], "from_end": [0.1, 0.8]},
        {"from_start": [0.9, 0.2], "from_end": [0.9, 0.8]},
        {"to_start": PerSample([[3.0, 4.0]]), "to_end": PerSample([[1.0, 2.0], [9.0, 8.0]])},
    ],
}
# The same with an input of as many dimensions.
WITH_INPUT = {
    "translation": (2, {"offset": [2.0, -3.5]}),
    "scale": (3, {"scale": 2.0, "center": [1.0, 2.0, 3.0]}),
    "rotation": (2, {"angle": PerSample([10.0, 90.0])}),
    "shear": (3, {"shear": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}),
    "crop": (2, {"from_start": [1.0, 2.0], "from_end": [3.0, 5.0], "to_end": 7.0}),
}


def matrix(ndim: int, seed: int) -> torch.Tensor:
    return random_tensor((ndim, ndim + 1), torch.float32, seed) / 100


CASES = [
    OpCase(f"transforms.{op}", args=args, algorithm="affine")
    for op, cases in ALONE.items()
    for args in cases
]
CASES += [
    OpCase(
        f"transforms.{op}",
        args={**args, "reverse_order": reverse_order},
        make=lambda i, ndim=ndim: matrix(ndim, i),
        algorithm="affine",
    )
    for op, (ndim, args) in WITH_INPUT.items()
    for reverse_order in (False, True)
]
CASES += [
    OpCase(
        "transforms.translation",
        "F**",
        args={"offset": PerSample([[[1.0, 2.0], [3.0, 4.0]]], layout="F*")},
        make=lambda i: torch.stack([matrix(2, i), matrix(2, i + 9)]),
        algorithm="affine",
    ),
    OpCase(  # a matrix without frames, and a value for each frame
        "transforms.rotation",
        args={"angle": PerSample([[10.0, 20.0, 30.0], [5.0]], layout="F")},
        make=lambda i: matrix(2, i),
        algorithm="affine",
    ),
    OpCase(
        "transforms.scale",
        args={"scale": 2.0},
        make=lambda i: matrix(2, i).to(torch.int32),
        no_parity="DALI takes float32 matrices only",
    ),
    OpCase(
        "transforms.shear",
        args={"shear": [float(i) for i in range(12)]},
        no_parity="DALI takes 2 and 3 dimensions",
    ),
]
CASES += [
    OpCase(
        "transforms.combine",
        args=args,
        make=lambda i, ndim=ndim: matrix(ndim, i),
        more_inputs=tuple(
            Input(lambda i, ndim=ndim, j=j: matrix(ndim, i + 100 * j)) for j in range(1, count)
        ),
        algorithm="affine",
    )
    for ndim, count, args in [(2, 2, {}), (3, 3, {"reverse_order": True}), (1, 5, {}), (6, 2, {})]
]


def homogeneous(m: torch.Tensor) -> torch.Tensor:
    last = torch.zeros(1, m.shape[1], dtype=torch.float64)
    last[0, -1] = 1
    return torch.cat([m.double(), last])


def apply(m: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    return points.double() @ m[:, :-1].double().T + m[:, -1].double()


def make(op: str, **args: object) -> torch.Tensor:
    return run_op(f"transforms.{op}", **args)


@for_each("reverse_order", [False, True])
@for_each("op", WITH_INPUT)
def test_an_input_is_multiplied_with_the_transform(op, reverse_order):
    ndim, args = WITH_INPUT[op]
    args = {
        n: torch.tensor(a.values[0]) if isinstance(a, PerSample) else a for n, a in args.items()
    }
    before = matrix(ndim, 5)
    alone = make(op, **({"ndim": 3} if op == "scale" else {}), **args)
    both = run_op(f"transforms.{op}", before, reverse_order=reverse_order, **args)
    own, given_one = homogeneous(alone), homogeneous(before)
    product = given_one @ own if reverse_order else own @ given_one
    torch.testing.assert_close(both.double(), product[:-1], rtol=1e-5, atol=1e-5)


@given(
    angle=st.floats(-720, 720, width=32),
    center=st.tuples(st.floats(-50, 50, width=32), st.floats(-50, 50, width=32)),
)
def test_a_rotation_keeps_its_center_and_distances(angle, center):
    m = make("rotation", angle=angle, center=list(center))
    fixed = apply(m, torch.tensor([center]))
    torch.testing.assert_close(fixed, torch.tensor([center]).double(), rtol=0, atol=1e-4)
    linear = m[:, :2].double()
    torch.testing.assert_close(linear @ linear.T, torch.eye(2).double(), rtol=0, atol=1e-6)
    assert math.isclose(torch.det(linear), 1, abs_tol=1e-6)


def test_a_rotation_in_space_keeps_its_axis():
    axis = torch.tensor([1.0, 2.0, -3.0])
    m = make("rotation", angle=77.0, axis=axis.tolist())
    torch.testing.assert_close(m[:, :3] @ axis, axis, rtol=1e-6, atol=1e-6)
    opposite = make("rotation", angle=-77.0, axis=(-axis).tolist())
    torch.testing.assert_close(opposite, m)
    quarter = make("rotation", angle=90.0, axis=[0.0, 0.0, 1.0])
    assert quarter.round().tolist() == [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]


def test_a_crop_maps_corners_to_corners():
    boxes = {"from_start": [1.0, 2.0], "from_end": [3.0, 7.0]}
    boxes |= {"to_start": [0.0, 10.0], "to_end": [5.0, -10.0]}
    m = make("crop", **boxes)
    for corner in ("start", "end"):
        actual = apply(m, torch.tensor([boxes[f"from_{corner}"]]))[0]
        np.testing.assert_allclose(actual, boxes[f"to_{corner}"], atol=1e-5)


def test_combining_is_associative():
    a, b, c = (matrix(2, i) for i in range(3))
    all_three = run_op("transforms.combine", a, b, c)
    steps = run_op("transforms.combine", run_op("transforms.combine", a, b), c)
    torch.testing.assert_close(all_three, steps)
    point = torch.tensor([[2.0, 3.0]])
    expected = apply(c, apply(b, apply(a, point)))
    torch.testing.assert_close(apply(all_three, point), expected, rtol=1e-5, atol=1e-5)


def test_each_frame_may_have_its_own_matrix():
    angles = PerSample([[0.0, 180.0]], layout="F")
    turned = run_case(OpCase("transforms.rotation", args={"angle": angles}, batch=1))
    assert turned.layouts == ["F**"]
    (frames,) = turned.samples()[0]
    moved = run_op("transforms.translation", frames, layout="F**", offset=[1.0, 2.0])
    assert moved.round().tolist() == [[[1, 0, 1], [0, 1, 2]], [[-1, 0, 1], [0, -1, 2]]]


@for_each(
    ("op", "args", "message"),
    [
        ("translation", {"offset": []}, "the transform has 0 dimensions, expected 1 to 6"),
        ("translation", {"offset": [1.0] * 7}, "the transform has 7 dimensions"),
        ("rotation", {"angle": 1.0, "axis": [1.0, 0.0]}, "`axis` has 2 values"),
        ("rotation", {"angle": 1.0, "axis": [0.0, 0.0, 0.0]}, "has no direction"),
        ("rotation", {"angle": 1.0, "center": [1.0, 2.0, 3.0]}, "`center` has 3 values"),
        ("scale", {"scale": 2.0, "ndim": 7}, "the transform has 7 dimensions"),
        ("scale", {"scale": [1.0, 2.0], "center": [1.0, 2.0, 3.0]}, "`center` has 3 values"),
        ("shear", {"shear": [1.0, 2.0, 3.0]}, "`shear` has 3 values"),
        ("shear", {}, "`shear` excludes `angles`: give one of them"),
        ("shear", {"shear": [1.0, 2.0], "angles": [1.0, 2.0]}, "`shear` excludes `angles`"),
        ("shear", {"angles": [91.0, 0.0]}, "`angles` has 91"),
        (
            "crop",
            {"from_start": [1.0, 2.0], "to_end": [1.0, 2.0, 3.0]},
            "`from_start` has 2 values",
        ),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(op, args, message):
    with pytest.raises(ValueError, match=message):
        make(op, **args)


def test_wrong_matrices_are_errors():
    with pytest.raises(ValueError, match=r"input `matrix` has shape \[3, 3\]"):
        run_op("transforms.translation", torch.eye(3), offset=[1.0, 2.0])
    with pytest.raises(ValueError, match="a transform of 2 dimensions, and the arguments one of 3"):
        run_op("transforms.translation", matrix(2, 1), offset=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"input 1 has shape \[3, 4\], and input 0 has \[2, 3\]"):
        run_op("transforms.combine", matrix(2, 1), matrix(3, 1))


def test_cases_have_no_nan():
    for case in CASES:
        for sample in run_case(case).samples()[0]:
            assert not sample.isnan().any() or "from_start" in case.args
