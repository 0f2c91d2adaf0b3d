# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled engine, and reports what to do if that fails.

The extension is imported from here only: torch, whose libraries it uses, has to be imported first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from torchdali._common import sample, sndfile
from torchdali._storage import options

__all__ = ["_C", "build_info"]

_MIN_TORCH = (2, 8)


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

if tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < _MIN_TORCH:
    raise ImportError(
        f"torchdali: torch {'.'.join(map(str, _MIN_TORCH))} or newer is needed, "
        f"{torch.__version__} is installed.\n"
        "  To fix it: pip install --upgrade torch"
    )

try:
    from torchdali import _C
except ImportError as error:
    raise ImportError(
        f"torchdali: the engine could not be loaded: {error}\n"
        f"  It was compiled with torch {build_info.TORCH_VERSION}; {torch.__version__} is "
        "installed.\n"
        "  To fix it: install it again, in a checkout with `make build`, else with `pip install "
        "--force-reinstall --no-deps torchdali`"
    ) from error

_C.set_sndfile_path(sndfile.find_library())
_C.set_video_library(str(Path(__file__).resolve().parents[1] / "_video.so"))
sample.set_engine(_C.current_sample)
options.connect_engine(_C.set_storage, _C.begin_storage_in_child)
