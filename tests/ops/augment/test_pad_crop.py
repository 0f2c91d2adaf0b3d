# SPDX-License-Identifier: Apache-2.0
"""fn.pad_crop: pads images, and cuts out a window."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_op

OPERATORS = ["pad_crop"]
NOT_IN_DALI = "DALI has no such operator"
MODES = ["constant", "edge", "reflect", "symmetric"]
CASES = [
    OpCase("pad_crop", layout, shape, {"mode": mode, **args}, dtype=dtype, no_parity=NOT_IN_DALI)
    for mode, layout, shape, dtype in [
        ("constant", "HWC", [(5, 7, 3), (4, 9, 3)], torch.uint8),
        ("edge", "CHW", (2, 5, 7), torch.float32),
        ("reflect", "HW", (5, 7), torch.int16),
        ("symmetric", "HWC", (1, 1, 4), torch.float64),
    ]
    for args in [
        {"padding": [1, 2, 3, 4]},
        {"padding": 20},
        {"padding": PerSample([[1, 2], [0, 3]]), "size": [4, 6], "position": [0.4, 0.9]},
        {"size": PerSample([[12, 3], [2, 30]]), "pad_if_needed": True},
    ]
    if "size" not in args or layout != "HWC" or mode == "constant" or "pad_if_needed" in args
]
CASES += [
    OpCase("pad_crop", "HWC", (0, 3, 1), {"padding": 2, "fill_value": [7.0]}, no_parity=NOT_IN_DALI)
]


@for_each("mode", MODES)
@for_each("layout", ["HWC", "CHW", "HW"])
@for_each("padding", [[1, 2, 3, 4], [5, 0], [13], [0, 0, 0, 40]])
def test_pads_as_numpy_does(mode, layout, padding):
    shape = {"HWC": (5, 7, 3), "CHW": (3, 5, 7), "HW": (5, 7)}[layout]
    x = random_tensor(shape, torch.uint8, 3)
    left, top, right, bottom = (padding * 4)[:4]
    axes = {"H": (top, bottom), "W": (left, right), "C": (0, 0)}
    if mode == "constant":
        want = np.pad(x.numpy(), [axes[a] for a in layout], constant_values=9)
    else:
        want = np.pad(x.numpy(), [axes[a] for a in layout], mode=mode)
    made = run_op("pad_crop", x, layout=layout, padding=padding, mode=mode, fill_value=[9.0])
    assert np.array_equal(made.numpy(), want)


def test_windows():
    x = random_tensor((5, 7, 3), torch.uint8, 3)
    padded = np.pad(x.numpy(), [(2, 2), (1, 1), (0, 0)])
    seen = set()
    for y in np.arange(0, 1, 0.1):
        made = run_op("pad_crop", x, layout="HWC", padding=[1, 2], size=[4, 9], position=[y, 0.99])
        top = int(y * 6)
        seen.add(top)
        assert np.array_equal(made.numpy(), padded[top : top + 4])
    assert seen == set(range(6))


def test_pads_where_needed():
    x = random_tensor((5, 7, 3), torch.uint8, 3)
    made = run_op("pad_crop", x, layout="HWC", size=[8, 3], pad_if_needed=True, position=[0.99, 0])
    padded = np.pad(x.numpy(), [(3, 3), (0, 0), (0, 0)])
    assert np.array_equal(made.numpy(), padded[3:11, :3])


def test_a_value_for_each_channel():
    x = random_tensor((2, 1, 1), torch.uint8, 3)
    made = run_op("pad_crop", x, layout="CHW", padding=1, fill_value=[4.0, 300.0])
    assert made[:, 0, 0].tolist() == [4, 255]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"size": [6, 2]}, "`size` has 6, and the padded image has 5 rows"),
        ({"size": [3]}, "`size` has 1 values"),
        ({"padding": [1, 2, 3]}, "`padding` has 3 values"),
        ({"padding": -1}, "`padding` has -1"),
        ({"position": [1.0, 0.0]}, "`position` has 1"),
        ({"mode": "wrap"}, '`mode` is "wrap"'),
        ({"fill_value": [1.0, 2.0]}, "`fill_value` has 2 values, expected 1 or 3"),
    ],
)
def test_wrong_arguments(args, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        run_op("pad_crop", torch.zeros(5, 4, 3, dtype=torch.uint8), layout="HWC", **args)
