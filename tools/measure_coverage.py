# SPDX-License-Identifier: Apache-2.0
"""Lines and branches that the tests run: of Python by coverage.py, of C++ by gcov.

    python tools/measure_coverage.py                     # this checkout, all tests
    python tools/measure_coverage.py --tree ../other     # another one
    python tools/measure_coverage.py -- -k resize        # arguments for pytest
    python tools/measure_coverage.py --compare old.json  # what was run there, and is not run here?

A copy of the tree in build/coverage is compiled with ``--coverage``, so it leaves the normal build
alone. The tests run once, in it. All processes that they start are measured too, except those that
end by a signal. Results go to results.json and results.md in that folder: totals, folders, files,
and the text of the lines that no test runs. Comparing looks at these texts, so that code may move
between files.

The name is not coverage.py, because Numba imports a module of that name where it finds one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import tree_copy

# Writes the counters of gcov when a process ends by os._exit(), as forked workers do; libgcov does
# it at a normal end only. The two extensions are linked with a libgcov each.
DUMP = """\
// Made by tools/measure_coverage.py.
extern "C" void __gcov_dump();
extern "C" void __gcov_reset();
extern "C" __attribute__((visibility("default"))) void torchdali_dump_coverage() {
  __gcov_dump();
  __gcov_reset();
}
"""
SITE = """\
# Made by tools/measure_coverage.py: runs at the start of every Python process.
import os
import sys

import coverage

coverage.process_startup()
_end = os._exit


def _exit(status):
    for name in ("torchdali._C", "torchdali._shm"):
        module = sys.modules.get(name)
        if module is not None:
            import ctypes

            ctypes.CDLL(module.__file__).torchdali_dump_coverage()
    _end(status)


