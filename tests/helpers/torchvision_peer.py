# SPDX-License-Identifier: Apache-2.0
"""Results of real torchvision, from the Python of `make torchvision`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from .dali_oracle import required

_TESTS = Path(__file__).resolve().parents[1]
_PRELUDE = """
import random, sys
import helpers.torchvision_import
import numpy as np, PIL.Image, torch
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F
torch.set_num_threads(1)
torch.manual_seed(7)
random.seed(7)
given, results = dict(np.load(sys.argv[1])), {}
def tensor(x): return torch.from_numpy(x).permute(2, 0, 1).contiguous()
def pillow(x): return PIL.Image.fromarray(x if x.shape[2] == 3 else x[..., 0])
def array(x):
    if isinstance(x, torch.Tensor): return x.permute(1, 2, 0).numpy()
    x = np.array(x)
    return x if x.ndim == 3 else x[..., None]
"""
_END = "\nnp.savez(sys.argv[2], **{name: np.asarray(value) for name, value in results.items()})\n"


def find_python() -> str | None:
    """Returns a Python with torchvision; None if there is none.

    Raises:
        AssertionError: TORCHDALI_REQUIRE asks for one.
    """
    python = os.environ.get("TORCHDALI_TORCHVISION_PYTHON")
    if python is None:
        assert not required("torchvision"), "TORCHDALI_REQUIRE asks for torchvision"
    return python


def run_torchvision(program: str, **given: np.ndarray) -> dict[str, np.ndarray]:
    """Runs a program that reads the dict `given` and fills the dict `results` with arrays.

    It has v2, F, torch, np; tensor() and pillow() make images of HWC arrays, array() the opposite.
    Skips the test if there is no torchvision.
    """
    python = find_python()
    if python is None:
        pytest.skip("TORCHDALI_TORCHVISION_PYTHON does not name a Python with torchvision")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "given.npz"), Path(folder, "results.npz")
        np.savez(source, **given)
        done = subprocess.run(
            [python, "-c", _PRELUDE + program + _END, str(source), str(target)],
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return dict(np.load(target))
