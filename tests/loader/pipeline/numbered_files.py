# SPDX-License-Identifier: Apache-2.0
"""Pipelines over numbered files, whose bytes and labels identify the sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from torchdali import fn, pipeline_def


def write_numbers(root: Path, count: int) -> Path:
    """Writes `count` files; sample i has its number in two bytes, and as its label."""
    root.mkdir(parents=True, exist_ok=True)
    lines = []
    for i in range(count):
        (root / f"{i:04}.bin").write_bytes(bytes([i % 256, i // 256]))
        lines.append(f"{i:04}.bin {i}\n")
    (root / "list.txt").write_text("".join(lines))
    return root


@pipeline_def(batch_size=4, num_threads=2)
def numbers(root: Path, reader: Mapping[str, Any] | None = None):
    data, label = fn.readers.file(file_list=str(root / "list.txt"), name="files", **(reader or {}))
    return {"data": data, "label": label, "noise": fn.random.uniform(range=[0.0, 1.0])}


@pipeline_def(batch_size=4, num_threads=2)
def ragged(root: Path):
    data, label = fn.readers.file(file_list=str(root / "list.txt"))
    return data, label


class Counter:
    """A source of `count` samples, which takes an index."""

    def __init__(self, count: int, batch_size: int) -> None:
        self.count, self.batch_size = count, batch_size

    def __call__(self, iteration: int) -> list[np.ndarray]:
        first = iteration * self.batch_size
        if first >= self.count:
            raise StopIteration
        last = min(self.count, first + self.batch_size)
        return [np.array([i], np.int32) for i in range(first, last)]


@pipeline_def(batch_size=4, num_threads=2)
def counted(count: int, parallel: bool = False):
    return {"label": fn.external_source(source=Counter(count, 4)), "noise": fn.random.uniform()}


def labels(batches: Any) -> list[int]:
    """Returns the labels of batches, one after the other."""
    return [int(label) for batch in batches for label in batch["label"]]
