# SPDX-License-Identifier: Apache-2.0
"""filter_edges="cut": a region is resized as if it had been cut out, also where it is fused."""

from __future__ import annotations

import io

import numpy as np
from helpers.cases import for_each
from helpers.transforms import apply
from PIL import Image

from torchdali import fn, types

FILTERS = {types.INTERP_NN: 0, types.INTERP_LINEAR: 2, types.INTERP_CUBIC: 3}


def encoded(image):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return np.frombuffer(file.getvalue(), np.uint8)


def pillow(image, size, number):
    """Resizes columns, then rows; see docs/design/resample.md."""
    narrow = Image.fromarray(image).resize((size[1], image.shape[0]), number)
    return np.array(narrow.resize(size[::-1], number)).astype(int)


@for_each("interpolation", list(FILTERS))
@for_each("seed", range(12))
def test_a_region_is_that_of_pillow_and_fusion_changes_nothing(interpolation, seed):
    rng = np.random.default_rng(seed)
    height, width = (int(n) for n in rng.integers(2, 90, 2))
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
    bottom, right = int(rng.integers(top, height)) + 1, int(rng.integers(left, width)) + 1
    size = [int(n) for n in rng.integers(1, 120, 2)]
    window = [int(rng.integers(1, n + 1)) for n in size]

    def resize(node):
        return fn.resize(
            node,
            size=size,
            roi_start=[top, left],
            roi_end=[bottom, right],
            interp_type=interpolation,
            filter_edges="cut",
        )

    def crop(node):
        return fn.crop(fn.flip(node), crop=window, crop_pos_x=0.3, crop_pos_y=0.8)

    (resized,) = apply(resize, [image])
    want = pillow(image[top:bottom, left:right], size, FILTERS[interpolation])
    assert np.abs(resized - want).max() <= {0: 0, 2: 1, 3: 2}[FILTERS[interpolation]]
    (cropped,) = apply(crop, [resized])
    (fused,) = apply(lambda node: crop(resize(node)), [encoded(image)])
    np.testing.assert_array_equal(fused, cropped)
