# SPDX-License-Identifier: Apache-2.0
"""Copies of this checkout in which tests change sources and build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ["csrc", "torchdali", "tests", "tools", "docs", "setup.py", "pyproject.toml", "README.md"]

# A compiler that takes the object files of this checkout for sources that are the same in the copy.
COMPILER = """\
#!{python}
import os, pathlib, re, sys

def text(source, root):
    code = source.read_text()
    for name in re.findall('^#include "(.*[.]cpp)"', code, re.M):  # of a unit (compile_units.py)
        code += (root / "csrc" / name).read_text()
    return code

args = sys.argv[1:]
if "-c" in args:
    at = len(args) - args[::-1].index("-c")  # the last one: Python's own flags may have it, too
    source, target = pathlib.Path(args[at]), pathlib.Path(args[args.index("-o") + 1])
    copy, checkout = pathlib.Path({copy!r}), pathlib.Path({checkout!r})
    old_source, old = checkout / source.relative_to(copy), checkout / target.relative_to(copy)
    same = old_source.exists() and text(old_source, checkout) == text(source, copy)
    if same and old.exists() and not ({compiled!r} and {compiled!r} in text(source, copy)):
        target.unlink(missing_ok=True)
        target.symlink_to(old)
        sys.exit()
os.execvp("c++", ["c++", *args])
"""


class Checkout:
    """A copy of what a build and tests need.

    Args:
        path: an empty folder.
        compiled: sources with this text are always compiled; "": sources that differ.
    """

    def __init__(self, path: Path, compiled: str = "") -> None:
        self.path = path
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.so")
                shutil.copytree(source, path / name, ignore=ignored)
            else:
                shutil.copy(source, path / name)
        compiler = path / "compiler"
        compiler.write_text(
            COMPILER.format(
                python=sys.executable, copy=str(path), checkout=str(ROOT), compiled=compiled
            )
        )
        compiler.chmod(0o755)

    def build(self, env: Mapping[str, str] | None = None) -> str:
        """Builds the engine in place; returns what setup.py prints."""
        return self.run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", env=env)

    def link_engine(self) -> None:
        """Uses the engine of this checkout."""
        for library in (ROOT / "torchdali").glob("*.so"):
            (self.path / "torchdali" / library.name).symlink_to(library)

    def test(self, *arguments: str) -> str:
        """Returns what pytest prints, without failures."""
        return self.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)

    def run(
        self, *command: str, text: str | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """Runs a command in the copy; returns what it prints."""
        done = subprocess.run(
            command,
            cwd=self.path,
            env={
                **os.environ,
                "CXX": str(self.path / "compiler"),
                "CCACHE_DISABLE": "1",  # it would call the compiler with other arguments
                "PYTHONPATH": str(self.path),
                "TORCHDALI_CUDA": "0",
                "TORCHDALI_REQUIRE": "",
                **(env or {}),
            },
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout
