# SPDX-License-Identifier: Apache-2.0
"""Outputs of more than 16 MB, which are written with stores that bypass the caches, have the values
of small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import run_op

from torchdali import fn, pipeline_def, types

# Odd sizes, so that samples begin anywhere in a line of the cache.
IMAGE = (421, 643, 3)
CASES = {
    "bytes to floats": ("cast", {"dtype": types.FLOAT}),
    "bytes to 16 bits": ("cast", {"dtype": types.INT16}),
    "colors to colors": (
        "color_space_conversion",
        {"image_type": types.RGB, "output_type": types.YCbCr},
    ),
    "colors to gray": (
        "color_space_conversion",
        {"image_type": types.RGB, "output_type": types.GRAY},
    ),
    "channels reversed": (
        "color_space_conversion",
        {"image_type": types.RGB, "output_type": types.BGR},
    ),
    "equalized colors": ("equalize", {}),
    "regions": (
        "multi_paste",
        {
            "in_anchors": np.array([[3, 5]], np.int32),
            "out_anchors": np.array([[1, 2]], np.int32),
            "shapes": np.array([[410, 601]], np.int32),
        },
    ),
    "signals": ("preemphasis_filter", {}),
}


@for_each("name", CASES)
def test_large_outputs_equal_small_ones(name):
    op, args = CASES[name]
    samples = 64 if name == "colors to gray" else 24
    data = random_tensor((samples, *IMAGE), torch.uint8, 1)
    layout = "HWC"
    if name == "signals":
        data, layout = data.view(samples, -1).float(), ""

    @pipeline_def(batch_size=samples, num_threads=2, device_id=None)
    def define() -> Any:
        fed = fn.external_source(lambda: data, no_copy=True, layout=layout)
        return getattr(fn, op)(fed, **args)

    results = define().run()[0].as_torch()
    assert results.numel() * results.element_size() >= 16 << 20
    for i in range(0, samples, 7):
        assert torch.equal(results[i], run_op(op, data[i], layout=layout, **args))
