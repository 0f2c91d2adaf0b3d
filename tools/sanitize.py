# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of tests/cpp with sanitizers and runs them.

A program is a ``.cpp`` file with a ``main``. Comment lines at its top list its parts::

    // sources: csrc/executor/run/scheduler.cpp csrc/io/*.cpp   (patterns, besides the program)
    // libs: libjpeg libpng                                     (pkg-config names)
    // optional: libavif                                        (used if pkg-config finds them)
    // sanitizers: address thread                               (default: both)

``address`` is ASan with UBSan. Prints one line per run. All programs run; the output of those that
failed is printed at the end.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitize"
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}
# -g1: lines for stack traces, without the types that debuggers want and compilers take long over.
COMMON = ["-std=c++20", "-O1", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off"]
COMMON += ["-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-Icsrc", "-pthread"]
# The engine uses torch's C interface. A program defines what it needs of that itself.
TORCH = Path(importlib.util.find_spec("torch").origin).parent
COMMON += ["-isystem", str(TORCH / "include")]
# The same macros as in setup.py.
LIBRARIES = {
    "libjpeg": "TORCHDALI_HAVE_JPEG",
    "libpng": "TORCHDALI_HAVE_PNG",
    "zlib": "TORCHDALI_HAVE_ZLIB",
    "libtiff-4": "TORCHDALI_HAVE_TIFF",
    "libwebp": "TORCHDALI_HAVE_WEBP",
    "libopenjp2": "TORCHDALI_HAVE_OPENJPEG",
    "libavif": "TORCHDALI_HAVE_AVIF",
    "libjxl": "TORCHDALI_HAVE_JXL",
}
_LIBRARY_MACRO = "TORCHDALI_HAVE_"
TIMEOUT_S = 600


@dataclass(frozen=True)
class Program:
    """One program under one sanitizer."""

    source: Path
    sanitizer: str
    sources: tuple[Path, ...]
    cflags: tuple[str, ...] = field(default=())
    libs: tuple[str, ...] = field(default=())

    @property
    def label(self) -> str:
        """Name to print."""
        return f"{self.source.stem} [{self.sanitizer}]"


def pkg_config(option: str, name: str) -> list[str]:
    """Returns the flags of a library that the program needs."""
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    found = subprocess.run([program, option, name], capture_output=True, text=True, check=True)
    return found.stdout.split()


def found(name: str) -> bool:
    """Returns whether pkg-config finds an optional library."""
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    return subprocess.run([program, "--exists", name], check=False).returncode == 0


def programs(source: Path, only: str | None) -> list[Program]:
    """Returns the runs that the comments at the top of a program declare."""
    values: dict[str, list[str]] = {
        "sources": [],
        "libs": [],
        "optional": [],
        "sanitizers": list(FLAGS),
    }
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        match = re.match(r"//\s*(sources|libs|optional|sanitizers):\s*(.*)", line)
        if match and match[1] == "sources":
            values["sources"] += match[2].split()
        elif match:
            values[match[1]] = match[2].split()
    sources = [source]
    for pattern in values["sources"]:
        paths = sorted(ROOT.glob(pattern))
        if not paths:
            raise SystemExit(f"{source.name}: no file matches {pattern}")
        sources += [path for path in paths if path not in sources]
    cflags, libs = [], []
    for name in [*values["libs"], *filter(found, values["optional"])]:
        cflags += [f"-D{LIBRARIES[name]}=1", *pkg_config("--cflags", name)]
        libs += pkg_config("--libs", name)
    return [
        Program(source, sanitizer, tuple(sources), tuple(cflags), tuple(libs))
        for sanitizer in values["sanitizers"]
        if only in (None, sanitizer)
    ]


def flags_of(program: Program, source: Path) -> tuple[str, ...]:
    """Returns the flags of the program's libraries if the file may use libraries."""
    uses = source == program.source or _LIBRARY_MACRO in source.read_text()
    return program.cflags if uses else ()


def object_path(program: Program, source: Path) -> Path:
    """Returns the path of an object file; programs with the same flags share it."""
    macros = sorted(f for f in flags_of(program, source) if f.startswith("-D"))
    folder = "-".join([program.sanitizer, *macros])
    return BUILD / folder / "_".join(source.relative_to(ROOT).with_suffix(".o").parts)


def compile_object(output: Path, command: list[str]) -> None:
    """Compiles one file; ccache speeds up repeated builds."""
    output.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, check=True, cwd=ROOT)


@functools.cache
def fixed_addresses() -> tuple[str, ...]:
    """Returns a command prefix that disables address randomization, which TSan cannot handle."""
    prefix = ("setarch", platform.machine(), "-R")
    if shutil.which("setarch") is None:
        return ()
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if allowed else ()


def run(program: Program, compiler: str) -> str | None:
    """Links and runs a program; returns its output if it failed."""
    binary = BUILD / program.sanitizer / program.source.stem
    binary.parent.mkdir(parents=True, exist_ok=True)
    objects = [str(object_path(program, source)) for source in program.sources]
    link = [compiler, *FLAGS[program.sanitizer], *objects, "-pthread", *program.libs]
    subprocess.run([*link, "-o", str(binary)], check=True, cwd=ROOT)
    command = [*(fixed_addresses() if program.sanitizer == "thread" else ()), str(binary)]
    start = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=ENVIRONMENT | dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
        failure = None if done.returncode == 0 else f"{done.stdout}\nexit status {done.returncode}"
    except subprocess.TimeoutExpired as expired:
        failure = f"{expired.stdout!r}\nstill running after {TIMEOUT_S} s"
    state = "ok" if failure is None else "FAILED"
    print(f"{program.label}: {state} ({time.monotonic() - start:.1f} s)", flush=True)
    return failure


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", type=Path, help="default: all of tests/cpp")
    parser.add_argument("--only", choices=sorted(FLAGS), help="one sanitizer")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()

    for directory in ("/usr/lib/ccache", "/usr/lib64/ccache"):
        if Path(directory).exists():
            os.environ["PATH"] = f"{directory}:{os.environ['PATH']}"
            break
    compiler = os.environ.get("CXX", "g++")
    sources = [p.resolve() for p in options.programs] or sorted((ROOT / "tests/cpp").glob("*.cpp"))
    runs = [program for source in sources for program in programs(source, options.only)]
    commands = {}
    for program in runs:
        for source in program.sources:
            output = object_path(program, source)
            flags = [*COMMON, *FLAGS[program.sanitizer], *flags_of(program, source)]
            relative = str(source.relative_to(ROOT))
            commands[output] = [compiler, *flags, "-c", relative, "-o", str(output)]
    start = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(compile_object, commands.keys(), commands.values()))
        print(f"sanitize: {len(commands)} files in {time.monotonic() - start:.0f} s", flush=True)
        outputs = pool.map(lambda program: run(program, compiler), runs)
        failures = [(p.label, text) for p, text in zip(runs, outputs, strict=True) if text]
    for label, text in failures:
        print(f"\n--- {label}\n{text}")
    print(f"sanitize: {len(runs) - len(failures)} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
