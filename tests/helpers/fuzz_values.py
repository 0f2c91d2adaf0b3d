# SPDX-License-Identifier: Apache-2.0
"""The values that helpers/fuzz.py chooses from."""

from __future__ import annotations

import math

import torch

DTYPES = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.uint16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    torch.bool,
]
EXTENTS = [0, 1, 2, 3, 4, 5, 7, 16, 17, 33, 64]
# Beside an extent of 0, which makes them cost nothing.
HUGE_EXTENTS = [1 << 31, 1 << 40, 1 << 50]
MOST_ELEMENTS = 1 << 16
INTS = [-1, 0, 1, 2, 3, 4, 5, 7, 10, 100, -2, -100, 255, 256, 1 << 16, (1 << 31) - 1, -(1 << 31)]
INTS += [1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, 1.0, 0.5, -0.5, -1.0, 2.0, 1.5, 3.0, 10.0, 45.0, 100.0, 255.0, -100.0, 1e-6, 1e6]
FLOATS += [1e-38, 1e30, -1e30, 3e38, 1e300, math.inf, -math.inf, math.nan]
# Whatever strings operators know; others ignore them or refuse them.
STRINGS = ["", "H", "W", "C", "HW", "WH", "HWC", "CHW", "D", "xyXY", "xyWH", "error"]
STRINGS += ["same", "valid", "constant", "replicate", "reflect_101", "wrap", "center", "corner"]
STRINGS += ["pad", "trim_to_shape", "iou", "overlap", "round", "truncate", "source_info"]
STRINGS += ["no such thing", "\u00e9"]
LAYOUTS = ["", "H", "HW", "HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW", "FDHWC", "F*", "F**"]
