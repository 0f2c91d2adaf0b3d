# SPDX-License-Identifier: Apache-2.0
"""fn.random_crop_generator: windows of random position, area and aspect ratio."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.encoded_images import as_tensor, jpeg, ramp
from helpers.ops import OpCase, run_batches, run_op

from torchdali import Pipeline, fn

NEWER = "not in DALI 1.35"


def shape(*values, dtype=torch.int64):
    return lambda i: torch.tensor(values[i % len(values)], dtype=dtype)


CASES = [
    OpCase("random_crop_generator", make=make, args=args, no_parity=NEWER, seed=3)
    for make, args in (
        (shape([480, 640, 3]), {}),
        (shape([480, 640], [33, 7]), {}),
        (shape([100, 100], dtype=torch.int32), {"random_area": [0.2, 0.3]}),
        (shape([100, 100], dtype=torch.uint8), {"random_aspect_ratio": 1.0, "random_area": 0.25}),
        (shape([10, 1000]), {"num_attempts": 0}),
        (shape([1, 1]), {}),
        (shape([0, 5]), {}),
    )
]


def draw(count: int, size: list[int], **args: object) -> torch.Tensor:
    """Returns `count` windows as rows of (y, x, height, width)."""
    sources = {"shape": ("", [[torch.tensor(size)] * count])}
    run = run_batches("random_crop_generator", sources, 1, args, batch_sizes=[count], seed=9)
    return torch.cat([torch.stack(part) for part in run.samples()], 1).double()


def test_windows_are_inside_the_image_and_have_the_right_distributions():
    y, x, h, w = draw(4000, [400, 500], random_area=[0.1, 0.5]).T
    assert ((y >= 0) & (y + h <= 400) & (x >= 0) & (x + w <= 500)).all()
    area, ratio = h * w / (400 * 500), w / h
    assert ((area > 0.095) & (area < 0.505)).all()
    assert ((ratio >= 0.75) & (ratio <= 1.3334)).all()
    # Uniform area: mean 0.3, deviation 0.4 / sqrt(12); the mean of 4000 is within 4 of its own.
    assert abs(area.mean() - 0.3) < 4 * 0.1155 / 4000**0.5
    assert abs(ratio.log().mean()) < 4 * 0.1661 / 4000**0.5
    # Positions are uniform in the range that the size leaves: Kolmogorov-Smirnov at 0.1 %.
    room = torch.sort((x + 0.5) / (500 - w + 1)).values
    steps = torch.arange(1, 4001) / 4000
    assert torch.max((steps - room).abs()) < 1.95 / 4000**0.5


def test_windows_equal_those_of_the_decoder():
    images = [as_tensor(jpeg(ramp(64 + i, 80, 3, seed=i))) for i in range(4)]
    pipe = Pipeline(4, 2, device_id=None)
    with pipe:
        encoded = fn.external_source(name="x")
        anchor, size = fn.random_crop_generator(fn.peek_image_shape(encoded), seed=77)
        sliced = fn.decoders.image_slice(encoded, start=anchor, shape=size, axis_names="HW")
        pipe.set_outputs(sliced, fn.decoders.image_random_crop(encoded, seed=77))
    pipe.build()
    pipe.feed_input("x", images)
    sliced, cropped = (out.as_torch_list() for out in pipe.run())
    for a, b in zip(sliced, cropped, strict=True):
        assert torch.equal(a, b)


def test_windows_of_a_seed_equal_the_golden_values():
    assert draw(4, [480, 640]).int().tolist() == GOLDEN


GOLDEN = [[8, 115, 472, 469], [21, 53, 452, 573], [113, 329, 316, 258], [46, 139, 294, 327]]


@for_each(
    ("value", "args", "message"),
    [
        (torch.tensor([4.0, 5.0]), {}, "made of integers"),
        (torch.tensor([4]), {}, "takes the shape of an image"),
        (torch.tensor([[4, 5]]), {}, "takes the shape of an image"),
        (torch.tensor([4, -5]), {}, "cannot be -5 pixels"),
        (torch.tensor([4, 2**40]), {}, "pixels large"),
        (torch.tensor([4, 5]), {"random_area": [0.5, 0.1]}, "random_area"),
        (torch.tensor([4, 5]), {"random_aspect_ratio": [0.0, 1.0]}, "random_aspect_ratio"),
        (torch.tensor([4, 5]), {"num_attempts": -1}, "num_attempts"),
        (torch.tensor([2, 3]), {"num_attempts": 2**31 - 1}, "expected 0 to 1000000"),
    ],
)
def test_wrong_arguments_are_errors(value, args, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        run_op("random_crop_generator", value, **args)
    assert str(caught.value).startswith("fn.random_crop_generator: ")


@for_each(
    "args",
    [
        {"random_area": [5.0, 6.0]},
        {"random_area": [0.0, 3e38]},
        {"random_area": [5.0, 6.0], "random_aspect_ratio": [1e-38, 0.5]},
        {"random_aspect_ratio": [1.0, 3e38]},
        {"random_aspect_ratio": [1e-38, 1.0]},
    ],
)
@for_each("size", [(40, 40), (2**31 - 1, 1), (1, 2**31 - 1)])
def test_windows_of_any_range_are_inside_the_image(args, size):
    for seed in range(20):
        anchor, extent = run_op("random_crop_generator", torch.tensor(size), seed=seed, **args)
        assert bool((anchor >= 0).all())
        assert bool((extent >= 1).all())
        assert bool((anchor.long() + extent.long() <= torch.tensor(size)).all())
