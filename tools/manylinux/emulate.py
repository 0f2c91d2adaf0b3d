# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tests/cpp as another architecture: ``python -m tools.manylinux.emulate``.

They are compiled as for the sanitizers, but without one, linked with the libraries of its wheel,
and run under qemu-user. Prints one line per program.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tools import sanitize

from .debian import install_programs
from .libraries import LIBRARIES, build
from .target import ARCHITECTURES, ROOT, Target


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    others = [arch for arch in ARCHITECTURES if arch != platform.machine()]
    parser.add_argument("--arch", choices=others, default=others[0])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    target = Target(options.arch)
    install_programs(target, {f"qemu-{target.arch}": "qemu-user"})
    for library in LIBRARIES:
        build(library, target)
    os.environ |= target.environment()
    folder = target.build / "cpp"
    folder.mkdir(exist_ok=True)
    tests = [
        next(iter(sanitize.programs(source, None)))
        for source in sorted((ROOT / "tests" / "cpp").glob("*.cpp"))
    ]
    compiler = [*([ccache] if (ccache := shutil.which("ccache")) else []), target.tool("g++")]
    headers = f"-I{target.libraries}/include"
    commands = {}
    objects: dict[str, list[str]] = {}
    for test in tests:
        for source in test.sources:
            output = folder / sanitize.object_path(test, source).relative_to(sanitize.BUILD)
            # Warnings are those of `make sanitize`.
            flags = [*sanitize.COMMON, "-w", *sanitize.flags_of(test, source), headers]
            commands[output] = [*compiler, *flags, "-c", str(source), "-o", str(output)]
            objects.setdefault(test.source.stem, []).append(str(output))

    def run(test: sanitize.Program) -> bool:
        program = folder / test.source.stem
        link = [target.tool("g++"), "-static", *objects[test.source.stem], "-o", str(program)]
        subprocess.run([*link, *test.libs, "-pthread"], check=True)
        start = time.monotonic()
        command = [f"qemu-{target.arch}", str(program)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        took = f"({time.monotonic() - start:.1f} s)"
        state = "FAILED" if done.returncode else "ok"
        output = f"\n{done.stdout[-2000:]}{done.stderr[-2000:]}" if done.returncode else ""
        print(f"{test.source.stem} [{target.arch}]: {state} {took}{output}", flush=True)
        return done.returncode == 0

    start = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(sanitize.compile_object, commands.keys(), commands.values()))
        print(f"emulate: {len(commands)} files in {time.monotonic() - start:.0f} s", flush=True)
        passed = sum(pool.map(run, tests))
    print(f"emulate: {passed} passed, {len(tests) - passed} failed")
    sys.exit(passed != len(tests))


if __name__ == "__main__":
    main()
