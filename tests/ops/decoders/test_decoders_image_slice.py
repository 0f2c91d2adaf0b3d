# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.image_slice: decodes a window given by coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.dali_oracle import run_graph
from helpers.encoded_images import PNG_RGB, as_tensor, decode, jpeg, png, ramp
from helpers.ops import Input, OpCase, PerSample

FILES = [jpeg(ramp(37, 51, 3, seed=i), subsampling=i) for i in range(3)]
CASES = [
    OpCase("decoders.image_slice", make=lambda i: as_tensor(FILES[i % 3]), args=args)
    for args in (
        {"start": [2, 3], "end": [40, 30]},
        {"rel_start": [0.1, 0.2], "rel_shape": [0.5, 0.7], "axis_names": "HW"},
        {"start": PerSample([[1, 2], [3, 4]]), "shape": [20, 10], "axes": [0, 1]},
    )
]
CASES.append(
    OpCase(
        "decoders.image_slice",
        make=lambda i: as_tensor(FILES[i % 3]),
        more_inputs=(
            Input(lambda i: torch.tensor([0.1 * (i % 3), 0.2])),
            Input(lambda _: torch.tensor([0.5, 0.3])),
        ),
    )
)


def coordinates(height: int, width: int) -> bytes:
    """A picture that tells where its pixels are: red is the row, green the column."""
    y, x = np.mgrid[:height, :width]
    return png(np.stack([y, x, 0 * x], axis=-1), 8, PNG_RGB)


def cut(data: bytes, *inputs: Any, **args: Any) -> np.ndarray:
    return decode("decoders.image_slice", [data], *[[i] for i in inputs], **args)[0]


def window(pixels: np.ndarray) -> tuple[int, int, int, int]:
    """Row and column of the first pixel, height and width."""
    return (*map(int, pixels[0, 0, :2]), *pixels.shape[:2])


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


# Of an image of 13 x 17 pixels; coordinates are (x, y) unless the axes say otherwise.
@for_each(
    ("args", "expected"),
    [
        ({"start": [2, 3], "end": [5, 9]}, (3, 2, 6, 3)),
        ({"start": [2, 3], "shape": [4, 5]}, (3, 2, 5, 4)),
        ({"rel_start": [0.1, 0.2], "rel_end": [0.6, 0.7]}, (3, 2, 6, 8)),
        ({"rel_start": [0.1, 0.2], "rel_shape": [0.5, 0.5]}, (3, 2, 6, 8)),
        ({"rel_start": [0.1, 0.2], "shape": [4, 5]}, (3, 2, 5, 4)),
        ({"start": [1, 2], "rel_shape": [0.5, 0.5]}, (2, 1, 7, 9)),
        ({"start": [1, 2], "rel_end": [0.5, 0.5]}, (2, 1, 5, 8)),
        ({"end": [5, 9]}, (0, 0, 9, 5)),
        ({"start": [2, 3]}, (3, 2, 10, 15)),
        ({"shape": [4, 5]}, (0, 0, 5, 4)),
        ({"rel_shape": [0.5, 0.5]}, (0, 0, 7, 9)),
        ({"start": [2, 3], "end": [5, 9], "axes": [0, 1]}, (2, 3, 3, 6)),
        ({"start": [2, 3], "end": [5, 9], "axes": [-2, -1]}, (2, 3, 3, 6)),
        ({"start": [2, 3], "end": [5, 9], "axis_names": "HW"}, (2, 3, 3, 6)),
        ({"start": [2], "end": [5], "axis_names": "H"}, (2, 0, 3, 17)),
        ({"start": 2, "end": 5, "axes": 1}, (0, 2, 13, 3)),
        ({"start": [1], "end": [5, 9]}, (1, 1, 8, 4)),
    ],
)
def test_coordinates_may_be_named_arguments(args, expected):
    assert window(cut(coordinates(13, 17), **args)) == expected


@for_each(
    ("anchor", "extent", "args", "expected"),
    [
        (floats(0.1, 0.2), floats(0.5, 0.5), {}, (3, 2, 6, 8)),
        (np.array([2, 3]), np.array([4, 5]), {}, (3, 2, 5, 4)),
        (floats(2.5, 3.5), floats(4.5, 5.5), {"normalized": False}, (4, 3, 5, 4)),
        (floats(2.4, 3.6), floats(4.3, 5.2), {"normalized": False}, (4, 2, 5, 5)),
        (floats(0.1, 0.2), floats(4, 5), {"normalized_shape": False}, (3, 2, 5, 4)),
        (floats(0.2, 0.1), floats(0.5, 0.5), {"axis_names": "HW"}, (3, 2, 6, 8)),
        (floats(0.1), floats(0.5), {"axes": [0]}, (1, 0, 7, 17)),
    ],
)
def test_coordinates_may_be_inputs(anchor, extent, args, expected):
    args = dict(args)
    if "normalized" in args:
        args["normalized_anchor"] = args["normalized_shape"] = args.pop("normalized")
    assert window(cut(coordinates(13, 17), anchor, extent, **args)) == expected


