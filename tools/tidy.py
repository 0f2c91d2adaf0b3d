# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the given C++ files, or on those that changed since main.

The compile commands are extracted from the ninja file of the build, so that its flags are used.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def output_of(*command: str) -> str:
    """Returns the output of a command; raises an error if it fails."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def changed_files() -> list[str]:
    """Returns the C++ files below csrc that changed since the merge base with main."""
    for name in ("origin/main", "main"):
        base = subprocess.run(
            ["git", "merge-base", "HEAD", name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if base.returncode == 0:
            break
    commit = base.stdout.strip() or "HEAD~1"
    names = output_of("git", "diff", "--name-only", "--diff-filter=d", commit).split()
    return [n for n in names if n.startswith("csrc/") and n.endswith(".cpp")]


def main() -> None:
    """See the module's docstring."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tidy, ninja = shutil.which("clang-tidy", path=path), shutil.which("ninja", path=path)
    if tidy is None or ninja is None:
        raise SystemExit("tidy.py: needs clang-tidy and ninja: run `make tidy`")
    builds = sorted(ROOT.glob("build/cp*/build.ninja"), key=lambda p: p.stat().st_mtime)
    if not builds:
        raise SystemExit("tidy.py: needs a build: run `make build`")
    database = ROOT / "build" / "compile_commands.json"
    # The library of videos has a ninja file of its own, if it was built.
    folders = [builds[-1].parent, builds[-1].parent / "video"]
    commands = [
        command
        for folder in folders
        if (folder / "build.ninja").exists()
        for command in json.loads(output_of(ninja, "-C", str(folder), "-t", "compdb"))
    ]
    database.write_text(json.dumps(commands))
    files = sys.argv[1:] or changed_files()
    if not (folders[1] / "build.ninja").exists():
        files = [name for name in files if not name.startswith("csrc/video/")]

    def check(name: str) -> int:
        command = [tidy, "-p", str(database.parent), "--quiet", name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout)
        return done.returncode

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(check, files))
    print(f"clang-tidy: {len(files)} files, {sum(map(bool, results))} with findings")
    sys.exit(any(results))


if __name__ == "__main__":
    main()
