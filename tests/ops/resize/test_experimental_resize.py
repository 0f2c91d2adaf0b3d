# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.resize: fn.resize under another name."""

from __future__ import annotations

import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case

from torchdali import types

OP = "experimental.resize"
# DALI has it on the GPU only, and the same arguments on the CPU as fn.resize.
SAME = {"algorithm": "resample", "dali_op": "resize"}
CASES = [
    OpCase(OP, "HWC", (20, 30, 3), {"size": [10, 47]}, **SAME),
    OpCase(OP, "FCHW", (2, 3, 20, 30), {"resize_shorter": PerSample([9.0, 33.0])}, **SAME),
    OpCase(OP, "DHWC", (5, 8, 9, 1), {"resize_x": 14.0, "save_attrs": True}, **SAME),
    OpCase(
        OP,
        "HWC",
        (20, 30, 3),
        {
            "size": [10, 47],
            "interp_type": types.INTERP_CUBIC,
            "roi_start": [2, 3],
            "roi_end": [9, 30],
        },
        torch.float32,
        **SAME,
    ),
]


@for_each("case", CASES)
def test_is_resize(case):
    ours, plain = run_case(case), run_case(case.replace(op="resize"))
    assert ours.layouts == plain.layouts
    for a, b in zip(ours.samples(), plain.samples(), strict=True):
        for actual, expected in zip(a, b, strict=True):
            assert torch.equal(actual, expected)
