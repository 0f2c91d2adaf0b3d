# SPDX-License-Identifier: Apache-2.0
"""Lets torchvision be imported by a torch without CUDA, for which PyPI has no torchvision.

Its extension cannot be loaded then, and the names of some operators have to exist; no transform
uses them. Import this before torchvision.
"""

from __future__ import annotations

import torch

KEPT: list[torch.library.Library] = []  # operators go with their library

try:
    import torchvision  # noqa: F401
except RuntimeError:
    KEPT.append(torch.library.Library("torchvision", "FRAGMENT"))
    for _name in ("nms", "qnms"):
        KEPT[0].define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
