# SPDX-License-Identifier: Apache-2.0
"""The pages for developers: their examples, in a copy of the checkout, build and pass tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "develop"
COPIED = ["csrc", "torchdali", "tests", "tools", "docs", "setup.py", "pyproject.toml", "README.md"]
# The path of a file in backquotes, and after an empty line its text.
FILE = re.compile(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# A compiler that takes the object files of this checkout for sources that are the same in the copy.
COMPILER = """\
#!{python}
import os, pathlib, sys
args = sys.argv[1:]
if "-c" in args:
    at = len(args) - args[::-1].index("-c")  # the last one: Python's own flags may have it, too
    source, target = pathlib.Path(args[at]), pathlib.Path(args[args.index("-o") + 1])
    copy, checkout = pathlib.Path({copy!r}), pathlib.Path({checkout!r})
    old_source, old = checkout / source.relative_to(copy), checkout / target.relative_to(copy)
    if old.exists() and old_source.exists() and old_source.read_bytes() == source.read_bytes():
        target.unlink(missing_ok=True)
        target.symlink_to(old)
        sys.exit()
os.execvp("c++", ["c++", *args])
"""


class Checkout:
    """A copy of what a build and tests need."""

    def __init__(self, path: Path) -> None:
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
            COMPILER.format(python=sys.executable, copy=str(path), checkout=str(ROOT))
        )
        compiler.chmod(0o755)

    def follow(self, page: str) -> None:
        """Writes the files of a page, and applies its diffs."""
        text = (PAGES / page).read_text()
        for name, content in FILE.findall(text):
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        for diff in DIFF.findall(text):
            self.run("git", "apply", "--recount", "-", text=diff)

    def build(self) -> None:
        """Builds the engine in place."""
        self.run(sys.executable, "setup.py", "-q", "build_ext", "--inplace")

    def link_engine(self) -> None:
        """Uses the engine of this checkout."""
        for library in (ROOT / "torchdali").glob("*.so"):
            (self.path / "torchdali" / library.name).symlink_to(library)

    def test(self, *arguments: str) -> str:
        """Returns what pytest prints, without failures."""
        return self.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)

    def run(self, *command: str, text: str | None = None) -> str:
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
            },
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout


def test_the_operator_its_gpu_half_and_the_reader_pass_all_suites(tmp_path):
    checkout = Checkout(tmp_path)
    checkout.follow("add_an_operator.md")
    checkout.follow("add_a_reader.md")
    checkout.build()
    assert passed(checkout.test("--op", "solarize", "--op", "readers.records")) > 10
    checkout.follow("add_a_gpu_half.md")
    checkout.build()
    assert passed(checkout.test("--op", "solarize")) > 10
    assert passed(checkout.test("tests/gpu", "--op", "solarize")) >= 1


def test_the_argument_of_dataloader_passes_its_tests(tmp_path):
    checkout = Checkout(tmp_path)
    checkout.follow("add_a_loader_argument.md")
    checkout.link_engine()
    file = "tests/loader/dataset/test_channels_last.py"
    options = "tests/loader/dataset/test_options.py"
    assert passed(checkout.test(file, options)) > 5


def passed(printed: str) -> int:
    """Returns how many tests passed."""
    match = re.search(r"(\d+) passed", printed)
    assert match, printed
    return int(match[1])
