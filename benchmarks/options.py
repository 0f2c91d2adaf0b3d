# SPDX-License-Identifier: Apache-2.0
"""The options of ``python -m benchmarks.run``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.ops import operators

PARTS = (
    "imagenet",
    "evaluation",
    "microseconds",
    "jpeg",
    "formats",
    "cold",
    "remote",
    "jpeg_index",
    "containers",
    "container_index",
    "ray_map",
    "jpeg_scaled",
    "auto_augment",
    "coco",
    "overhead",
    "functional_call",
    "inline_run",
    "transforms_call",
    "functional_batch",
    "expressions",
    "operators",
    "resize",
    "building",
    "external_source",
    "python_function",
    "numba_function",
    "loader",
    "held",
    "start",
    "compiled",
    "arrays",
    "memory",
    "workers",
    "scale",
    "scheduler",
    "contention",
    "autotune",
    "audio",
    "video",
)


def parse(description: str | None) -> argparse.Namespace:
    """Returns the options of the command line; `data` is an absolute path."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", required=True, help="folder with JPEG files, at any depth")
    real = Path(os.environ.get("TORCHDALI_DATA", ""), "audio")
    parser.add_argument(
        "--audio",
        type=Path,
        default=real if real.is_absolute() and real.is_dir() else None,
        help="folder with the folders wav, flac and ogg; default: audio in $TORCHDALI_DATA. "
        "Without it, only clips that are made are measured",
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--peers",
        nargs="+",
        default=[
            *("torchdali", "dali", "dataloader", "spdl", "webdataset", "huggingface"),
            *("opencv", "pillow", "torchvision", "kornia", "torch", "numpy", "numba", "memcpy"),
            *("torchaudio", "librosa", "kaldi", "soundfile", "soxr"),
            *("pyav", "decord", "torchcodec"),
        ],
    )
    parser.add_argument(
        "--operators", nargs="+", choices=operators.CASES, default=list(operators.CASES)
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--seconds", type=float, default=2.5, help="length of a peer's part of a round"
    )
    parser.add_argument("--epochs", type=int, default=50, help="epochs of the memory benchmark")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--update", type=Path, help="JSON file whose results of --parts are replaced"
    )
    parser.add_argument(
        "--out", type=Path, help="JSON file to write; default: a new one in benchmarks/results"
    )
    options = parser.parse_args()
    options.data = str(Path(options.data).resolve())
    options.audio = options.audio and str(options.audio.resolve())
    return options
