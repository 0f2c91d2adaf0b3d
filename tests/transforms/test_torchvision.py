# SPDX-License-Identifier: Apache-2.0
"""Equality with real torchvision, in the Python of `make torchvision` or `make peers`."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from helpers.torchvision_peer import find_python

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    name: ROOT / "tests" / "helpers" / f"torchvision_{name}.py"
    for name in ("program", "annotations", "classes", "detection")
}
CHECKS = [
    (name, check)
    for name, path in PROGRAMS.items()
    for check in re.findall(r"^def (check_\w+)", path.read_text(), re.MULTILINE)
]


@functools.cache
def results(name):
    python = find_python()
    if python is None:
        pytest.skip("TORCHDALI_TORCHVISION_PYTHON does not name a Python with torchvision")
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "tests"))
    done = subprocess.run(
        [python, str(PROGRAMS[name])],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("program", "check"), CHECKS)
def test_torchvision(program, check):
    found = results(program)[check]
    assert found is None, found
