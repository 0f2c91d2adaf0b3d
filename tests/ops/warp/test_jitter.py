# SPDX-License-Identifier: Apache-2.0
"""fn.jitter: moves pixels at random."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.inputs import ramp, random_tensor
from helpers.ops import OpCase, PerSample, run_op

from torchdali import types

NO_PARITY = "DALI has it on the GPU only"


def case(shape=(12, 15, 3), dtype=torch.uint8, layout="HWC", **args) -> OpCase:
    return OpCase("jitter", layout, shape, args, dtype, no_parity=NO_PARITY)


CASES = [
    case(),
    case(layout=""),
    case(nDegree=5, fill_value=9.0),
    case(nDegree=0),
    case(nDegree=1 << 30),
    case(interp_type=types.INTERP_LINEAR, dtype=torch.float32, fill_value=2.5),
    case(mask=PerSample([0, 1, 2])),
    case(mask=0),
    case(seed=7),
    case(shape=[(9, 200, 1), (4, 5, 4)]),
    case(shape=(0, 5, 3)),
]


def shifts(degree: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the shifts of pixels along y and x, without those from outside."""
    x = ramp((80, 90, 1)).to(torch.int32) + 1
    y = run_op("jitter", x, layout="HWC", nDegree=degree, pipeline_seed=seed)[..., 0]
    inside = slice(degree, -degree or None)
    source = y[inside, inside] - 1
    rows, columns = torch.meshgrid(torch.arange(80), torch.arange(90), indexing="ij")
    return (source // 90 - rows[inside, inside], source % 90 - columns[inside, inside])


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
def test_shifts_are_uniform(degree):
    radius = degree // 2
    for along in shifts(degree):
        values, counts = along.unique(return_counts=True)
        assert values.tolist() == list(range(-radius, radius + 1))
        expected = along.numel() / (2 * radius + 1)
        # Five standard deviations of a binomial count.
        assert (counts - expected).abs().max() <= 5 * np.sqrt(expected)
        assert abs(along.double().mean()) < 0.1


def test_shifts_along_x_and_y_are_independent():
    down, right = (along.double().flatten() for along in shifts(6))
    assert abs(np.corrcoef(down, right)[0, 1]) < 0.05
    assert abs(np.corrcoef(down[1:], down[:-1])[0, 1]) < 0.05


def test_results_depend_on_the_seed():
    first, again, other = (torch.stack(shifts(4, seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_values_of_a_seed_equal_the_golden_values():
    down, right = shifts(4)
    assert down[0, :8].tolist() == [-1, 2, 2, 0, -1, 0, 2, 0]
    assert right[0, :8].tolist() == [0, 0, 0, 2, -1, 2, 2, 1]


def test_pixels_from_outside_are_filled():
    x = torch.full((30, 30, 1), 5, dtype=torch.uint8)
    y = run_op("jitter", x, layout="HWC", nDegree=4, fill_value=77.0)
    assert set(y.unique().tolist()) == {5, 77}
    assert (y[2:-2, 2:-2] == 5).all()


def test_a_mask_of_0_returns_the_image():
    x = random_tensor((13, 17, 3), torch.uint8, 1)
    assert torch.equal(run_op("jitter", x, layout="HWC", mask=0), x)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"nDegree": -1}, "`nDegree` is -1, expected 0 to"),
        ({"interp_type": types.INTERP_CUBIC}, "`interp_type` is number 2"),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        run_op("jitter", torch.zeros(3, 4, 1), layout="HWC", **args)
    assert "fn.jitter: " in str(caught.value)
