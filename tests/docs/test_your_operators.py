# SPDX-License-Identifier: Apache-2.0
"""docs/guide/your_operators.md: its C++ compiles, its Python runs, its package builds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "guide" / "your_operators.md").read_text()
BLOCKS = {
    kind: re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for kind in ("cpp", "python", "bash")
}

CHECKS = """
import torch
from torchdali import Pipeline, fn, functional
image = torch.arange(40 * 64 * 3).remainder(256).to(torch.uint8).reshape(40, 64, 3)
{load}
assert torch.equal(functional.my.halve(image, times=2), image >> 2)
pipe = Pipeline(1, 1, device_id=None)
with pipe:
    data = fn.external_source(source=lambda: [image], layout="HWC")
    pipe.set_outputs(fn.flip(fn.my.halve(data)))
assert torch.equal(pipe.run()[0].as_torch_list()[0], (image >> 1).flip(1))
"""


def run(folder: Path, *command: str) -> None:
    paths = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "kept"), "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_operator_that_is_loaded(tmp_path):
    (source,), (load, _) = BLOCKS["cpp"], BLOCKS["python"]
    (tmp_path / "half.cpp").write_text(source)
    run(tmp_path, "-c", CHECKS.format(load=load))


def test_the_package(tmp_path):
    (source,), (_, setup), (stubs,) = BLOCKS["cpp"], BLOCKS["python"], BLOCKS["bash"]
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "half.cpp").write_text(source)
    (tmp_path / "setup.py").write_text(setup)
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from torchdali import extension\n"
        "extension.load_library(__file__.replace('__init__.py', '_operators.so'))\n"
    )
    run(tmp_path, "setup.py", "-q", "build_ext", "--inplace")
    assert (package / "_operators.so").exists()
    command = stubs.split()
    assert command[0] == "python"
    run(tmp_path, *command[1:])
    assert "def halve(" in (package / "fn" / "my.pyi").read_text()
    run(tmp_path, "-c", CHECKS.format(load="from my_package import fn, functional"))
