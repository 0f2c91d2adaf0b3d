# SPDX-License-Identifier: Apache-2.0
"""fn.rotate: rotates images, volumes and sequences about their center."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op
from helpers.warping import grid, sample_at
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

SHAPE = (20, 31, 3)
ANGLES = [0.0, 17.0, 45.0, 60.0, 89.9, 90.0, 135.0, 180.0, -30.0, 270.0, 730.0, 1e-5]
AXES = [[0.0, 0.0, 1.0], [1.0, 2.0, -1.0], [0.3, 0.0, 0.0], [-1.2, 0.77, -0.7]]
NEAREST = types.INTERP_NN


def case(layout: str = "HWC", shape=SHAPE, no_parity: str = "", dtype=torch.uint8, **args):
    exact = args.get("interp_type") == NEAREST
    return OpCase(
        "rotate",
        layout,
        shape,
        args,
        dtype,
        algorithm="exact" if exact else "warp",
        no_parity=no_parity,
    )


CASES = [case(angle=angle, fill_value=5.0) for angle in ANGLES]
CASES += [case(shape=(9, 12, 3), angle=a, interp_type=NEAREST) for a in (90.0, 180.0, 33.0)]
CASES += [
    case("DHWC", (5, 6, 7, 2), angle=angle, axis=axis, fill_value=5.0)
    for axis in AXES
    for angle in (10.0, 79.6, -200.0)
]
CASES += [
    # The sine and the cosine are equal, as floats.
    case("DHWC", (5, 6, 7, 1), angle=45.0, axis=[1.0, 0.0, 0.0]),
    case(angle=10.0, keep_size=True),
    case(angle=10.0, size=[9.5, 8], keep_size=True),
    case(angle=PerSample([10.0, -50.0, 200.0]), shape=[(9, 12, 1), (20, 7, 1)]),
    case(angle=20.0, size=PerSample([[4.0, 5.0], [6.0, 7.0]]), interp_type=NEAREST),
    case(angle=20.0, axis=[0.0, 0.0, 1.0]),
    case("FHWC", (3, 9, 12, 2), angle=33.0),
    case("FHWC", (3, 9, 12, 2), angle=PerSample([[10.0, 45.0, 80.0]], layout="F"), fill_value=1.0),
    case("FHWC", (3, 9, 12, 2), angle=PerSample([[10.0]], layout="F")),
    # The frames disagree about parity: half of them want an odd extent, and two of three.
    case("FHWC", (2, 1, 2, 3), angle=PerSample([[180.0, 239.6]], layout="F")),
    case("FHWC", (3, 5, 6, 1), angle=PerSample([[-236.5, -6.0, 85.0]], layout="F")),
    case("FHWC", (3, 9, 12, 2), angle=PerSample([[10.0, 45.0, 80.0]], layout="F"), size=[5, 6]),
    case(
        "FDHWC",
        (2, 4, 5, 6, 1),
        angle=PerSample([[10.0, 70.0]], layout="F"),
        axis=PerSample([torch.tensor(AXES[:2])], layout="F*"),
        fill_value=1.0,
    ),
    case("DHWC", (4, 5, 6, 1), angle=PerSample([30.0, 60.0]), axis=PerSample(AXES)),
    case("", (9, 12, 3), angle=5.0),
    case(angle=30.0, dtype=torch.float32, fill_value=0.5),
    case(angle=30.0, dtype=torch.float32, fill_value=-4.0).replace(
        args={"angle": 30.0, "dtype": types.UINT8, "fill_value": -4.0}
    ),
    case(shape=(0, 5, 3), angle=0.0, no_parity="DALI's canvas of an empty image is not empty"),
    case(shape=(7, 400, 3), angle=30.0, fill_value=0.0),
]


def turn(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s], [s, c]])


@pytest.mark.parametrize("degrees", [12.0, 100.0, -77.0])
def test_matches_reference(degrees):
    x = random_tensor((20, 31, 3), torch.float32, 1)
    actual = run_op("rotate", x, layout="HWC", angle=degrees, fill_value=7.0)
    height, width = actual.shape[:2]
    from_middle = grid((height, width)) - [width / 2, height / 2]
    expected = sample_at(x, from_middle @ turn(degrees).T + [31 / 2, 20 / 2], fill=7.0)
    np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-2)


@given(height=st.integers(1, 12), width=st.integers(1, 12), quarters=st.integers(-5, 5))
def test_quarter_turns_are_exact(height, width, quarters):
    x = ramp((height, width, 3)).to(torch.uint8)
    for interp in (types.INTERP_LINEAR, NEAREST):
        y = run_op("rotate", x, layout="HWC", angle=90.0 * quarters, interp_type=interp)
        assert torch.equal(y, torch.rot90(x, quarters, (0, 1)))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_quarter_turns_of_volumes_are_exact(axis):
    x = ramp((3, 4, 5, 1)).to(torch.uint8)
    vector = [float(i == axis) for i in range(3)]
    y = run_op("rotate", x, layout="DHWC", angle=90.0, axis=vector)
    # About x: from y to z and so on; axes of the array are z, y, x.
    plane = {0: (1, 0), 1: (0, 2), 2: (2, 1)}[axis]
    assert torch.equal(y, torch.rot90(x, 1, plane))


@given(
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    angle=st.floats(-720, 720, width=32),
)
def test_the_canvas_contains_the_corners(height, width, angle):
    x = torch.zeros(height, width, 1, dtype=torch.uint8)
    y = run_op("rotate", x, layout="HWC", angle=angle)
    c, s = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
    need = (c * height + s * width, c * width + s * height)
    for extent, least in zip(y.shape[:2], need, strict=True):
        assert least - 0.02 <= extent < least + 2.02


def test_frames_share_a_canvas():
    x = random_tensor((3, 9, 12, 1), torch.uint8, 1)
    angles = [10.0, 45.0, 80.0]
    one = case("FHWC", (3, 9, 12, 1), angle=PerSample([angles], layout="F"))
    (frames,) = run_case(one.replace(make=lambda _: x, batch=1)).samples()[0]
    # 15 pixels at most (45 degrees). Two frames turn columns to rows, of which there are 12.
    assert tuple(frames.shape[1:3]) == (16, 15)
    size = [float(e) for e in frames.shape[1:3]]
    for i, angle in enumerate(angles):
        expected = run_op("rotate", x[i], layout="HWC", angle=angle, size=size)
        assert torch.equal(frames[i], expected)


@for_each(
    ("layout", "args", "message"),
    [
        ("HWC", {"angle": float("nan")}, "`angle` is nan"),
        ("HWC", {"angle": float("inf")}, "`angle` is inf"),
        ("DHWC", {"angle": 3.0}, "`axis` is missing"),
        ("DHWC", {"angle": 3.0, "axis": [0.0, 0.0, 0.0]}, r"`axis` is \(0, 0, 0\)"),
        ("DHWC", {"angle": 3.0, "axis": [0.0, 1.0]}, "`axis` takes 3 values"),
        ("HWC", {"angle": torch.tensor([1.0, 2.0])}, "`angle` takes 1 value"),
        ("HWC", {"angle": 3.0, "size": [3.0, -4.0]}, "`size` has -4"),
        ("FHWC", {"angle": PerSample([[1.0, 2.0]], layout="F")}, "values for 2 frames, and the"),
        ("HWC", {"angle": 3.0, "interp_type": types.INTERP_LANCZOS3}, "`interp_type` is number 3"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(layout, args, message):
    shape = (3, 4, 5, 1)[-len(layout) :]
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op("rotate", torch.zeros(shape, dtype=torch.uint8), layout=layout, **args)
    assert "fn.rotate: " in str(caught.value)
