# SPDX-License-Identifier: Apache-2.0
"""Copies of a checkout that are built differently: for tools/mutants.py and measure_coverage.py."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Products of builds and runs, and what belongs to git.
LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv*",
    "build",
    "dist",
    "out",
    "*.so",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    "*.egg-info",
    "_build_info.py",
)


def files(tree: Path) -> Iterator[Path]:
    """Yields the files of a checkout that are no products of a build."""
    left_out = LEFT_OUT(str(tree), [entry.name for entry in tree.iterdir()])
    for entry in sorted(tree.iterdir()):
        if entry.name in left_out:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from files(entry)
        elif entry.is_file():
            yield entry


def update(copy: Path, tree: Path, changed: Mapping[Path, str], added: Mapping[Path, str]) -> None:
    """Brings a copy of a checkout up to date; files that stay the same are not touched.

    Args:
        copy: where it lies.
        tree: the checkout.
        changed: other texts for some of its files.
        added: files that the copy has besides, by their paths in it.
    """
    written = set()
    for path, text in added.items():
        written.add(copy / path)
        _write(copy / path, text.encode())
    for source in files(tree):
        to = copy / source.relative_to(tree)
        written.add(to)
        text = changed.get(source)
        _write(to, source.read_bytes() if text is None else text.encode(), source)
    for stale in set(files(copy)) - written:
        stale.unlink()


def _write(path: Path, content: bytes, like: Path | None = None) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if like is not None:
        shutil.copymode(like, path)


def build(copy: Path, python: str, jobs: int, environment: Mapping[str, str]) -> None:
    """Compiles what changed in a copy, without the GPU library."""
    env = {**os.environ, **environment, "MAX_JOBS": str(jobs), "TORCHDALI_CUDA": "0"}
    command = [python, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the copy does not compile:\n{done.stdout}{done.stderr}")


def commit_of(tree: Path) -> str:
    """Returns the commit of a checkout."""
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty", "--abbrev=7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "an unknown commit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which checkout, and with what."""
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to look at")
    parser.add_argument("--build", type=Path, help="default: a folder in build/ of the checkout")
    parser.add_argument("--out", type=Path, help="default: results.json in the build folder")
    parser.add_argument("--python", help="default: that of the checkout's .venv")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--compare", type=Path, metavar="JSON", help="compare with these results")


def complete(options: argparse.Namespace, name: str) -> None:
    """Fills in defaults of add_arguments(); `name`: of the folder in build/."""
    options.tree = options.tree.resolve()
    options.build = (options.build or options.tree / "build" / name).resolve()
    options.out = (options.out or options.build / "results.json").resolve()
    own = options.tree / ".venv" / "bin" / "python"
    options.python = options.python or (str(own) if own.exists() else sys.executable)
