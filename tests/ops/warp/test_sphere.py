# SPDX-License-Identifier: Apache-2.0
"""fn.sphere: shows images on a sphere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_op
from helpers.warping import grid, sample_at

from torchdali import types

NEAREST, LINEAR = types.INTERP_NN, types.INTERP_LINEAR


def case(shape=(12, 15, 3), dtype=torch.uint8, no_parity="", layout="HWC", **args) -> OpCase:
    algorithm = "warp" if args.get("interp_type") == LINEAR else "exact"
    return OpCase("sphere", layout, shape, args, dtype, algorithm=algorithm, no_parity=no_parity)


CASES = [case(interp_type=i, fill_value=f) for i in (NEAREST, LINEAR) for f in (0.0, 200.0)]
CASES += [case(dtype=torch.float32, interp_type=i, fill_value=2.5) for i in (NEAREST, LINEAR)]
CASES += [case(shape=s) for s in [(9, 13, 3), (14, 9, 1), (7, 7, 5), (1, 1, 3), (1, 300, 2)]]
CASES += [
    case(),
    case(layout=""),
    case(mask=PerSample([0, 1, 2])),
    case(shape=[(9, 13, 3), (4, 5, 1)], fill_value=7.0),
    case(mask=0, no_parity="DALI 1.35 overlooks a constant mask"),
    case(shape=(0, 5, 3), no_parity="not asked of DALI"),
    case(fill_value=300.0, no_parity="wraps in DALI"),
]
CASES += [
    case(dtype=dtype, no_parity="DALI refuses the type")
    for dtype in (torch.int16, torch.float64, torch.bool)
]


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("shape", [(20, 31, 3), (31, 20, 1)])
def test_matches_reference(linear, shape):
    x = random_tensor(shape, torch.float32, 1)
    actual = run_op(
        "sphere", x, layout="HWC", interp_type=LINEAR if linear else NEAREST, fill_value=7.0
    )
    height, width = shape[:2]
    from_middle = grid((height, width)) - [width / 2, height / 2]
    distance = np.linalg.norm(from_middle, axis=-1, keepdims=True) / max(width // 2, height // 2)
    positions = from_middle * distance + [width / 2, height / 2]
    expected = sample_at(x, positions, linear=linear, fill=7.0)
    np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-2)


def test_mirroring_the_input_mirrors_the_result():
    x = random_tensor((13, 17, 3), torch.uint8, 1)
    mirrored = run_op("sphere", x.flip(1).contiguous(), layout="HWC", interp_type=LINEAR)
    difference = (
        mirrored.flip(1).int() - run_op("sphere", x, layout="HWC", interp_type=LINEAR).int()
    )
    assert difference.abs().max() <= 1


def test_a_mask_of_0_returns_the_image():
    x = random_tensor((13, 17, 3), torch.uint8, 1)
    assert torch.equal(run_op("sphere", x, layout="HWC", mask=0), x)


def test_cubic_interpolation_is_an_error():
    with pytest.raises(ValueError, match=r"fn\.sphere: `interp_type` is number 2"):
        run_op("sphere", torch.zeros(3, 4, 1), layout="HWC", interp_type=types.INTERP_CUBIC)
