# SPDX-License-Identifier: Apache-2.0
"""Digests of what every case gives; run as a program to get them with another instruction set.

``TORCHDALI_ISA=baseline python -m helpers.digests`` (with tests/ on the path) prints them as JSON.
"""

from __future__ import annotations

import hashlib
import json
import warnings

import torch

from .ops import OpCase, Run, all_cases, run_case


def digest(run: Run) -> str:
    """Returns a digest of all samples of a run: shapes, types, layouts and bytes."""
    state = hashlib.sha256()
    for layout, samples in zip(run.layouts, run.samples(), strict=True):
        state.update(layout.encode())
        for sample in samples:
            state.update(f"{tuple(sample.shape)} {sample.dtype}".encode())
            flat = sample.contiguous().reshape(-1)
            state.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return state.hexdigest()


def digests(cases: list[OpCase]) -> list[str]:
    """Returns the digest of each case."""
    return [digest(run_case(case)) for case in cases]


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # cases of deprecated arguments
    print(json.dumps(digests(all_cases())))
