# SPDX-License-Identifier: Apache-2.0
"""fn.affine and fn.perspective; tests/transforms compares them with real torchvision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_op

from torchdali import types

OPERATORS = ["affine", "perspective"]
NOT_IN_DALI = "DALI has no such operator"
LINEAR = types.INTERP_LINEAR
CASES = [
    OpCase(op, layout, shape, args, dtype=dtype, no_parity=NOT_IN_DALI)
    for op, args in [
        ("affine", {"angle": 30.0, "translate": [3.0, -2.0], "shear": [5.0, 7.0], "scale": 1.2}),
        ("affine", {"rotation": PerSample([20.0, 90.0]), "expand": True, "interp_type": LINEAR}),
        ("affine", {"rotation": 20.0, "center": [1.0, 2.0], "fill_value": [9.0],
                    "apply": PerSample([True, False])}),
        ("perspective", {"moves": PerSample([[0.1, 0.9, 0.5, 0.0, 0.3, 0.4, 0.8, 0.2]]),
                         "interp_type": LINEAR, "fill_value": [3.0]}),
        ("perspective", {"corners": [1.0, 2.0, 9.0, 0.0, 10.0, 7.0, 0.0, 6.0]}),
    ]
    for layout, shape, dtype in [
        ("HWC", [(9, 12, 3), (30, 300, 1)], torch.uint8),
        ("CHW", (3, 9, 12), torch.float32),
    ]
]  # fmt: skip
CASES += [
    OpCase(op, "HWC", (9, 12, 3), {**args, "arithmetic": "pillow"}, no_parity=NOT_IN_DALI)
    for op, args in [
        ("affine", {"angle": 30.0, "interp_type": LINEAR}),
        ("affine", {"scale": 0.7}),
        ("affine", {"rotation": 33.0, "expand": True}),
        ("perspective", {"moves": [0.5] * 8, "distortion": 1.0}),
    ]
]
CASES += [
    OpCase("affine", "FHWC", (2, 9, 12, 3), {"angle": 30.0, "arithmetic": "pillow"},
           no_parity=NOT_IN_DALI),
    OpCase("perspective", "FCHW", (3, 1, 9, 12), {"moves": [0.5] * 8}, no_parity=NOT_IN_DALI),
]  # fmt: skip
CASES += [OpCase("affine", "HWC", (0, 4, 3), {"angle": 9.0}, no_parity=NOT_IN_DALI)]


@for_each("arithmetic", ["torch", "pillow"])
@for_each("filter_type", [types.INTERP_NN, LINEAR])
def test_quarters_of_a_turn_are_exact(arithmetic, filter_type):
    x = random_tensor((8, 13, 3), torch.uint8, 1)
    for turns in range(4):
        made = run_op("affine", x, layout="HWC", rotation=90.0 * turns, expand=True,
                      arithmetic=arithmetic, interp_type=filter_type)  # fmt: skip
        assert np.array_equal(made.numpy(), np.rot90(x.numpy(), turns))


@for_each("arithmetic", ["torch", "pillow"])
@for_each("filter_type", [types.INTERP_NN, LINEAR])
@for_each("move", [(2, 3), (-4, 0), (0, 20), (30, 1)])
def test_moves_by_pixels(arithmetic, filter_type, move):
    x = random_tensor((8, 13, 3), torch.uint8, 1)
    dx, dy = move
    made = run_op("affine", x, layout="HWC", translate=[float(dx), float(dy)], fill_value=[5.0],
                  arithmetic=arithmetic, interp_type=filter_type)  # fmt: skip
    want = np.full((8 + 60, 13 + 60, 3), 5, np.uint8)
    want[30 + dy : 38 + dy, 30 + dx : 43 + dx] = x
    assert np.array_equal(made.numpy(), want[30:38, 30:43])


@for_each("arithmetic", ["torch", "pillow"])
def test_linear_interpolation_of_a_ramp(arithmetic):
    ys, xs = np.mgrid[:40, :50].astype(float)
    x = torch.from_numpy((3 * xs + 2 * ys).astype(np.uint8))[..., None]
    made = run_op("affine", x, layout="HWC", angle=25.0, scale=2.0, interp_type=LINEAR,
                  arithmetic=arithmetic)[..., 0].numpy()  # fmt: skip
    t = np.radians(25)
    u, v = xs + 0.5 - 25, ys + 0.5 - 20
    at_x = (np.cos(t) * u + np.sin(t) * v) / 2 + 24.5
    at_y = (-np.sin(t) * u + np.cos(t) * v) / 2 + 19.5
    inside = (at_x > 0) & (at_x < 49) & (at_y > 0) & (at_y < 39)
    assert np.abs(made - (3 * at_x + 2 * at_y))[inside].max() <= 1.01
    assert inside.sum() > 1000


def test_corners_move_to_their_places():
    x = random_tensor((21, 31, 1), torch.uint8, 2)
    corners = [2, 3, 27, 1, 30, 20, 4, 17]
    made = run_op("perspective", x, layout="HWC", corners=[float(v) for v in corners])
    for (column, row), (source_x, source_y) in zip(
        np.reshape(corners, (4, 2)), [(0, 0), (30, 0), (30, 20), (0, 20)], strict=True
    ):
        # The map is between corners of pixels, and is read at centers.
        near = x[max(source_y - 2, 0) : source_y + 3, max(source_x - 2, 0) : source_x + 3]
        assert made[row, column].item() in [*near.flatten().tolist(), 0]
    same = run_op("perspective", x, layout="HWC", corners=[0, 0, 30, 0, 30, 20, 0, 20])
    assert torch.equal(same, x)
    assert torch.equal(run_op("perspective", x, layout="HWC", moves=[0.5] * 8, distortion=0.0), x)


@pytest.mark.parametrize(
    ("op", "args", "message"),
    [
        ("affine", {"rotation": 1.0, "angle": 2.0}, "`rotation` excludes `angle`"),
        ("affine", {"expand": True}, "`expand` is for `rotation`"),
        ("affine", {"scale": 0.0}, "`scale` is 0, expected a number above 0"),
        ("affine", {"shear": [1.0]}, "`shear` has 1 values, expected 2"),
        ("affine", {"fill_value": [1.0, 2.0]}, "`fill_value` has 2 values, expected 1 or 3"),
        ("perspective", {}, "takes either `corners` or `moves`"),
        ("perspective", {"moves": [1.0] * 8}, "`moves` has 1, expected at least 0 and less"),
        ("perspective", {"corners": [1.0] * 8}, "`corners` are on one line"),
        ("perspective", {"moves": [0.0] * 8, "distortion": 2.0}, "`distortion` is 2"),
    ],
)
def test_wrong_arguments(op, args, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        run_op(op, torch.zeros(4, 4, 3, dtype=torch.uint8), layout="HWC", **args)
