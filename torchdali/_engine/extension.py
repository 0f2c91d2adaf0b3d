# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled engine, and reports what to do if that fails.

The extension is imported from here only: torch has to be imported first, and has to be the version
that the extension was compiled against.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from torchdali._common import sample

__all__ = ["_C", "build_info"]

_REBUILD = "pip install --no-build-isolation --force-reinstall --no-deps torchdali"


def _minor(version: str) -> tuple[str, ...]:
    """Returns the part of torch's version that its C++ interface goes with."""
    return tuple(version.split("+")[0].split(".")[:2])


def _not_compiled() -> str:
    """Returns what to do if this copy of the package has no engine."""
    here = Path(__file__).resolve().parents[1]
    for folder in sys.path:
        other = Path(folder, "torchdali")
        if other.joinpath("_build_info.py").exists() and not other.samefile(here):
            return (
                f"torchdali: Python has found the sources in {here}, which are not compiled, "
                f"before the torchdali that is installed in {other}.\n"
                "  To fix it: run Python in another folder, or compile them with `make build`"
            )
    return (
        "torchdali: the engine has not been compiled.\n"
        "  To fix it: run `make build` in a checkout, or `pip install .`"
    )


try:
    from torchdali import _build_info as build_info
except ImportError as error:
    raise ImportError(_not_compiled()) from error

TORCH_VERSION = build_info.TORCH_VERSION
if _minor(TORCH_VERSION) != _minor(torch.__version__):
    raise ImportError(
        f"torchdali: the engine was compiled against torch {TORCH_VERSION}, but torch "
        f"{torch.__version__} is installed; their C++ interfaces differ.\n"
        f"  To fix it: rebuild it against this one, in a checkout with `make build`, else with "
        f"`{_REBUILD}`"
    )

try:
    from torchdali import _C
except ImportError as error:
    raise ImportError(
        f"torchdali: the engine could not be loaded: {error}\n"
        f"  It was compiled against torch {TORCH_VERSION}; {torch.__version__} is installed.\n"
        f"  To fix it: rebuild it, in a checkout with `make build`, else with `{_REBUILD}`"
    ) from error

sample.set_engine(_C.current_sample)
