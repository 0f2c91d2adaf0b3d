# SPDX-License-Identifier: Apache-2.0
"""fn.resize: output sizes, filters, regions of interest, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op
from helpers.resizing import reference, region_and_size
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from torchdali import types

FILTERS = {
    "nn": types.INTERP_NN,
    "linear": types.INTERP_LINEAR,
    "cubic": types.INTERP_CUBIC,
    "lanczos3": types.INTERP_LANCZOS3,
    "triangular": types.INTERP_TRIANGULAR,
    "gaussian": types.INTERP_GAUSSIAN,
}


ALGORITHM = {"algorithm": "resample"}


WIDE = {"algorithm": "resample_wide"}


UP_AND_DOWN = {
    "down": ((23, 31, 3), (11, 13)),
    "up": ((11, 13, 3), (23, 31)),
    "down-far": ((50, 61, 3), (3, 4)),
    "up-far": ((3, 2, 3), (40, 51)),
    "wider": ((30, 17, 3), (13, 29)),
    "whole-factor": ((24, 32, 3), (12, 8)),
    "double": ((10, 12, 3), (20, 24)),
    "same": ((9, 10, 3), (9, 10)),
    "pixel": ((1, 1, 3), (4, 5)),
    "to-pixel": ((6, 5, 3), (1, 1)),
}


SHAPES = {
    "HWC": (13, 17, 3),
    "CHW": (3, 13, 17),
    "FHWC": (2, 13, 17, 1),
    "FCHW": (2, 3, 13, 17),
    "CFHW": (3, 2, 13, 17),
    "DHWC": (6, 13, 17, 2),
    "CDHW": (2, 6, 13, 17),
    "FDHWC": (2, 6, 7, 8, 1),
    "FCDHW": (2, 2, 6, 7, 8),
    "CFDHW": (2, 2, 6, 7, 8),
}


# DALI rounds halves in the last values of a row away from zero, torchdali to even.
HALVES = "all values are halves at the end of a row"


# In DALI the last bit of a float decides whether a tap on the edge of the Gaussian counts.
GAUSSIAN_EDGE = "a tap is right on the edge of the Gaussian, and rounding decides"


def no_parity(how: str, name: str) -> str:
    if name == "gaussian" and how not in ("down", "up"):
        return GAUSSIAN_EDGE
    return HALVES if how == "to-pixel" else ""


CASES = [
    OpCase(
        "resize",
        "HWC",
        shape,
        {"size": size, "interp_type": filter_, "antialias": antialias},
        dtype=dtype,
        no_parity=no_parity(how, name),
        **ALGORITHM,
    )
    for how, (shape, size) in UP_AND_DOWN.items()
    for name, filter_ in FILTERS.items()
    for antialias in (True, False)
    for dtype in (torch.uint8, torch.float32)
]


CASES += [
    OpCase("resize", layout, shape, {"size": 9, "interp_type": filter_}, dtype=dtype, **ALGORITHM)
    for layout, shape in SHAPES.items()
    for filter_ in (types.INTERP_NN, types.INTERP_LINEAR, types.INTERP_CUBIC)
    for dtype in (torch.uint8, torch.float32)
]


CASES += [
    OpCase("resize", "HWC", (13, 17, 3), {"size": [9, 21], **args}, dtype=dtype, **WIDE)
    for dtype in (torch.int16, torch.uint16)
    for args in ({}, {"dtype": types.FLOAT}, {"interp_type": types.INTERP_LANCZOS3})
]


CASES += [
    OpCase("resize", "HWC", (40, 50, channels), {"size": [23, 61]}, **ALGORITHM)
    for channels in (1, 2, 4, 5, 16, 17)
]


SIZES: list[dict[str, Any]] = [
    {"size": [30, 0]},
    {"size": [0, 40.0]},
    {"size": [0, 0]},
    {"size": [-12, 0]},
    {"size": [30.4, -40.6]},
    {"size": [30.5, 41.5], "subpixel_scale": False},
    {"size": [0.3, 2.4]},
    {"size": [0.02, 3]},
    {"resize_x": 30},
    {"resize_y": 30},
    {"resize_x": -30, "resize_y": 20},
    {"resize_shorter": 31.3},
    {"resize_longer": 19},
    {"resize_shorter": 30, "max_size": 35},
    {"size": [30, 40], "mode": "not_larger"},
    {"size": [30, 40], "mode": "not_smaller"},
    {"size": [-30, 40], "mode": "not_larger"},
    {"size": [30, 0], "mode": "stretch"},
    {"size": [60, 70], "mode": "not_smaller", "max_size": [50, 55]},
    {"size": [60, 70], "max_size": [50, 0]},
    {"size": [20, 20], "roi_start": [2.3, 3.1], "roi_end": [15.7, 9.9]},
    {"size": [20, 20], "roi_start": [0.2, 0.9], "roi_end": [0.7, 0.1], "roi_relative": True},
    {"size": [20, 0], "roi_start": [2, 9], "roi_end": [15, 3]},
    {"size": [20.4, 0], "roi_start": [12, 9], "roi_end": [5, 3], "mode": "not_larger"},
    {"size": [20, 20], "roi_start": -5, "roi_end": 30},
    {"size": [7, 8], "roi_start": [5, 5], "roi_end": [5, 5]},
    {"size": 12, "min_filter": types.INTERP_LANCZOS3, "mag_filter": types.INTERP_CUBIC},
    {"size": [12, 50], "interp_type": types.INTERP_CUBIC, "mag_filter": types.INTERP_LINEAR},
    {"resize_y": 11, "save_attrs": True, "minibatch_size": 4, "temp_buffer_hint": 100},
]


CASES += [OpCase("resize", "HWC", (20, 33, 3), args, **ALGORITHM) for args in SIZES]


CASES += [
    OpCase("resize", "DHWC", (7, 11, 13, 2), args, **ALGORITHM)
    for args in (
        {"size": [0, 5, 20]},
        {"resize_z": 5, "resize_x": 20},
        {"resize_x": 9},
        {"resize_longer": 9.5, "save_attrs": True},
        {"size": [4, 5, 6], "roi_start": [6, 0, 1], "roi_end": [0, 9, 12]},
    )
]


RAGGED = [(20, 33, 3), (7, 5, 3), (41, 12, 3)]


CASES += [
    OpCase("resize", "HWC", RAGGED, args, **ALGORITHM)
    for args in (
        {"size": PerSample([[5.0, 6.0], [20.0, 30.5], [-7.0, 8.0]])},
        {"resize_x": PerSample([5.0, 30.0]), "resize_y": 8},
        {"resize_shorter": PerSample([5.0, 30.0, 12.5])},
        {"resize_longer": PerSample([5.0, 30.0, 12.5])},
        {
            "size": 9,
            "roi_start": PerSample([[0.0, 1.0], [4.0, 3.0]]),
            "roi_end": PerSample([[6.0, 5.0]]),
        },
        {"resize_shorter": 10},
    )
]


CASES += [
    OpCase(
        "resize",
        "HWC",
        RAGGED,
        {"size": [9, 9], "interp_type": PerSample([0, 1, 2])},
        no_parity="DALI crashes where samples have different filters",
        **ALGORITHM,
    ),
    OpCase(
        "resize",
        "HWC",
        RAGGED,
        {"size": PerSample([[9.0], [11.0]])},
        no_parity="DALI takes one value for all axes as a constant only",
        **ALGORITHM,
    ),
    *(
        OpCase("resize", "HWC", RAGGED, args, no_parity="not an argument of DALI", **ALGORITHM)
        for args in (
            {"size": [9, 21], "roi_start": [2, 1], "roi_end": [6, 5], "filter_edges": "cut"},
            {"resize_shorter": 10.0, "size_rounding": "truncate"},
        )
    ),
    OpCase("resize", "HWC", (0, 4, 3), {"size": [3, 5]}, **ALGORITHM),
    OpCase("resize", "", (8, 9, 3), {"size": [3, 5]}, **ALGORITHM),
]


def close(actual: torch.Tensor, expected: np.ndarray, full_scale: float) -> None:
    """Fails if results differ by more than rounding, or 2e-5 of full scale for floats."""
    assert tuple(actual.shape) == expected.shape
    if actual.dtype == torch.float32:
        tolerance = 2e-5 * full_scale
    else:
        limits = torch.iinfo(actual.dtype)
        expected, tolerance = np.clip(expected, limits.min, limits.max), 0.51 + 3e-5 * full_scale
    np.testing.assert_allclose(actual.numpy().astype(np.float64), expected, rtol=0, atol=tolerance)


def full_scale(dtype: torch.dtype) -> float:
    return 320.0 if dtype == torch.float32 else float(torch.iinfo(dtype).max)


def has_a_reference(case: OpCase) -> bool:
    """Tells whether the reference applies: rounding and edges of filters do not decide."""
    if "filter_edges" in case.args or "size_rounding" in case.args:
        return False  # compared with Pillow and torchvision in tests/transforms
    used = [case.args.get(name) for name in ("interp_type", "min_filter", "mag_filter")]
    by_rounding = any(f in (types.INTERP_NN, types.INTERP_GAUSSIAN) for f in used if f is not None)
    return not by_rounding and case.input().numel() > 0


@for_each("case", [c for c in CASES if has_a_reference(c)])
def test_matches_reference(case):
    run = run_case(case)
    layout = case.layout or "HWC"
    assert run.layouts[0] == layout
    for index, actual in enumerate(run.samples()[0]):
        args = {
            n: a.at(index).numpy() if isinstance(a, PerSample) else a for n, a in case.args.items()
        }
        if isinstance(case.args.get("interp_type"), PerSample):
            args["interp_type"] = types.DALIInterpType(int(args["interp_type"]))
            if args["interp_type"] == types.INTERP_NN:
                continue
        x = case.input(index)
        close(actual, reference(x, layout, args), full_scale(x.dtype))


@for_each("filter_", [f for n, f in FILTERS.items() if n != "gaussian"])
@for_each("low", [0.013, 1.7])
def test_regions_off_the_pixel_grid_match_reference(filter_, low):
    x = OpCase("resize", "HWC", (19, 23, 3), dtype=torch.float32).input()
    region = {"roi_start": [low, low], "roi_end": [17.93, 20.11]}
    args = {"size": [11, 31], "interp_type": filter_, **region}
    close(run_op("resize", x, layout="HWC", **args), reference(x, "HWC", args), 320)


@given(
    height=st.integers(1, 30),
    width=st.integers(1, 30),
    channels=st.integers(1, 6),
    filter_=st.sampled_from([f for n, f in FILTERS.items() if n != "gaussian"]),
)
def test_resizing_to_the_same_size_copies(height, width, channels, filter_):
    x = (ramp((height, width, channels)) * 37 % 256).to(torch.uint8)
    same = run_op("resize", x, layout="HWC", size=[height, width], interp_type=filter_)
    assert torch.equal(same, x)


@given(
    value=st.integers(0, 255),
    size=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    extents=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    filter_=st.sampled_from(list(FILTERS.values())),
    antialias=st.booleans(),
)
def test_flat_images_stay_flat(value, size, extents, filter_, antialias):
    x = torch.full((*extents, 3), value, dtype=torch.uint8)
    args = {"size": list(size), "interp_type": filter_, "antialias": antialias}
    assert bool((run_op("resize", x, layout="HWC", **args) == value).all())


@given(
    extents=st.tuples(st.integers(2, 30), st.integers(2, 30)),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    filter_=st.sampled_from([types.INTERP_LINEAR, types.INTERP_CUBIC, types.INTERP_LANCZOS3]),
)
@settings(max_examples=30)
def test_a_negative_size_mirrors(extents, size, filter_):
    x = OpCase("resize", "HWC", (*extents, 3), dtype=torch.float32).input()
    plain = run_op("resize", x, layout="HWC", size=list(size), interp_type=filter_)
    mirrored = run_op("resize", x, layout="HWC", size=[size[0], -size[1]], interp_type=filter_)
    torch.testing.assert_close(mirrored, plain.flip(1), rtol=0, atol=6e-3)


@given(
    extents=st.lists(st.integers(1, 50), min_size=2, max_size=2),
    size=st.lists(st.floats(0.25, 60, width=32) | st.just(0.0), min_size=2, max_size=2),
    mode=st.sampled_from(["default", "stretch", "not_larger", "not_smaller"]),
    limit=st.integers(0, 40),
)
@settings(max_examples=60)
def test_output_sizes_match_the_reference(extents, size, mode, limit):
    expected, _, _ = region_and_size(extents, size, mode, [limit, limit])
    assume(max(expected) < 500)
    x = torch.zeros((*extents, 1), dtype=torch.uint8)
    args = {"size": size, "mode": mode, "max_size": [float(limit)], "interp_type": types.INTERP_NN}
    out = run_op("resize", x, layout="HWC", **args)
    # Floats and doubles may round a half differently.
    assert all(abs(a - b) <= 1 for a, b in zip(out.shape[:2], expected, strict=True))
    doubtful = region_and_size(extents, [s * (1 + 1e-6) for s in size], mode, [limit, limit])[0]
    fewer = region_and_size(extents, [s * (1 - 1e-6) for s in size], mode, [limit, limit])[0]
    if doubtful == fewer == expected:
        assert list(out.shape[:2]) == expected


def test_attrs_are_the_extents_of_the_input():
    x = torch.zeros((3, 4, 5, 6, 1), dtype=torch.uint8)
    out, attrs = run_op("resize", x, layout="FDHWC", size=[2, 2, 2], save_attrs=True)
    assert out.shape == (3, 2, 2, 2, 1)
    assert attrs.dtype == torch.int32
    assert attrs.tolist() == [4, 5, 6]


def test_per_sample_filters_apply_to_their_samples():
    x = OpCase("resize", "HWC", (8, 9, 3)).input()
    both = run_op("resize", [x, x], layout="HWC", size=[20, 20], interp_type=PerSample([0, 2]))
    for actual, filter_ in zip(both, (types.INTERP_NN, types.INTERP_CUBIC), strict=True):
        alone = run_op("resize", x, layout="HWC", size=[20, 20], interp_type=filter_)
        assert torch.equal(actual, alone)


@pytest.mark.parametrize("region", [(-50, -20), (70, 90), (90, 70)])
def test_a_region_outside_the_input_repeats_its_border(region):
    x = ramp((4, 60, 1), torch.uint8)
    args = {"roi_start": [0, region[0]], "roi_end": [4, region[1]], "size": [4, 6]}
    for filter_ in FILTERS.values():
        out = run_op("resize", x, layout="HWC", interp_type=filter_, **args)
        border = x[:, :1] if region[0] < 0 else x[:, -1:]
        if filter_ != types.INTERP_GAUSSIAN:  # blurs along the rows only
            assert torch.equal(out, border.expand(4, 6, 1))


SIZE = {"size": [4, 4]}


@for_each(
    ("args", "error", "message"),
    [
        ({}, ValueError, "size was given in 0 ways"),
        ({"size": 3, "resize_x": 4}, ValueError, "size was given in 2 ways"),
        ({"resize_shorter": 3, "resize_longer": 4}, ValueError, "size was given in 2 ways"),
        ({"resize_shorter": 3, "mode": "stretch"}, ValueError, "`mode` excludes"),
        ({**SIZE, "mode": "largest"}, ValueError, '`mode` is "largest", expected "default"'),
        ({**SIZE, "roi_start": [0, 0]}, ValueError, "must be given together"),
        ({"size": [1, 2, 3]}, ValueError, "`size` has 3 values, expected 1 or 2"),
        ({**SIZE, "roi_start": [1, 2, 3], "roi_end": 4}, ValueError, "`roi_start` has 3 values"),
        ({**SIZE, "max_size": [1, 2, 3]}, ValueError, "`max_size` has 3 values"),
        ({"size": [math.nan, 3]}, ValueError, "`size` must be finite"),
        ({"size": [3, math.inf]}, ValueError, "`size` must be finite"),
        ({"size": [1e12, 3]}, ValueError, "cannot resize to an extent"),
        ({"size": [1e9, 1e9]}, ValueError, "too large"),
        ({**SIZE, "dtype": types.INT16}, TypeError, "`dtype` is int16, expected float32 or"),
        ({**SIZE, "interp_type": torch.tensor(9)}, ValueError, "not an interpolation type: 9"),
    ],
)
def test_wrong_arguments_are_errors(args, error, message):
    with pytest.raises(error, match=message):
        run_op("resize", torch.zeros((5, 6, 3), dtype=torch.uint8), layout="HWC", **args)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.float16, torch.bool])
def test_unsupported_element_types_are_errors(dtype):
    with pytest.raises(TypeError, match="expected uint8, int16, uint16 or float32"):
        run_op("resize", torch.zeros((5, 6, 3), dtype=dtype), layout="HWC", size=3)


def test_a_layout_without_width_is_an_error():
    with pytest.raises(ValueError, match=r'input `data` has layout "HW", expected one of "HWC"'):
        run_op("resize", torch.zeros((5, 6), dtype=torch.uint8), layout="HW", size=3)
