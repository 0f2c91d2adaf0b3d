# SPDX-License-Identifier: Apache-2.0
"""Installs a wheel as its users do, and tests it: ``python -m tools.manylinux.install``.

The environment is new, has no compiler in its PATH, and lies outside of the checkout, as do the
tests. Arguments after ``--`` are for pytest.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tools import tree_copy
from tools.python_abi import LIMITED_API

from .target import ROOT, say

# What would be imported instead of the wheel, and tests of the checkout itself.
LEFT_OUT = ("torchdali", "setup.py")
TESTS_OF_CHECKOUT = (
    "tests/test_build.py",
    "tests/test_encapsulation.py",
    "tests/test_layering.py",
    "tests/test_python_abi.py",
    "tests/test_typing.py",
    "tests/docs",
)
QUICK = "not slow and not stress and not cuda and not dali"


def timed(text: str, command: list[str], **options: Any) -> None:
    """Runs a command and says how long it took."""
    start = time.monotonic()
    if subprocess.run(command, check=False, **options).returncode:
        raise SystemExit(f"wheel: this failed: {' '.join(command)}")
    say(f"{text}: {time.monotonic() - start:.1f} s")


def ask(python: str, code: str) -> str:
    """Returns what a program prints."""
    command = [python, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def wheel_for(python: str) -> Path:
    """Returns the newest wheel in dist/ for a version of Python."""
    minor = int(ask(python, "import sys; print(sys.version_info[1])"))
    limited = LIMITED_API[1]
    tag = f"cp3{limited}-abi3" if minor >= limited else f"cp3{minor}-cp3{minor}"
    found = list((ROOT / "dist").glob(f"*-{tag}-*_{platform.machine()}.whl"))
    if not found:
        raise SystemExit(f"wheel: dist/ has no wheel for {python}: run `make wheel`")
    return max(found, key=lambda path: path.stat().st_mtime)


def write_snippet(folder: Path) -> str:
    """Writes the first snippet of the README, and pictures for it; returns its name."""
    pictures = folder / "photos" / "gray"
    pictures.mkdir(parents=True)
    for number in range(64):
        pixels = bytes([4 * number]) * (48 * 64 * 3)
        (pictures / f"{number}.ppm").write_bytes(b"P6 64 48 255\n" + pixels)
    code = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    (folder / "snippet.py").write_text(code)
    return "snippet.py"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="default: the one in dist/")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", help="a requirement; default: the torch that PYTHON can import")
    parser.add_argument("pytest", nargs="*", help="after --: which of the quick tests")
    options = parser.parse_args()
    wheel = options.wheel or wheel_for(options.python)
    selected = ["-m", QUICK, *(f"--ignore={name}" for name in TESTS_OF_CHECKOUT), *options.pytest]
    with tempfile.TemporaryDirectory(prefix="torchdali-wheel-") as name:
        folder = Path(name)
        venv, checkout = folder / "venv", folder / "checkout"
        python = str(venv / "bin" / "python")
        subprocess.run([options.python, "-m", "venv", str(venv)], check=True)
        environment = {
            key: value
            for key, value in os.environ.items()
            if key.startswith(("PIP_", "TORCHDALI_DATA", "OPENBLAS")) or key in ("HOME", "LANG")
        }
        environment["PATH"] = str(venv / "bin")
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        if options.torch:
            timed(options.torch, [*pip, options.torch], env=environment)
        else:
            (site,) = venv.glob("lib/python*/site-packages")
            where = Path(ask(options.python, "import torch; print(torch.__file__)")).parents[1]
            (site / "torch-of-parent.pth").write_text(f"{where}\n")
        timed(wheel.name, [*pip, str(wheel)], env=environment)
        checkout.mkdir()
        here = {"cwd": checkout, "env": environment}
        timed("information", [python, "-m", "torchdali.info"], **here)
        snippet = [python, write_snippet(checkout)]
        timed("first snippet of the README", snippet, **here)
        listing = [python, str(ROOT / "tools" / "requirements.py"), "test"]
        wanted = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
        timed("the tests' requirements", [*pip, *wanted.splitlines()], env=environment)
        for path in tree_copy.files(ROOT):
            part = path.relative_to(ROOT)
            if part.parts[0] not in LEFT_OUT:
                (checkout / part).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, checkout / part)
        pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        jobs = os.environ.get("MAX_JOBS", str(len(os.sched_getaffinity(0))))
        timed("tests", [*pytest, "-n", jobs, *selected], **here)


if __name__ == "__main__":
    main()
