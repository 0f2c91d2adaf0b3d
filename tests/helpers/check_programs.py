# SPDX-License-Identifier: Apache-2.0
"""What programs share that compare with another package, in the Python that has it."""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from typing import Any

import torch

__all__ = ["run_checks"]


def run_checks(names: dict[str, Any], seed: int | None = None) -> None:
    """Calls functions, and prints a JSON document: for each the traceback of its failure, or null.

    Args:
        names: globals() of a program. The functions are those whose names begin with "check_".
        seed: of torch's global generator before each of them; None: it is not set.
    """
    warnings.simplefilter("ignore")
    results: dict[str, str | None] = {}
    for name, check in list(names.items()):
        if not name.startswith("check_"):
            continue
        if seed is not None:
            torch.manual_seed(seed)
        try:
            check()
            results[name] = None
        except Exception:
            results[name] = traceback.format_exc()
    sys.stdout.write(json.dumps(results))
