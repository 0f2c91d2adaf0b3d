# SPDX-License-Identifier: Apache-2.0
"""Builds the engine with ASan and UBSan, and calls operators with random arguments.

The build is in build/asan, separate from the normal one. It runs tests/helpers/fuzz.py with
``--unbounded`` and the arguments after ``--``. If the process dies, its last use is reported, and
the remaining operators run in a new process.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "asan"
THROWING_NEW = BUILD / "throwing_new.so"
COMPILER = os.environ.get("CXX", "g++")
ENVIRONMENT = {
    # An allocation over the limit fails like one without enough memory, and the operator raises an
    # error. Leaks are not reported, because Python and torch keep memory until the end.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=300:"
    "hard_rss_limit_mb=8000:strict_string_checks=1:"
    # Required to preload throwing_new.cpp before libasan.
    "verify_asan_link_order=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
OPERATORS = "from helpers import fuzz; print(*fuzz.operators())"
# The line that helpers.fuzz prints when an operator is finished.
DONE = re.compile(r"^(\S+): (\d+ worked, \d+ raised|FAILED.*)$", re.MULTILINE)


def build() -> None:
    """Compiles the sources that changed."""
    command = [sys.executable, "setup.py", "-q", "build", "--build-lib", str(BUILD)]
    environment = {**os.environ, "TORCHDALI_SANITIZE": "address"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    source = ROOT / "tools" / "throwing_new.cpp"
    command = [COMPILER, "-std=c++20", "-O1", "-fPIC", "-shared", str(source)]
    subprocess.run([*command, "-o", str(THROWING_NEW)], check=True)


def environment() -> dict[str, str]:
    """Returns the environment of a process that loads the build."""
    libraries = [
        subprocess.run(
            [COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        # The sanitizer needs __cxa_throw at its start, before Python loads the C++ library.
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    return {
        **ENVIRONMENT,
        **os.environ,
        "LD_PRELOAD": " ".join([str(THROWING_NEW), *libraries]),
        "PYTHONPATH": os.pathsep.join([str(BUILD), str(ROOT / "tests")]),
        "PYTHONMALLOC": "malloc",
    }


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-build", action="store_true", help="use the last build")
    parser.add_argument("--operators", nargs="+", help="default: all")
    parser.add_argument("arguments", nargs="*", help="arguments of tests/helpers/fuzz.py, after --")
    options = parser.parse_args()
    if not options.no_build:
        build()
    env = environment()
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "helpers.fuzz", "--unbounded", *options.arguments]
        left = options.operators
        if left is None:
            command = [sys.executable, "-c", OPERATORS]
            left = subprocess.check_output(command, env=env, cwd=folder, text=True).split()
        failed = 0
        while left:
            process = subprocess.Popen(
                [*run, "--operators", *left],
                env=env,
                cwd=folder,
                text=True,
                errors="replace",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            assert process.stdout is not None
            printed = []
            for line in process.stdout:
                print(line, end="", flush=True)
                printed.append(line)
            process.wait()
            ends = DONE.findall("".join(printed))
            failed += sum(state.startswith("FAILED") for _, state in ends)
            left = left[len(ends) :]
            if left:
                failed += 1
                use = Path(folder, "fuzz.log").read_text().strip()
                print(f"{left[0]}: DIED with {process.returncode} in {use}", flush=True)
                left = left[1:]
    print(f"fuzz: {failed} operators failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
