# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/guide whose code tests run."""

from __future__ import annotations

__all__ = ["RUN"]

# The code blocks of each page run one after the other, as one program, which needs these packages.
RUN: dict[str, list[str]] = {
    "arrays.md": [],
    "audio.md": [],
    "augmentation.md": [],
    "coco.md": [],
    "data.md": ["pyarrow", "datasets"],
    "from_dali.md": [],
    "from_torchvision.md": ["datasets"],
    "functional.md": [],
    "images.md": [],
    "loader.md": [],
    "numba.md": ["numba"],
    "other_loops.md": [],
    "pipelines.md": [],
    "profiling.md": [],
    "python_functions.md": [],
    "ray.md": ["ray.data"],
    "remote_files.md": ["fsspec"],
    "shards.md": [],
    "tables.md": ["pyarrow", "datasets"],
    "training.md": [],
    "video.md": [],
}
