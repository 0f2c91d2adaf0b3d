# SPDX-License-Identifier: Apache-2.0
"""Resampling by strips on the GPU: every width, division and filter (resample/strips_gpu.h)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.cases import for_each

from torchdali import fn, pipeline_def, types

FILTERS = {
    "nearest": types.INTERP_NN,
    "linear": types.INTERP_LINEAR,
    "triangular": types.INTERP_TRIANGULAR,
    "gaussian": types.INTERP_GAUSSIAN,
}


def images(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def resized(
    samples: list[torch.Tensor], device: str, layout: str = "HWC", **arguments: Any
) -> list[torch.Tensor]:
    @pipeline_def(batch_size=len(samples), num_threads=1, device_id=0)
    def define() -> Any:
        x = fn.external_source(lambda: samples, layout=layout)
        return fn.resize(x.gpu() if device == "gpu" else x, **arguments)

    with define() as pipe:
        return [sample.cpu() for sample in pipe.run()[0].as_torch_list()]


def assert_as_on_the_cpu(samples: list[torch.Tensor], **arguments: Any) -> None:
    ours = resized(samples, "gpu", **arguments)
    for a, b in zip(ours, resized(samples, "cpu", **arguments), strict=True):
        assert a.shape == b.shape
        assert (a.int() - b.int()).abs().max() <= 1
    # The difference from float arithmetic is at most a rounding.
    for a, b in zip(ours, resized(samples, "cpu", dtype=types.FLOAT, **arguments), strict=True):
        assert (a - b).abs().max() <= 0.5 + 0.02


@for_each("channels", [1, 3])
@for_each("name", FILTERS)
def test_sizes_of_all_kinds_match_the_reference(name, channels, backend):
    del backend
    # Smaller and larger along either axis: 2 to 8 taps, more, and an image as small as a filter.
    sizes = [(37, 53), (9, 21), (64, 11), (80, 100), (37, 300), (120, 60), (5, 7), (1, 2)]
    for size in sizes:
        samples = [images(37, 53, channels), images(64, 150, channels)]
        assert_as_on_the_cpu(samples, size=size, interp_type=FILTERS[name])


@for_each("width", range(1, 12))
def test_small_images_match_the_reference(width, backend):
    del backend
    samples = [images(height, width, 3) for height in (1, 2, 3, 7)]
    for size in [(1, 1), (3, 5), (2, 18), (16, 4)]:
        assert_as_on_the_cpu(samples, size=size)


@pytest.mark.parametrize("scale", [0.3, 1.7])
def test_a_flat_area_stays_flat(scale, backend):
    del backend
    for value in (0, 1, 127, 254, 255):
        flat = torch.full((61, 83, 3), value, dtype=torch.uint8)
        (sample,) = resized([flat], "gpu", size=(61 * scale, 83 * scale))
        assert (sample == value).all()


@pytest.mark.parametrize("size", [(20, 31), (41, 97), (300, 211)])
def test_halves_are_rounded_up_where_sizes_double_or_halve(size, backend):
    del backend
    x = images(*(2 * s for s in size), 3)
    (sample,) = resized([x], "gpu", size=size, antialias=False)
    square = x.reshape(size[0], 2, size[1], 2, 3).sum((1, 3), dtype=torch.int32)
    assert torch.equal(sample.int(), (square + 2) // 4)


def test_pixels_do_not_depend_on_the_division_into_strips(backend):
    del backend
    x = images(90, 110, 3)
    for size in [(50, 41), (200, 190), (77, 300)]:
        (alone,) = resized([x], "gpu", size=size)
        # More samples: longer strips.
        many = resized([x] * 40, "gpu", size=size)
        assert all(torch.equal(alone, sample) for sample in many)


@pytest.mark.parametrize("size", [(60, 50), (130, 170)])
def test_windows_and_mirrors_equal_the_whole_image(size, backend):
    del backend
    x = images(97, 113, 3)

    @pipeline_def(batch_size=1, num_threads=1, device_id=0)
    def define() -> Any:
        data = fn.external_source(lambda: [x], layout="HWC").gpu()
        whole = fn.resize(data, size=size)
        window = {"crop": (31, 29), "crop_pos_x": 0.3, "crop_pos_y": 0.8}
        return (
            fn.flip(fn.crop(whole, **window)),
            fn.resize_crop_mirror(data, size=size, mirror=1, **window),
        )

    with define() as pipe:
        first, second = (output.as_torch().cpu() for output in pipe.run())
    assert torch.equal(first, second)


def test_mirrored_regions_and_frames_match_the_reference(backend):
    del backend
    x = images(70, 80, 3)
    region = {"roi_start": (66.5, 70.0), "roi_end": (3.0, 4.5)}
    assert_as_on_the_cpu([x], size=(30, 41), **region)
    assert_as_on_the_cpu([x], size=(130, 141), **region)
    assert_as_on_the_cpu([images(3, 41, 33, 3)], layout="FHWC", size=(20, 50))


def test_unaligned_rows_match_the_reference(backend):
    del backend
    for width in range(90, 94):
        for columns in range(61, 65):
            assert_as_on_the_cpu([images(33, width, 3)], size=(40, columns))
            assert_as_on_the_cpu([images(33, width, 3)], size=(40, 2 * columns))
