# SPDX-License-Identifier: Apache-2.0
"""fn.warp_affine: images, volumes and sequences under affine maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import Input, OpCase, PerSample, run_case, run_op
from helpers.warping import grid, sample_at
from hypothesis import given
from hypothesis import strategies as st

from torchdali import types

# No position is halfway between two pixels, where DALI rounds differently.
TURN = [0.9137, 0.2311, -1.3173, -0.1571, 1.1239, 0.7717]
BACK = [0.7, -0.3, 3.1, 0.2, 0.8, -0.4]
VOLUME = [0.9137, 0.1311, 0.0517, 0.5173, 0.0239, 1.1239, 0.1173, -0.5171, 0.2171, 0.0, 0.81, 0.31]
MATRICES = [torch.tensor(TURN).reshape(2, 3), torch.tensor(BACK).reshape(2, 3)]
IDENTITY = [1.0, 0, 0, 0, 1, 0]
NEAREST = types.INTERP_NN
SHAPE = (20, 31, 3)


def small_integers(dtype: torch.dtype, shape: tuple[int, ...] = SHAPE):
    return lambda i: (random_tensor(shape, torch.int16, i).long() // 200).to(dtype)


def case(layout: str = "HWC", shape=SHAPE, **args) -> OpCase:
    dtype = args.pop("input_dtype", torch.uint8)
    more = args.pop("more_inputs", ())
    no_parity = args.pop("no_parity", "")
    if not more:
        args.setdefault("matrix", VOLUME if "D" in layout else TURN)
    exact = args.get("interp_type") == NEAREST
    algorithm = "exact" if exact else "warp"
    return OpCase(
        "warp_affine",
        layout,
        shape,
        args,
        dtype,
        more_inputs=more,
        algorithm=algorithm,
        no_parity=no_parity,
    )


CASES = [
    case(layout, shape, interp_type=interp, **fill)
    for layout, shape in [
        ("HWC", SHAPE),
        ("FHWC", (2, 9, 14, 2)),
        ("DHWC", (5, 6, 7, 2)),
        ("FDHWC", (2, 5, 6, 7, 1)),
    ]
    for interp in (types.INTERP_LINEAR, NEAREST)
    for fill in ({}, {"fill_value": 12.5})
]
CASES += [case(shape=(20, 31, channels), fill_value=300.0) for channels in (1, 2, 4, 5, 70)]
CASES += [case(shape=(20, 31, c), fill_value=7.0, interp_type=NEAREST) for c in (1, 2, 5)]
CASES += [case(shape=s, size=[5.5, 6.4]) for s in [(1, 1, 3), (1, 9, 3), (9, 1, 3), (2, 2, 3)]]
CASES += [
    # More pixels than a block has.
    case(shape=(7, 300, 3), fill_value=9.0),
    case(shape=(7, 300, 3), fill_value=9.0, interp_type=NEAREST),
    case(shape=[(9, 12, 3), (20, 7, 3)]),
    case(shape=[(9, 12, 3), (20, 7, 3)], size=PerSample([[4.0, 5.0], [30.0, 6.0]])),
    case(size=PerSample([[4.6, 5.5]]), no_parity="DALI cuts off fractions of tensors"),
    case(inverse_map=False, fill_value=3.0),
    case("DHWC", (5, 6, 7, 2), inverse_map=False, size=[4, 5, 6]),
    case(matrix=PerSample(MATRICES), fill_value=1.0),
    case(more_inputs=(Input(lambda i: MATRICES[i % 2]),), size=[9, 9]),
    case("FHWC", (2, 9, 14, 3), matrix=PerSample([torch.stack(MATRICES)], layout="F**")),
    case("FHWC", (2, 9, 14, 3), more_inputs=(Input(lambda _: torch.stack(MATRICES), "F**"),)),
    case(output_dtype=types.FLOAT),
    case("", (9, 12, 3)),
    case("", (2, 9, 12, 3)),
    case(matrix=IDENTITY),
    case(matrix=[2.0, 0, 0, 0, 2.0, 0], interp_type=NEAREST, size=[5, 6]),
    case(matrix=[0.0] * 6),
    case(shape=(0, 5, 3)),
    case(shape=(4, 5, 0), no_parity="DALI crashes"),
    case(shape=(0, 5, 3), size=[3, 4], fill_value=5.0, no_parity="DALI crashes"),
    case(shape=(4, 5, 3000), size=[3, 2], no_parity="takes long in DALI"),
    case(matrix=[float("nan")] * 6, no_parity="undefined in DALI"),
    case(matrix=[float("inf"), 0.0, 0.0, 0.0, 1.0, 0.0], fill_value=3.0, no_parity="undefined"),
    case(matrix=[1e30, 0.0, 0.0, 0.0, 1.0, 0.0], no_parity="undefined in DALI"),
    case(matrix=PerSample([TURN, BACK]), no_parity="DALI wants [2, 3]"),
]
CASES += [
    case(input_dtype=torch.float32, dtype=to, fill_value=2.5)
    for to in (types.FLOAT, types.UINT8, types.INT16, types.INT32)
]
CASES += [case(dtype=types.FLOAT, interp_type=i) for i in (NEAREST, types.INTERP_LINEAR)]
CASES += [
    case(interp_type=NEAREST, input_dtype=dtype, fill_value=3.0)
    for dtype in (torch.int16, torch.int32, torch.float32)
]
CASES += [
    case(fill_value=3.0, dtype=to).replace(make=small_integers(dtype), dtype=dtype)
    for dtype, to in [(torch.int16, types.INT16), (torch.int32, types.FLOAT)]
]
CASES += [
    case(interp_type=interp, input_dtype=dtype, fill_value=3.0, no_parity="DALI refuses the type")
    for dtype in (torch.uint16, torch.int8, torch.float16, torch.float64, torch.bool, torch.int64)
    for interp in (types.INTERP_LINEAR, NEAREST)
]


@for_each("linear", [True, False])
@for_each("fill", [None, 12.0])
@for_each("dtype", [torch.uint8, torch.float32])
def test_matches_reference(linear, fill, dtype):
    x = random_tensor((30, 41, 3), dtype, 1)
    matrix = np.array(TURN, dtype=np.float64).reshape(2, 3)
    positions = grid((25, 50)) @ matrix[:, :2].T + matrix[:, 2]
    args = {} if fill is None else {"fill_value": fill}
    interp = types.INTERP_LINEAR if linear else NEAREST
    actual = run_op(
        "warp_affine", x, layout="HWC", matrix=TURN, size=[25, 50], interp_type=interp, **args
    )
    expected = sample_at(x, positions, linear=linear, fill=fill)
    difference = np.abs(actual.double().numpy() - expected)
    if not linear:
        assert difference.max() == 0
    elif dtype == torch.uint8:
        assert difference.max() <= 0.55  # rounded, from weights of 14 bits
    else:
        assert difference.max() <= 1e-2


def test_interpolated_bytes_are_not_darker_on_average():
    x = random_tensor((400, 500, 3), torch.uint8, 2) // 4 + 192
    matrix = np.array([0.9137, 0.0311, 9.3173, -0.0571, 0.9239, 29.7717]).reshape(2, 3)
    positions = grid((350, 400)) @ matrix[:, :2].T + matrix[:, 2]
    actual = run_op(
        "warp_affine",
        x,
        layout="HWC",
        matrix=matrix.ravel().tolist(),
        size=[350, 400],
        fill_value=0,
    )
    expected = sample_at(x, positions, linear=True, fill=0)
    bias = (actual.double().numpy() - expected).mean()
    assert abs(bias) < 0.004  # chance is 0.0005; weights that are cut off cost 0.026


@pytest.mark.parametrize("fill", [None, 12.0])
def test_a_volume_matches_the_reference(fill):
    x = random_tensor((5, 6, 7, 2), torch.float32, 1)
    matrix = np.array(VOLUME, dtype=np.float64).reshape(3, 4)
    positions = grid((6, 5, 9)) @ matrix[:, :3].T + matrix[:, 3]
    args = {} if fill is None else {"fill_value": fill}
    actual = run_op("warp_affine", x, layout="DHWC", matrix=VOLUME, size=[6, 5, 9], **args)
    expected = sample_at(x, positions, fill=fill)
    np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-2)


@given(
    height=st.integers(1, 9),
    width=st.integers(1, 200),
    channels=st.integers(1, 5),
    linear=st.booleans(),
)
def test_the_identity_returns_the_image(height, width, channels, linear):
    x = ramp((height, width, channels)).to(torch.uint8)
    interp = types.INTERP_LINEAR if linear else NEAREST
    y = run_op("warp_affine", x, layout="HWC", matrix=IDENTITY, interp_type=interp)
    assert torch.equal(x, y)


@given(dx=st.integers(-4, 4), dy=st.integers(-4, 4))
def test_translations_by_whole_pixels_are_exact(dx, dy):
    x = ramp((8, 9, 3)).to(torch.uint8)
    y = run_op("warp_affine", x, layout="HWC", matrix=[1.0, 0, dx, 0, 1, dy])
    rows = torch.arange(8).add(dy).clamp(0, 7)
    columns = torch.arange(9).add(dx).clamp(0, 8)
    assert torch.equal(y, x[rows][:, columns])


def test_a_constant_image_stays_constant():
    for value in (1, 127, 255):
        x = torch.full((40, 50, 3), value, dtype=torch.uint8)
        assert (run_op("warp_affine", x, layout="HWC", matrix=TURN) == value).all()


def test_the_matrix_may_be_an_argument_or_an_input():
    x = ramp((9, 12, 3)).to(torch.uint8)
    matrix = torch.tensor(TURN).reshape(2, 3)
    expected = run_op("warp_affine", x, layout="HWC", matrix=TURN)
    for given_matrix in (matrix, matrix.double(), matrix.flatten()):
        assert torch.equal(run_op("warp_affine", x, layout="HWC", matrix=given_matrix), expected)
    (as_input,) = run_case(
        OpCase(
            "warp_affine", "HWC", make=lambda _: x, more_inputs=(Input(lambda _: matrix),), batch=1
        )
    ).samples()
    assert torch.equal(as_input[0], expected)


@for_each(
    ("args", "message"),
    [
        ({}, "`matrix` is missing"),
        ({"matrix": [1.0, 0, 0, 0, 1]}, r"the matrix has shape \[5\], expected \[2, 3\]"),
        ({"matrix": torch.eye(3)}, r"the matrix has shape \[3, 3\], expected \[2, 3\]"),
        ({"matrix": [1.0, 2, 3, 2, 4, 5], "inverse_map": False}, "has no inverse"),
        ({"matrix": IDENTITY, "size": [4.0]}, "`size` has 1 values, expected 2"),
        ({"matrix": IDENTITY, "size": [0.0, 4.0]}, "`size` has 0, expected at least 1"),
        ({"matrix": IDENTITY, "size": [float("nan"), 4.0]}, "`size` has nan"),
        ({"matrix": IDENTITY, "size": [1e9, 1e9]}, "is too large"),
        ({"matrix": IDENTITY, "interp_type": types.INTERP_CUBIC}, "`interp_type` is number 2"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op("warp_affine", torch.zeros(9, 12, 3, dtype=torch.uint8), layout="HWC", **args)
    assert "fn.warp_affine: " in str(caught.value)


def test_repeating_the_border_of_an_empty_image_is_an_error():
    with pytest.raises(ValueError, match="the input is empty"):
        run_op("warp_affine", torch.zeros(0, 5, 3), layout="HWC", matrix=IDENTITY, size=[2, 2])


def test_two_matrices_are_an_error():
    with pytest.raises(ValueError, match="the matrix is given twice"):
        run_case(case(more_inputs=(Input(lambda i: MATRICES[i % 2]),), matrix=TURN))
