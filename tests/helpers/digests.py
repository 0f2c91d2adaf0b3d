# SPDX-License-Identifier: Apache-2.0
"""Digests of the results of cases; run as a program to get them with another instruction set.

``TORCHDALI_ISA=baseline python -m helpers.digests [OPERATOR ...]``, with tests/ on the path, prints
them as JSON: of all operators, or of those named.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings

import torch

from . import case_files
from .ops import OpCase, Run, run_case


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
    if len(sys.argv) > 1:
        case_files.select(sys.argv[1:])
    print(json.dumps(digests(case_files.all_cases())))
