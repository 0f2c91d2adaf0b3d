# SPDX-License-Identifier: Apache-2.0
"""DALI's modes without a pipeline: `eager` (DALI 1) and `dynamic` (DALI 2).

Both are faces of the mechanism of ``torchdali.functional``. The guide is docs/guide/functional.md.
"""

from __future__ import annotations

import importlib
from typing import Any

from torchdali._common.unsupported import names_of

__all__ = ["dynamic", "eager"]  # loaded when they are asked for


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    return names_of(__name__)(name)
