# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.warp_perspective: images and sequences under perspective maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp, random_tensor
from helpers.ops import Input, OpCase, PerSample, run_batches, run_op
from helpers.warping import grid, sample_at

from torchdali import types

NAME = "experimental.warp_perspective"
MATRIX = [0.91, 0.23, -1.31, -0.15, 1.12, 0.77, 0.0013, -0.0021, 1.01]
OTHER = [0.7, -0.3, 3.1, 0.2, 0.8, -0.4, 0.004, 0.001, 0.9]
IDENTITY = [1.0, 0, 0, 0, 1, 0, 0, 0, 1]
MATRICES = [torch.tensor(m).reshape(3, 3) for m in (MATRIX, OTHER)]
BORDERS = {
    "constant": "constant",
    "replicate": "edge",
    "reflect": "symmetric",
    "reflect_101": "reflect",
    "wrap": "wrap",
}
SHAPES = {"HW": (12, 15), "HWC": (12, 15, 3), "CHW": (3, 12, 15)}


def case(layout: str = "HWC", shape=None, dtype=torch.uint8, more_inputs=(), **args) -> OpCase:
    if not more_inputs:
        args.setdefault("matrix", MATRIX)
    return OpCase(
        NAME,
        layout,
        shape or SHAPES[layout],
        args,
        dtype,
        more_inputs=more_inputs,
        no_parity="DALI 1.35 does not have it",
    )


INTERPOLATIONS = [types.INTERP_NN, types.INTERP_LINEAR, types.INTERP_CUBIC]
CASES = [case(layout, interp_type=i) for layout in SHAPES for i in INTERPOLATIONS]
CASES += [case(border_mode=mode) for mode in BORDERS]
CASES += [case(border_mode=mode, dtype=torch.float32) for mode in BORDERS]
CASES += [case(border_mode=mode, shape=(1, 1, 3), size=[4, 5]) for mode in BORDERS]
CASES += [
    case("FHWC", (2, 12, 15, 3), matrix=PerSample([torch.stack(MATRICES)], layout="F**")),
    case("FCHW", (2, 3, 12, 15), size=[5, 6]),
    case(matrix=PerSample(MATRICES), size=PerSample([[3.0, 4.0], [20.0, 30.0]])),
    case(more_inputs=(Input(lambda i: MATRICES[i % 2]),)),
    case(inverse_map=False),
    case(pixel_origin="center", border_mode="replicate"),
    case(fill_value=[1, 2.6, 300]),
    case("CHW", fill_value=[1, 2, 3]),
    case(fill_value=7.0, dtype=torch.int16),
    case(shape=[(12, 15, 1), (5, 300, 1)]),
    case(shape=(0, 5, 3), size=[2, 2]),
    case(matrix=[0.0] * 9, border_mode="wrap"),
    case(matrix=[float("nan")] * 9, border_mode="reflect"),
    case(matrix=[1e30, 0, 0, 0, 1e30, 0, 0, 0, 1], border_mode="reflect_101"),
]


def positions(matrix: list[float], size: tuple[int, int], center: bool) -> np.ndarray:
    at = grid(size) - (0.5 if center else 0.0)
    at = np.concatenate([at, np.ones((*size, 1))], axis=-1) @ np.reshape(matrix, (3, 3)).T
    return at[..., :2] / at[..., 2:] + (0.5 if center else 0.0)


@for_each("border", BORDERS)
@for_each("linear", [True, False])
@for_each("origin", ["corner", "center"])
@for_each("dtype", [torch.uint8, torch.float32])
def test_matches_reference(border, linear, origin, dtype):
    x = random_tensor((20, 31, 3), dtype, 1)
    actual = run_op(
        NAME,
        x,
        layout="HWC",
        matrix=MATRIX,
        size=[25, 40],
        border_mode=border,
        pixel_origin=origin,
        interp_type=types.INTERP_LINEAR if linear else types.INTERP_NN,
    )
    at = positions(MATRIX, (25, 40), origin == "center")
    pad = 19  # covers all positions
    padded = np.pad(x.numpy(), [(pad, pad), (pad, pad), (0, 0)], BORDERS[border])
    expected = sample_at(torch.from_numpy(padded), at + pad, linear=linear)
    difference = np.abs(actual.double().numpy() - expected)
    assert difference.max() <= (0 if not linear else 0.56 if dtype == torch.uint8 else 1e-2)


