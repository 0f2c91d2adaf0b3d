# SPDX-License-Identifier: Apache-2.0
"""fn.augment: the operations of torchvision's random augmentations.

The references are written from the documentation of Pillow and torchvision;
tests/transforms compares with the packages.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali import types

OPERATORS = ["augment"]
IDENTITY, SHEAR_X, TRANSLATE_X, ROTATE, BRIGHTNESS, COLOR, CONTRAST, SHARPNESS = (
    0,
    1,
    3,
    5,
    6,
    7,
    8,
    9,
)
POSTERIZE, SOLARIZE, AUTOCONTRAST, EQUALIZE, INVERT, HUE, GRAY, PART_X, CHANNELS = (
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
    19,
)
MAGNITUDES = {
    IDENTITY: [0.0],
    SHEAR_X: [0.3],
    TRANSLATE_X: [3.7, -2.0],
    ROTATE: [30.0, 0.0],
    BRIGHTNESS: [0.0, 0.3, 1.7],
    COLOR: [0.0, 0.3, 1.7],
    CONTRAST: [0.0, 0.3, 1.7],
    SHARPNESS: [0.0, 0.3, 1.7],
    POSTERIZE: [0.0, 3.0, 8.0],
    SOLARIZE: [0.0, 0.41, 1.0],
    AUTOCONTRAST: [0.0],
    EQUALIZE: [0.0],
    INVERT: [0.0],
    HUE: [0.3, -0.5, 0.0],
    GRAY: [0.0],
    PART_X: [0.25, -0.5],
    CHANNELS: [0.0, 3.0, 5.0],
}
NOT_IN_DALI = "DALI has no such operator"


def case(layout, shape, dtype=torch.uint8, **args):
    return OpCase("augment", layout, shape, args, dtype=dtype, no_parity=NOT_IN_DALI)


CASES = [
    case(layout, shape, dtype, operations=[op], magnitudes=[m], **extra)
    for op, magnitudes in MAGNITUDES.items()
    for m in magnitudes[:2]
    for layout, shape, dtype, extra in [
        ("HWC", (19, 23, 3), torch.uint8, {}),
        ("CHW", (3, 19, 23), torch.uint8, {"arithmetic": "pillow"}),
        ("CHW", (3, 9, 7), torch.float32, {}),
    ]
]
CASES += [
    case("HWC", (9, 700, 3), operations=[HUE, COLOR, SHARPNESS, CONTRAST],
         magnitudes=[0.1, 0.5, 2, 3], order=PerSample([0, 23, 7])),
    case("FHWC", (2, 9, 7, 1), operations=[ROTATE, EQUALIZE, GRAY, HUE],
         magnitudes=[20, 0, 0, 0.2], fill_value=[7], interp_type=types.INTERP_LINEAR),
    case("HWC", [(9, 7, 3), (0, 7, 3), (1, 1, 1)], operations=PerSample([[1, 9], [12, 8], [5, 13]]),
         magnitudes=PerSample([[0.2, 2.0], [0.0, 0.0], [90.0, 1.0]])),
    case("", (9, 7, 3), operations=PerSample([14, 0]), interp_type=types.INTERP_LINEAR),
    case("FCHW", (2, 3, 9, 7), operations=[]),
    # Several passes of the GPU, of which samples need different numbers.
    case("HWC", [(40, 50, 3), (9, 7, 1)], torch.float32,
         operations=PerSample([[CONTRAST, AUTOCONTRAST, EQUALIZE, ROTATE],
                               [CONTRAST, GRAY, IDENTITY, BRIGHTNESS]]),
         magnitudes=PerSample([[1.5, 0.0, 0.0, 30.0], [0.1, 0.0, 0.0, 0.5]])),
    case("CHW", [(3, 40, 50), (1, 9, 7)],
         operations=PerSample([[EQUALIZE, SHARPNESS, SOLARIZE, ROTATE, CONTRAST, HUE],
                               [CONTRAST] + [IDENTITY] * 5]),
         magnitudes=PerSample([[0.0, 2.0, 0.5, 30.0, 0.5, 0.2], [2.0] + [0.0] * 5])),
]  # fmt: skip


def gray(x, pillow):
    r, g, b = (x[..., c].astype(np.int64) for c in range(3))
    if pillow:
        return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
    return (2989 * r + 5870 * g + 1140 * b) // 10000


def blend(x, other, factor):
    return np.clip(other + factor * (x.astype(np.float64) - other), 0, 255)


def smooth(x):
    """The 3 x 3 mean in which the center weighs five times; borders stay."""
    x = x.astype(np.int64)
    result = x.copy()
    sums = 4 * x[1:-1, 1:-1]
    for dy, dx in itertools.product(range(3), range(3)):
        sums = sums + x[dy : dy + x.shape[0] - 2, dx : dx + x.shape[1] - 2]
    result[1:-1, 1:-1] = np.floor(sums / 13 + 0.5)
    return result


def spread(x):
    low, high = x.min((0, 1), keepdims=True).astype(float), x.max((0, 1), keepdims=True)
    return (x - low) * 255 / np.maximum(high - low, 1)


def equalize(x):
    result = x.copy()
    for c in range(x.shape[2]):
        counts = np.bincount(x[..., c].ravel(), minlength=256)
        step = (x[..., c].size - counts[np.flatnonzero(counts)[-1]]) // 255
        if step:
            table = (np.cumsum(counts) - counts + step // 2) // step
            result[..., c] = np.minimum(table, 255)[x[..., c]]
    return result


def move(x, to_source):
    """Nearest pixels; `to_source` maps positions of centers, (x, y), of the result."""
    height, width = x.shape[:2]
    ys, xs = np.mgrid[:height, :width] + 0.5
    u, v = (np.floor(np.round(at, 6)).astype(int) for at in to_source(xs, ys))
    inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
    source = x[np.clip(v, 0, height - 1), np.clip(u, 0, width - 1)]
    return np.where(inside[..., None], source, 0)


def rotated(x, degrees):
    t, cx, cy = np.radians(degrees), x.shape[1] / 2, x.shape[0] / 2
    return move(
        x,
        lambda u, v: (
            np.cos(t) * (u - cx) - np.sin(t) * (v - cy) + cx,
            np.sin(t) * (u - cx) + np.cos(t) * (v - cy) + cy,
        ),
    )


def hue(x, turn):
    """By way of HSV, in double."""
    import colorsys

    def one(pixel):
        h, s, v = colorsys.rgb_to_hsv(*(pixel / 255.0))
        return np.array(colorsys.hsv_to_rgb((h + turn) % 1, s, v)) * 255

    return np.apply_along_axis(one, 2, x)


def reference(x, op, m, pillow):
    """What the operation makes of an image of three channels, as floats to be truncated."""
    g = gray(x, pillow)[..., None] if op in (COLOR, CONTRAST, GRAY) else None
    mean = 0 if g is None else np.floor(g.mean() + 0.5) if pillow else g.mean()
    return {
        IDENTITY: lambda: x,
        SHEAR_X: lambda: move(x, lambda u, v: (u + m * v, v)),
        TRANSLATE_X: lambda: move(x, lambda u, v: (u - int(m), v)),
        ROTATE: lambda: rotated(x, m),
        BRIGHTNESS: lambda: blend(x, 0, m),
        COLOR: lambda: blend(x, g, m),
        CONTRAST: lambda: blend(x, mean, m),
        SHARPNESS: lambda: blend(x, smooth(x), m),
        POSTERIZE: lambda: x & (256 - (1 << (8 - int(m)))),
        SOLARIZE: lambda: np.where(x >= 255 * m, 255 - x, x),
        AUTOCONTRAST: lambda: spread(x),
        EQUALIZE: lambda: equalize(x),
        INVERT: lambda: 255 - x,
        HUE: lambda: hue(x, m),
        GRAY: lambda: np.broadcast_to(g, x.shape),
        PART_X: lambda: move(x, lambda u, v: (u - np.trunc(m * x.shape[1]), v)),
        CHANNELS: lambda: x[..., list(itertools.permutations(range(3)))[int(m)]],
    }[op]()


@pytest.mark.parametrize("arithmetic", ["torch", "pillow"])
@pytest.mark.parametrize("op", MAGNITUDES)
def test_matches_reference(op, arithmetic):
    generator = torch.Generator().manual_seed(op)
    x = torch.randint(30, 226, (20, 32, 3), dtype=torch.uint8, generator=generator)
    for m in MAGNITUDES[op]:
        args = {"operations": [op], "magnitudes": [m], "arithmetic": arithmetic}
        actual = run_op("augment", x, layout="HWC", **args).numpy().astype(float)
        # Truncation of a float may give the next lower whole number; Pillow's hue is one of 256.
        tolerance = 13 if op == HUE and arithmetic == "pillow" else 1.001
        expected = reference(x.numpy(), op, m, arithmetic == "pillow")
        assert np.abs(actual - expected).max() <= tolerance
        planar = run_op("augment", x.permute(2, 0, 1).contiguous(), layout="CHW", **args)
        assert np.array_equal(planar.permute(1, 2, 0).numpy(), actual)
        if arithmetic == "torch" and op not in (EQUALIZE, POSTERIZE):
            floats = run_op("augment", x.float() / 255, layout="HWC", **args).numpy() * 255
            bound = 3.5 if op in (SHARPNESS, COLOR, CONTRAST) else 2
            assert np.abs(floats - expected).max() <= bound


def test_equalized_and_posterized_floats():
    x = random_tensor((20, 32, 3), torch.uint8, 0)
    floats = run_op("augment", x.float() / 255, layout="HWC", operations=[EQUALIZE]) * 255
    assert torch.equal(
        floats.round().byte(), run_op("augment", x, layout="HWC", operations=[EQUALIZE])
    )
    levels = run_op(
        "augment", x.float() / 255, layout="HWC", operations=[POSTERIZE], magnitudes=[2]
    )
    assert set(levels.unique().tolist()) <= {0.0, 0.25, 0.5, 0.75}


@for_each("case", CASES)
def test_runs(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        assert actual.shape == case.input(index).shape


@pytest.mark.parametrize("order", range(6))
def test_order_numbers_permutations(order):
    x = random_tensor((8, 9, 3), torch.uint8, 0)
    steps = [(BRIGHTNESS, 1.5), (SOLARIZE, 0.5), (INVERT, 0.0)]
    codes, magnitudes = zip(*steps, strict=True)
    actual = run_op(
        "augment", x, layout="HWC", operations=codes, magnitudes=magnitudes, order=order
    )
    for op, m in list(itertools.permutations(steps))[order]:
        x = run_op("augment", x, layout="HWC", operations=[op], magnitudes=[m])
    assert torch.equal(actual, x)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"operations": [20]}, "`operations` has 20, expected 0 to 19"),
        ({"operations": [19], "magnitudes": [6]}, "the permutation of channels is 6"),
        ({"operations": [19], "magnitudes": [0.5]}, "the permutation of channels is 0.5"),
        ({"operations": [1, 2], "magnitudes": [1, 2, 3]}, "`magnitudes` has 3 numbers"),
        ({"operations": [1, 2], "order": 2}, "`order` is 2"),
        ({"operations": [6], "magnitudes": [-1]}, "a factor is -1"),
        ({"operations": [15], "magnitudes": [0.7]}, "the hue turns by 0.7"),
        ({"operations": [10], "magnitudes": [9]}, "posterizing keeps 9 bits"),
        ({"operations": [5], "fill_value": [1, 2]}, "`fill_value` has 2 values, expected 1 or 3"),
        ({"operations": [5], "arithmetic": "none"}, '`arithmetic` is "none"'),
        ({"operations": [5], "interp_type": types.INTERP_CUBIC}, "`interp_type` is number 2"),
    ],
)  # fmt: skip
def test_wrong_arguments(args, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        run_op("augment", torch.zeros(2, 2, 3, dtype=torch.uint8), layout="HWC", **args)


@for_each("layout", ["HWC", "CHW"])
def test_sharpened_floats_are_clamped_at_the_edges(layout):
    """Where nothing is sharpened, torchvision clamps, too; images of 2 rows stay."""
    image = random_tensor((7, 3, 8), torch.float32, seed=1) * 4 - 2
    axis = 2 if layout == "HWC" else 0
    image = image.movedim(1, axis).contiguous()
    made = run_op("augment", image, layout=layout, operations=[SHARPNESS], magnitudes=[0.5])
    rows = image.select(layout.index("H"), 0)
    assert torch.equal(made.select(layout.index("H"), 0), rows.clamp(0, 1))
    assert made.min() >= 0
    assert made.max() <= 1
    small = image.narrow(layout.index("H"), 0, 2).contiguous()
    made = run_op("augment", small, layout=layout, operations=[SHARPNESS], magnitudes=[0.5])
    assert torch.equal(made, small)


def test_wrong_images():
    with pytest.raises(RuntimeError, match="has 2 channels, expected 1 or 3"):
        run_op("augment", torch.zeros(2, 2, 2, dtype=torch.uint8), layout="HWC", operations=[0])
    with pytest.raises(TypeError, match="is int16, expected uint8 or float32"):
        run_op("augment", torch.zeros(2, 2, 3, dtype=torch.int16), layout="HWC", operations=[0])
    with pytest.raises(TypeError, match='arithmetic="pillow" takes uint8 only'):
        run_op("augment", torch.zeros(2, 2, 3), layout="HWC", operations=[0], arithmetic="pillow")
