# SPDX-License-Identifier: Apache-2.0
"""Builds and checks the wheels of this environment's Python, and of Python 3.12 and later ones.

The libraries in the wheel come from the sources of the distribution (libraries.py). A wheel needs
glibc 2.28, the unwinder of GCC, and torch; with nvcc it contains the GPU library. Everything is
built in build/manylinux, where later runs find it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

from tools import tree_copy
from tools.python_abi import LIMITED_API

from . import audit, libraries
from .debian import install_programs
from .target import ARCHITECTURES, ROOT, Target, say

# A wheel is for newer versions than the source, which is compiled for the one that it finds.
SOURCE_TORCH, WHEEL_TORCH = '"torch>=2.8"', '"torch>=2.11"'
# A line of ninja.
_COMPILED = re.compile(r"(\[\d+/\d+\]).* -c \S*/((csrc|build/(gpu_kernels|units))/\S+)")


def headers_of_limited_api() -> Path | None:
    """Returns the headers of a Python that has the limited API of the wheel, if one is found."""
    if named := os.environ.get("TORCHDALI_PYTHON_INCLUDE"):
        return Path(named)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in range(LIMITED_API[1], LIMITED_API[1] + 10):
        program = shutil.which(f"python3.{minor}")
        prefixes = [Path(program).parents[1]] if program else []
        for prefix in [*prefixes, *sorted(pyenv.glob(f"versions/3.{minor}.*"))]:
            headers = prefix / "include" / f"python3.{minor}"
            if (headers / "Python.h").exists():
                return headers
    return None


def licenses() -> dict[Path, str]:
    """Returns the texts of the licenses of what is in the wheel, which setuptools adds to it."""
    texts = {Path(name): text for name, text in libraries.licenses().items()}
    for path in metadata.files("nanobind") or ():
        if path.name == "LICENSE" and "licenses" in path.parts:
            texts[Path("LICENSE.nanobind")] = path.read_text()
        if path.name == "robin_map.h":  # the license is its first comment
            texts[Path("LICENSE.robin-map")] = path.read_text().partition("*/")[0]
    return texts


def build(target: Target, headers: Path | None) -> Path:
    """Returns a wheel of the checkout, which has not been checked.

    Args:
        target: what it is for.
        headers: those of the Python whose limited API it uses; None for this Python.
    """
    tree, out = target.build / "tree", target.build / "unchecked"
    project = (ROOT / "pyproject.toml").read_text()
    if SOURCE_TORCH not in project:
        raise SystemExit(f"wheel: pyproject.toml does not require {SOURCE_TORCH}")
    changed = {ROOT / "pyproject.toml": project.replace(SOURCE_TORCH, WHEEL_TORCH)}
    tree_copy.update(tree, ROOT, changed, licenses())
    shutil.rmtree(out, ignore_errors=True)
    environment = target.environment()
    environment.pop("TORCHDALI_PYTHON_INCLUDE", None)
    if headers:
        environment["TORCHDALI_PYTHON_INCLUDE"] = str(headers)
    command = [sys.executable, "setup.py", "bdist_wheel", f"--plat-name={target.platform}"]
    log = target.build / "setup.log"
    with (
        log.open("w") as lines,
        subprocess.Popen(
            [*command, f"--dist-dir={out}"],
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        for line in process.stdout or ():
            lines.write(line)
            if match := _COMPILED.match(line):
                say(f"{match[1]} {match[2]}")
    if process.returncode:
        raise SystemExit(f"{log.read_text()[-4000:]}\nwheel: setup.py failed, see {log}")
    (wheel,) = out.glob("*.whl")
    return wheel


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", choices=ARCHITECTURES, default=platform.machine())
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    start = time.monotonic()
    target = Target(options.arch)
    install_programs(target)
    target.make_shared()
    for library in libraries.LIBRARIES:
        libraries.build(library, target)
    is_limited = sys.version_info >= LIMITED_API
    headers = None if is_limited else headers_of_limited_api()
    if not headers and not is_limited:
        say("no Python 3.12 or newer with headers: only the wheel of this Python is built")
    versions = [None, headers] if headers else [None]
    made = [audit.audit(build(target, version), target, options.out) for version in versions]
    for wheel in made:
        say(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")
    say(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
