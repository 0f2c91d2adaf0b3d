# SPDX-License-Identifier: Apache-2.0
"""Runs libFuzzer over a parser, ``tests/fuzz/NAME_fuzz.cpp``, with ASan and UBSan; needs clang.

The initial inputs are the committed ones, ``tests/fuzz/NAME_corpus.bin``, and the files of
``--seeds``. New inputs are stored in build/fuzz/NAME. Inputs that fail are stored as crash-*, and
the exit status is then 1. ``--update`` replaces the committed corpus with the smallest inputs that
cover the same; ``tests/cpp/NAME_corpus_test.cpp`` replays them with any compiler.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fuzz_jpeg
from sanitize import ENVIRONMENT, FLAGS

CORPUS_BYTES = 120_000


def names() -> list[str]:
    """Returns the parsers that have a fuzz target."""
    targets = (path.stem.removesuffix("_fuzz") for path in fuzz_jpeg.FOLDER.glob("*_fuzz.cpp"))
    return sorted(name for name in targets if not name.startswith("jpeg_"))


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=names())
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz")
    parser.add_argument("--seeds", type=Path, help="a folder of further initial inputs")
    parser.add_argument("--max-length", type=int, default=4096, help="of an input, in bytes")
    parser.add_argument("--update", action="store_true", help="rewrite the committed corpus")
    options = parser.parse_args()

    target = fuzz_jpeg.Target(
        fuzz_jpeg.FOLDER / f"{options.name}_fuzz.cpp",
        fuzz_jpeg.FOLDER / f"{options.name}_corpus.bin",
        CORPUS_BYTES,
        (),
    )
    build = fuzz_jpeg.BUILD / options.name
    found, committed = build / "found", build / "committed"
    shutil.rmtree(committed, ignore_errors=True)
    for folder in (found, committed):
        folder.mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(fuzz_jpeg.unpack(target)):
        (committed / str(index)).write_bytes(data)
    flags = ["-fsanitize=fuzzer", *FLAGS["address"]]
    program = fuzz_jpeg.build(fuzz_jpeg.find("clang++"), target, "fuzz", flags)
    folders = [found, committed, *([options.seeds] if options.seeds else [])]
    limits = [f"-max_total_time={options.seconds}", f"-max_len={options.max_length}", "-timeout=10"]
    output = [f"-artifact_prefix={build}/", "-print_final_stats=1", *map(str, folders)]
    command = [str(program), *limits, *output]
    status = subprocess.run(command, env={**ENVIRONMENT, **os.environ}, check=False).returncode
    if status == 0 and options.update:
        fuzz_jpeg.update(target, program, folders)
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