os._exit = _exit
"""
SETTINGS = """\
[run]
branch = True
parallel = True
concurrency = multiprocessing,thread
patch = _exit
source = {copy}/torchdali
data_file = {data}/coverage
disable_warnings = no-data-collected,module-not-measured,module-not-imported,couldnt-parse
[report]
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @overload
"""
Counts = dict[str, int]
KINDS = ("lines", "lines_run", "branches", "branches_run")


def prepare(options: argparse.Namespace) -> Path:
    """Makes and compiles the copy; returns it."""
    copy: Path = options.build / "tree"
    added = {Path("csrc", folder, "dump_coverage.cpp"): DUMP for folder in ("python", "workers")}
    tree_copy.update(copy, options.tree, {}, added)
    flags = "--coverage -fprofile-update=atomic"
    environment = {"CFLAGS": flags, "CXXFLAGS": flags, "LDFLAGS": "--coverage"}
    # At -O1. No compiler cache: objects contain the path of their counters' file.
    environment |= {"TORCHDALI_DEBUG": "1", "CCACHE_DISABLE": "1"}
    tree_copy.build(copy, options.python, options.jobs, environment)
    return copy


def run_tests(copy: Path, options: argparse.Namespace) -> int:
    """Runs the tests; returns pytest's exit status."""
    data, site = options.build / "data", options.build / "site"
    shutil.rmtree(data, ignore_errors=True)
    for path in copy.rglob("*.gcda"):
        path.unlink()
    data.mkdir(parents=True)
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(SITE)
    settings = options.build / "coveragerc"
    settings.write_text(SETTINGS.format(copy=copy, data=data))
    environment = {
        **os.environ,
        "COVERAGE_PROCESS_START": str(settings),
        "PYTHONPATH": os.pathsep.join([str(copy), str(site)]),
        "CI": "1",  # hypothesis draws the same examples in every run
    }
    command = [options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not cuda"]
    command += ["-n", str(options.jobs), "--timeout=600", *options.pytest]
    return subprocess.run(command, cwd=copy, env=environment, check=False).returncode


def python_files(copy: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Returns what coverage.py has counted, by file."""
    settings = f"--rcfile={options.build / 'coveragerc'}"
    report = options.build / "python.json"
    tool = [options.python, "-m", "coverage"]
    subprocess.run([*tool, "combine", "-q", "--keep", settings], cwd=copy, check=True)
    subprocess.run([*tool, "json", "-q", settings, "-o", str(report)], cwd=copy, check=True)
    found = {}
    for name, entry in json.loads(report.read_text())["files"].items():
        summary = entry["summary"]
        lines = (copy / name).read_text().splitlines()
        found[str(Path(name))] = {
            "lines": summary["num_statements"],
            "lines_run": summary["covered_lines"],
            "branches": summary["num_branches"],
            "branches_run": summary["covered_branches"],
            "not_run": [lines[n - 1].strip() for n in entry["missing_lines"]],
        }
    return found


def engine_files(copy: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Returns what gcov has counted, by file."""
    report = options.build / "engine.json"
    command = [options.python, "-m", "gcovr", "--root", str(copy), "--filter", "csrc/"]
    command += ["--exclude", ".*/dump_coverage.cpp", "--json", str(report), "-j", str(options.jobs)]
    # Branches that exceptions take out of every call say nothing about tests.
    command += ["--exclude-throw-branches", "--exclude-unreachable-branches"]
    command += ["--merge-mode-functions=separate", "--gcov-ignore-parse-errors=all"]
    command += ["--gcov-ignore-errors=all", str(copy / "build")]
    # Otherwise the hottest lines, run more than 2**32 times, count as not run.
    command += ["--gcov-suspicious-hits-threshold", "0"]
    subprocess.run(command, cwd=copy, check=True)
    found = {}
    for entry in json.loads(report.read_text())["files"]:
        text = (copy / entry["file"]).read_text().splitlines()
        lines: dict[int, int] = defaultdict(int)
        branches: dict[tuple[int, int], int] = defaultdict(int)
        for line in entry["lines"]:
            number = line["line_number"]
            lines[number] += line["count"]
            for index, branch in enumerate(line.get("branches", [])):
                branches[number, index] += branch["count"]
        found[entry["file"]] = {
            "lines": len(lines),
            "lines_run": sum(count > 0 for count in lines.values()),
            "branches": len(branches),
            "branches_run": sum(count > 0 for count in branches.values()),
            "not_run": [text[n - 1].strip() for n, count in sorted(lines.items()) if not count],
        }
    return found


def summed(files: dict[str, dict[str, Any]], depth: int) -> dict[str, Counts]:
    """Returns the sums by folder, as many folders deep; 0: one sum for all."""
    sums: dict[str, Counts] = defaultdict(lambda: dict.fromkeys(KINDS, 0))
    for name, entry in files.items():
        folder = "/".join(Path(name).parts[:-1][: depth or 1])
        for kind in KINDS:
            sums[folder][kind] += entry[kind]
    return dict(sorted(sums.items()))


def percent(part: int, whole: int) -> str:
    """Returns a share as text."""
    return f"{100 * part / whole:.2f}" if whole else ""


def row(name: str, counts: Counts) -> str:
    """Returns a line of the table."""
    lines = percent(counts["lines_run"], counts["lines"])
    branches = percent(counts["branches_run"], counts["branches"])
    return f"| {name} | {counts['lines']} | {lines} | {counts['branches']} | {branches} |"


def table(result: dict[str, Any]) -> str:
    """Returns the totals and the folders as Markdown."""
    lines = [f"Coverage at {result['commit']}; pytest: {result['pytest']}", ""]
    lines += ["| | lines | % run | branches | % taken |", "|---|---:|---:|---:|---:|"]
    files = result["files"]
    lines += [row(f"**{name}**", counts) for name, counts in summed(files, 0).items()]
    lines += [row(name, counts) for name, counts in summed(files, 2).items()]
    return "\n".join(lines) + "\n"


def compare(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Prints both totals, and the lines that are not run now and were run, or not there, before."""
    before, after = summed(old["files"], 0), summed(new["files"], 0)
    for name in sorted(before.keys() | after.keys()):
        for commit, sums in ((old["commit"], before), (new["commit"], after)):
            print(row(f"{name} at {commit}", sums.get(name, dict.fromkeys(KINDS, 0))))
    known = {text for entry in old["files"].values() for text in entry["not_run"]}
    for name, entry in new["files"].items():
        lost = [text for text in entry["not_run"] if text not in known and len(text) > 1]
        if lost:
            print(f"\n{name}: {len(lost)} lines", *lost, sep="\n    ")


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    tree_copy.add_arguments(parser)
    parser.add_argument("--no-tests", action="store_true", help="report on the last run")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    tree_copy.complete(options, "coverage")
    if options.compare:
        old, new = (json.loads(path.read_text()) for path in (options.compare, options.out))
        compare(old, new)
        return 0
    copy = options.build / "tree" if options.no_tests else prepare(options)
    status = 0 if options.no_tests else run_tests(copy, options)
    result = {
        "commit": tree_copy.commit_of(options.tree),
        "pytest": " ".join(options.pytest) or "all tests",
        "files": {**python_files(copy, options), **engine_files(copy, options)},
    }
    options.out.write_text(json.dumps(result, indent=1))
    options.out.with_suffix(".md").write_text(table(result))
    print(table(result))
    return status


if __name__ == "__main__":
    sys.exit(main())