@for_each(
    "matrix", [np.reshape(MATRIX, (3, 3)), torch.tensor(MATRIX).view(3, 3), MATRICES[0].tolist()]
)
def test_a_matrix_may_be_an_array_or_a_nested_list(matrix):
    x = random_tensor((12, 15, 3), torch.uint8, 1)
    actual = run_op(NAME, x, layout="HWC", matrix=matrix)
    assert torch.equal(actual, run_op(NAME, x, layout="HWC", matrix=MATRIX))


@for_each("interp", [types.INTERP_CUBIC, types.INTERP_LANCZOS3])
@for_each("dtype", [torch.uint8, torch.float32])
def test_wide_filters_equal_those_of_remap(interp, dtype):
    x = random_tensor((20, 31, 3), dtype, 1)
    at = torch.from_numpy(positions(MATRIX, (20, 31), center=False)).float()
    map_x, map_y = at[..., 0].contiguous(), at[..., 1].contiguous()
    sources = {"x": ("HWC", [[x]]), "mx": ("", [[map_x]]), "my": ("", [[map_y]])}
    remapped = run_batches("experimental.remap", sources, 3, {"interp": interp}, batch_sizes=[1])
    expected = remapped.batches[0][0][0]
    actual = run_op(NAME, x, layout="HWC", matrix=MATRIX, interp_type=interp)
    difference = (actual.double() - expected.double()).abs()
    assert difference.max() <= (1 if dtype == torch.uint8 else 0.05)


@pytest.mark.parametrize("border", BORDERS)
def test_the_identity_returns_the_image(border):
    x = ramp((9, 12, 3)).to(torch.uint8)
    assert torch.equal(run_op(NAME, x, layout="HWC", matrix=IDENTITY, border_mode=border), x)


def test_planar_and_interleaved_images_give_the_same():
    x = random_tensor((12, 15, 3), torch.uint8, 1)
    pixels = run_op(NAME, x, layout="HWC", matrix=MATRIX, fill_value=[1, 2, 3])
    planes = run_op(
        NAME, x.permute(2, 0, 1).contiguous(), layout="CHW", matrix=MATRIX, fill_value=[1, 2, 3]
    )
    assert torch.equal(planes.permute(1, 2, 0), pixels)


def test_the_inverse_map_restores_the_image():
    matrix = np.linalg.inv(np.reshape(MATRIX, (3, 3))).flatten().tolist()
    x = random_tensor((12, 15, 3), torch.uint8, 1)
    inverse = run_op(NAME, x, layout="HWC", matrix=matrix, inverse_map=False).int()
    assert (inverse - run_op(NAME, x, layout="HWC", matrix=MATRIX).int()).abs().max() <= 1


@for_each(
    ("args", "message"),
    [
        ({}, "`matrix` is missing"),
        ({"matrix": [1.0, 0, 0]}, r"the matrix has shape \[3\], expected \[3, 3\]"),
        ({"matrix": [0.0] * 9, "inverse_map": False}, "has no inverse"),
        ({"matrix": IDENTITY, "border_mode": "mirror"}, '`border_mode` is "mirror"'),
        ({"matrix": IDENTITY, "pixel_origin": "middle"}, '`pixel_origin` is "middle"'),
        ({"matrix": IDENTITY, "fill_value": [1, 2]}, "`fill_value` has 2 values"),
        ({"matrix": IDENTITY, "interp_type": types.INTERP_GAUSSIAN}, "is INTERP_GAUSSIAN"),
        ({"matrix": np.eye(2)}, r"the matrix has shape \[2, 2\], expected \[3, 3\]"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op(NAME, torch.zeros(9, 12, 3, dtype=torch.uint8), layout="HWC", **args)
    assert "fn.experimental.warp_perspective: " in str(caught.value)
