# SPDX-License-Identifier: Apache-2.0
"""Later epochs of the pipeline of imagenet.py, without and with an index of the JPEG files.

Axes: those of imagenet.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.pipelines import imagenet
from benchmarks.pipelines.files import find_files

PEERS = ["torchdali-index", "torchdali-plain", "dali-plain"]
# After so many epochs of random windows hardly anything is left to note.
EPOCHS = 6


def make(peer: str, axes: dict[str, Any]) -> Callable[[], int]:
    """Returns a function that makes one batch and returns its size."""
    if peer != "torchdali-index":
        return imagenet.make(peer, axes)
    step = imagenet.make("torchdali-plain", {**axes, "jpeg_index": "memory"})
    samples = 0
    while samples < EPOCHS * len(find_files(axes["data"])):
        samples += step()
    return step
