# SPDX-License-Identifier: Apache-2.0
"""fn.spec_augment: masks random ranges of time and of frequency."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.distributions import fits
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali.errors import LayoutError

OP = "spec_augment"
SMALL = {"freq_width": 6, "time_width": 9}


def case(layout: str, shapes: Any, args: dict[str, Any] | None = None) -> OpCase:
    shapes = shapes if isinstance(shapes, list) else [shapes]

    def make(index: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(index)
        return torch.rand(shapes[index % len(shapes)], generator=generator) + 1

    return OpCase(OP, layout, None, args or {}, make=make, no_parity="DALI has no such operator")


CASES = [
    case("ft", (80, 300)),
    case("tf", (70, 20), SMALL),
    case("", (20, 70), SMALL),
    case("ft", (20, 70), {**SMALL, "freq_masks": 5, "time_masks": 9, "value": -3.5}),
    case("ft", (20, 70), {**SMALL, "fill_mean": True}),
    case("tf", (900, 40), {**SMALL, "fill_mean": True}),
    case("ft", (20, 70), {"freq_masks": 0, "time_masks": 0}),
    case("ft", (20, 70), {"freq_width": 0, "time_ratio": 0.0}),
    case("ft", (5, 7), {"freq_masks": 0}),
    case("ft", (0, 7)),
    case("ft", (5, 0), {"fill_mean": True}),
    case(
        "ft",
        [(20, 70), (8, 9)],
        {
            "freq_masks": PerSample([1, 2]),
            "freq_width": PerSample([3, 9]),
            "time_masks": PerSample([3, 0]),
            "time_width": PerSample([5, 6]),
            "time_ratio": PerSample([0.1, 1.0]),
            "value": PerSample([1.5, -2.0]),
        },
    ),
]


def ranges(masked: np.ndarray) -> list[tuple[int, int]]:
    """Returns the ranges in which a vector is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], masked, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


@for_each("case", CASES)
def test_only_ranges_of_rows_and_columns_change(case):
    given = {n: a if isinstance(a, PerSample) else PerSample([a]) for n, a in case.args.items()}
    for index, out in enumerate(run_case(case).samples()[0]):
        args = {n: a.at(index).item() for n, a in given.items()}
        x = case.input(index).numpy()
        y = out.numpy()
        value = args.get("value", 0.0)
        if args.get("fill_mean"):
            value = np.float32(x.mean(dtype=np.float64)) if x.size else 0
        masked = y != x
        assert (y[masked] == np.float32(value)).all()
        if masked.all():
            continue
        rows, columns = masked.all(1), masked.all(0)
        assert (masked == (rows[:, None] | columns[None, :])).all()
        if case.layout == "tf":
            rows, columns = columns, rows
        frames = columns.size
        width = min(args.get("time_width", 100), int(args.get("time_ratio", 1.0) * frames))
        most = args.get("time_masks", 2)
        assert len(ranges(columns)) <= most
        assert columns.sum() <= most * width
        most = args.get("freq_masks", 2)
        assert len(ranges(rows)) <= most
        assert rows.sum() <= most * args.get("freq_width", 27)


def one_mask_each(**args) -> list[tuple[int, int]]:
    """Masks 4000 samples of 12 frequencies and 30 frames; returns the range of each or (0, 0)."""
    samples = [torch.ones(12, 30)] * 4000
    args = {"freq_masks": 0, "time_masks": 0} | args
    axis = 0 if args["time_masks"] else 1
    found = [ranges((y == 0).all(axis).numpy()) for y in run_op(OP, samples, layout="ft", **args)]
    return [f[0] if f else (0, 0) for f in found]


@for_each(
    ("args", "width", "extent"),
    [
        ({"time_masks": 1, "time_width": 9}, 9, 30),
        ({"time_masks": 1, "time_width": 50, "time_ratio": 0.25}, 7, 30),
        ({"freq_masks": 1, "freq_width": 4}, 4, 12),
        ({"freq_masks": 1, "freq_width": 27}, 12, 12),
    ],
)
def test_widths_and_positions_are_uniform(args, width, extent):
    masks = np.array(one_mask_each(**args))
    widths = masks[:, 1] - masks[:, 0]
    assert fits(np.bincount(widths, minlength=width + 1), np.ones(width + 1))
    for w in (1, width // 2, width):
        begins = masks[widths == w, 0]
        assert fits(np.bincount(begins, minlength=extent - w + 1), np.ones(extent - w + 1))


def test_masks_depend_on_seed_and_sample_only():
    x = torch.ones(40, 200)
    one = run_op(OP, [x] * 8, layout="ft", seed=7, num_threads=4)
    assert len({tuple(y.flatten().tolist()) for y in one}) == 8
    again = run_op(OP, [x + 1] * 8, layout="ft", seed=7)
    assert all(torch.equal(a == 0, b == 0) for a, b in zip(one, again, strict=True))
    turned = run_op(OP, [x.T.contiguous()] * 8, layout="tf", seed=7)
    assert all(torch.equal(a, b.T) for a, b in zip(one, turned, strict=True))


@for_each(
    ("args", "message"),
    [
        ({"freq_masks": -1}, "`freq_masks` is -1, expected 0 to 255"),
        ({"time_masks": 300}, "`time_masks` is 300, expected 0 to 255"),
        ({"time_width": -5}, "`time_width` is -5, expected 0 to"),
        ({"time_ratio": 1.5}, "`time_ratio` is 1.5, expected 0 to 1"),
        ({"time_ratio": math.nan}, "`time_ratio` is nan"),
        ({"value": -math.inf}, "`value` is -inf, expected a finite number"),
        ({"value": 1.0, "fill_mean": True}, "exclude each other"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, torch.ones(4, 5), layout="ft", **args)


def test_unsuitable_inputs_are_errors():
    with pytest.raises(TypeError, match="input `spectrogram` is uint8, expected float32"):
        run_op(OP, torch.ones(4, 5, dtype=torch.uint8), layout="ft")
    with pytest.raises(LayoutError, match='has layout "HW", expected one of "ft", "tf"'):
        run_op(OP, torch.ones(4, 5), layout="HW")
