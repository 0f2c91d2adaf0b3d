# SPDX-License-Identifier: Apache-2.0
"""fn.water: shows images through waves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_op
from helpers.warping import sample_at

from torchdali import types

NEAREST, LINEAR = types.INTERP_NN, types.INTERP_LINEAR
WAVE = {
    "ampl_x": 2.1,
    "ampl_y": 3.3,
    "freq_x": 0.31,
    "freq_y": 0.23,
    "phase_x": 0.4,
    "phase_y": 0.7,
}


def case(shape=(40, 35, 3), dtype=torch.uint8, no_parity="", layout="HWC", **args) -> OpCase:
    algorithm = "warp" if args.get("interp_type") == LINEAR else "exact"
    return OpCase("water", layout, shape, args, dtype, algorithm=algorithm, no_parity=no_parity)


CASES = [case(interp_type=i, fill_value=f, **WAVE) for i in (NEAREST, LINEAR) for f in (0.0, 9.0)]
CASES += [
    case(dtype=torch.float32, interp_type=i, fill_value=2.5, **WAVE) for i in (NEAREST, LINEAR)
]
CASES += [
    case(),
    case(layout="", ampl_x=1.5, ampl_y=0.0),
    case(shape=(1, 300, 2), ampl_y=0.3),
    case(shape=[(40, 35, 3), (1, 1, 1), (20, 70, 4)], ampl_x=1.3, ampl_y=1.7),
    case(mask=PerSample([0, 1, 2]), ampl_x=3.2),
    case(mask=0, no_parity="DALI 1.35 overlooks a constant mask"),
    case(shape=(0, 5, 3), no_parity="not asked of DALI"),
    case(dtype=torch.int32, no_parity="DALI refuses the type"),
    case(ampl_x=float("nan"), ampl_y=1e30, no_parity="undefined in DALI"),
]


@pytest.mark.parametrize("linear", [True, False])
def test_matches_reference(linear):
    x = random_tensor((40, 35, 3), torch.float32, 1)
    interp = LINEAR if linear else NEAREST
    actual = run_op("water", x, layout="HWC", interp_type=interp, fill_value=7.0, **WAVE)
    rows, columns = np.meshgrid(np.arange(40.0), np.arange(35.0), indexing="ij")
    at_x = columns + WAVE["ampl_x"] * np.sin(WAVE["freq_x"] * rows + WAVE["phase_x"])
    at_y = rows + WAVE["ampl_y"] * np.cos(WAVE["freq_y"] * columns + WAVE["phase_y"])
    expected = sample_at(x, np.stack([at_x, at_y], axis=-1), linear=linear, fill=7.0)
    np.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=1e-2)


def test_amplitude_zero_returns_the_image():
    x = random_tensor((13, 17, 3), torch.uint8, 1)
    assert torch.equal(run_op("water", x, layout="HWC", ampl_x=0.0, ampl_y=0.0), x)


def test_a_mask_of_0_returns_the_image():
    x = random_tensor((13, 17, 3), torch.uint8, 1)
    assert torch.equal(run_op("water", x, layout="HWC", mask=0), x)


def test_cubic_interpolation_is_an_error():
    with pytest.raises(ValueError, match=r"fn\.water: `interp_type` is number 2"):
        run_op("water", torch.zeros(3, 4, 1), layout="HWC", interp_type=types.INTERP_CUBIC)
