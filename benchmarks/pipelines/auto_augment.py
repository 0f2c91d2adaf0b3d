# SPDX-License-Identifier: Apache-2.0
"""The preprocessing of ImageNet training with automatic augmentation of the crop.

Axes: those of imagenet.py, and ``scheme``: "rand" (RandAugment, two operations of magnitude 9) or
"trivial" (TrivialAugment).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.pipelines import imagenet

PEERS = ["torchdali", "dali"]


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that takes one batch and returns its size."""
    return imagenet.make(f"{peer}-plain", axes)