@pytest.mark.dali
def test_random_windows_equal_those_of_dali():
    rng = np.random.default_rng(2)
    for i in range(60):
        height, width = (int(n) for n in rng.integers(2, 90, 2))
        data = coordinates(height, width)
        first, last = np.sort(rng.uniform(size=(2, 2)), axis=0)
        args: dict[str, Any] = {}
        inputs: list[np.ndarray] = []
        if i % 3 == 0:
            args = {"rel_start": first.tolist(), "rel_end": last.tolist()}
        elif i % 3 == 1:
            args = {"rel_start": first.tolist(), "rel_shape": (last - first).tolist()}
        else:
            inputs = [floats(*first), floats(*(last - first))]
        names = ["files", "anchor", "extent"][: 1 + len(inputs)]
        node = {
            "op": "experimental.decoders.image_slice",
            "inputs": names,
            "args": args,
            "outputs": ["images"],
        }
        batches = [np.frombuffer(data, np.uint8), *inputs]
        sources = {n: {"batches": [[b]]} for n, b in zip(names, batches, strict=True)}
        result = run_graph([node], ["images"], sources, batch_size=1)
        assert np.array_equal(cut(data, *inputs, **args), result[0][0].samples[0]), (args, inputs)


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
def test_is_the_slice_of_the_whole_image(subsampling, progressive):
    data = jpeg(ramp(131, 97, 3), subsampling=subsampling, progressive=progressive)
    whole = decode("decoders.image", [data])[0]
    rng = np.random.default_rng(subsampling)
    for _ in range(20):
        (y, bottom), (x, right) = (np.sort(rng.integers(0, n + 1, 2)) for n in (131, 97))
        part = cut(data, start=[int(y), int(x)], end=[int(bottom), int(right)], axis_names="HW")
        assert np.array_equal(part, whole[y:bottom, x:right])


def test_window_without_pixels_is_an_empty_image():
    assert cut(coordinates(13, 17), start=[5, 5], end=[5, 8]).shape == (3, 0, 3)


def test_coordinates_may_be_per_sample():
    data = coordinates(20, 30)
    parts = decode(
        "decoders.image_slice",
        [data, data],
        start=[np.array([1, 2]), np.array([3, 4])],
        rel_end=[floats(0.5, 0.5), floats(1, 1)],
    )
    assert [window(p) for p in parts] == [(2, 1, 8, 14), (4, 3, 16, 27)]


@for_each(
    ("args", "message"),
    [
        ({}, "needs a window"),
        ({"start": [2, 3], "end": [5, 19]}, r"reaches outside the sample of shape \[13, 17\]"),
        ({"start": [-1, 3], "end": [5, 9]}, "reaches outside"),
        ({"rel_start": [0.5, 0.5], "rel_shape": [0.6, 0.6]}, "reaches outside"),
        ({"start": [5, 5], "end": [3, 3]}, "ends at 3 before it starts at 5"),
        ({"start": [1, 2], "shape": [-1, 2]}, "cannot have an extent of -1"),
        ({"start": [2, 3], "end": [5, 9], "shape": [1, 1]}, "exclude each other"),
        ({"start": [2, 3], "rel_start": [0.1, 0.1]}, "exclude each other"),
        ({"start": [2, 3], "axes": [0, 1], "axis_names": "HW"}, "exclude each other"),
        ({"start": [2, 3, 0], "axis_names": "HWC"}, '"C" of `axis_names` is not in the layout'),
        ({"start": [2, 3], "axes": [0, 0]}, "axis 0 is given twice"),
        ({"start": [2, 3], "axes": [0, 2]}, "axis 2 of `axes`"),
        ({"start": [1, 2, 3]}, "`start` has 3 values"),
        ({"rel_start": [float("nan"), 0.0]}, "before it starts"),
        ({"rel_start": [0.0, 0.0], "rel_end": [1e30, 1.0]}, "a coordinate of the window"),
    ],
)
def test_wrong_windows_are_errors(args, message):
    with pytest.raises((ValueError, IndexError), match=message):
        cut(coordinates(13, 17), **args)


def test_wrong_inputs_are_errors():
    data = coordinates(13, 17)
    with pytest.raises(ValueError, match="`anchor` has 3 values"):
        cut(data, floats(0, 0, 0), floats(1, 1, 1))
    with pytest.raises(ValueError, match="exclude the arguments"):
        cut(data, floats(0, 0), floats(1, 1), start=[1, 1])
    with pytest.raises(ValueError, match="needs the input `extent`"):
        cut(data, floats(0, 0))
