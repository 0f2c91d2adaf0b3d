# SPDX-License-Identifier: Apache-2.0
"""Operators of chains over one image, with arguments that are drawn; each returns its output.

`draw` decides what the program is; the program draws for each sample by itself. `scale` is what
sizes are multiplied by.
"""

from __future__ import annotations

import random
from typing import Any

from torchdali import fn, types

INTERPOLATIONS = [
    types.INTERP_NN,
    types.INTERP_LINEAR,
    types.INTERP_CUBIC,
    types.INTERP_LANCZOS3,
    types.INTERP_TRIANGULAR,
    types.INTERP_GAUSSIAN,
]
NORMALIZED_TYPES = [types.FLOAT, types.FLOAT16, types.UINT8, types.INT8]
TABLE = {"keys": list(range(0, 256, 3)), "values": [255.0 - 0.7 * i for i in range(0, 256, 3)]}


def uniform(low: float, high: float) -> Any:
    return fn.random.uniform(range=[low, high])


def windowed(x: Any, draw: random.Random, scale: int = 1) -> Any:
    match draw.randrange(4):
        case 0:
            return fn.crop(
                x, crop=[14 * scale, 13 * scale], crop_pos_x=uniform(0, 1), crop_pos_y=uniform(0, 1)
            )
        case 1:
            return fn.slice(x, rel_start=[0.1, 0.3], rel_end=[0.8, 0.9])
        case 2:
            # An anchor and an extent that are inputs, and different for each sample.
            anchor = fn.random.uniform(range=[0.0, 0.4], shape=[2])
            return fn.slice(x, anchor, [0.6, 0.55])
        case _:
            return fn.slice(x, 1, 11 * scale, axis_names="H")


def flipped(x: Any, draw: random.Random, scale: int = 1) -> Any:
    del scale
    return fn.flip(
        x,
        horizontal=fn.random.coin_flip() if draw.random() < 0.7 else 1,
        vertical=fn.random.coin_flip() if draw.random() < 0.5 else 0,
    )


def pixelwise(x: Any, draw: random.Random, scale: int = 1) -> Any:
    del scale
    match draw.randrange(10):
        case 0:
            return fn.brightness_contrast(x, brightness=uniform(0.5, 1.5), contrast=1.2)
        case 1:
            return fn.color_twist(x, hue=uniform(-90, 90), saturation=0.7, brightness=1.1)
        case 2:
            return fn.hsv(x, hue=30.0, saturation=uniform(0.5, 1.5), dtype=types.UINT8)
        case 3:
            return fn.cast(x, dtype=draw.choice([types.FLOAT, types.UINT8, types.INT16]))
        case 4:
            return fn.cast(x, dtype=draw.choice([types.FLOAT16, types.INT8, types.UINT16]))
        case 5:
            return fn.brightness(x, brightness=0.8, brightness_shift=0.1, dtype=types.FLOAT)
        case 6:
            gray = fn.color_space_conversion(
                fn.cast(x, dtype=types.UINT8), image_type=types.RGB, output_type=types.GRAY
            )
            return fn.color_space_conversion(gray, image_type=types.GRAY, output_type=types.RGB)
        case 7:
            return fn.color_space_conversion(
                fn.cast(x, dtype=types.UINT8), image_type=types.RGB, output_type=types.YCbCr
            )
        case 8:
            x = fn.cast(x, dtype=types.UINT8)
            return fn.lookup_table(x, dtype=draw.choice([types.FLOAT, types.UINT8]), **TABLE)
        case _:
            return fn.contrast(x, contrast=uniform(0.2, 2.0), dtype=types.INT8)


def normalized(x: Any, draw: random.Random, scale: int = 1, again: bool = False) -> Any:
    """Ends a chain; with `again` it gives an image that further operators take."""
    options: dict[str, Any] = {
        "dtype": types.UINT8 if again else draw.choice(NORMALIZED_TYPES),
        "output_layout": "HWC" if again else draw.choice(["CHW", "HWC", "CWH", "HCW", ""]),
        "mirror": fn.random.coin_flip() if draw.random() < 0.6 else 0,
        "mean": [120.0, 110.0, 100.0],
        "std": fn.random.uniform(range=[30.0, 60.0], shape=[3]),
        "scale": draw.choice([1.0, 30.0]),
        "shift": draw.choice([0.0, 3.0]),
    }
    if draw.random() < 0.5 and not again:
        options.update(crop=[9 * scale, 7 * scale], crop_pos_x=uniform(0, 1))
    if draw.random() < 0.2 and not again:
        options.update(
            crop=[30 * scale, 400 * scale], out_of_bounds_policy="pad", fill_values=[5.0]
        )
    if draw.random() < 0.2 and not again:
        options.update(pad_output=True)
    return fn.crop_mirror_normalize(x, **options)


def normalized_for_more(x: Any, draw: random.Random, scale: int = 1) -> Any:
    return normalized(x, draw, scale, again=True)


# By the letters that stand for them; resampling is each test's own.
STEPS = {
    "W": windowed,
    "F": flipped,
    "P": pixelwise,
    "N": normalized,
    "M": normalized_for_more,
}
