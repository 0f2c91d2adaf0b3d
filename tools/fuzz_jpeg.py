# SPDX-License-Identifier: Apache-2.0
"""Runs libFuzzer over our JPEG decoder, under ASan and UBSan; needs clang.

It starts from the committed corpus and from files that libjpeg's encoder writes. What it finds is
put into build/fuzz: inputs that fail as crash-*, and the exit status is then 1. ``--update`` keeps
the smallest inputs that cover what the whole corpus covers, up to a size fit to be committed;
tests/cpp/jpeg_corpus_test.cpp replays those with any compiler. ``--coverage`` reports the lines and
branches that the committed corpus reaches.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from sanitize import COMMON, ENVIRONMENT, FLAGS, ROOT, pkg_config, programs

BUILD = ROOT / "build" / "fuzz"
TARGET = ROOT / "tests" / "fuzz" / "jpeg_decoder_fuzz.cpp"
SEEDS = ROOT / "tests" / "fuzz" / "jpeg_seeds.cpp"
# Each input as its length (32 bits, big-endian) and its bytes: hundreds of files would be noise.
CORPUS = ROOT / "tests" / "fuzz" / "jpeg_corpus.bin"
CORPUS_BYTES = 280_000
MAX_INPUT_BYTES = 1 << 15
# Scans are read through a window of 16 KiB: small inputs alone would never move it.
WINDOW_BYTES, LARGE_INPUTS = 1 << 14, 3
SEED_FILES = 400
MEASURED = ("csrc/io/jpeg_decoder", "csrc/kernels/jpeg_")


def find(tool: str) -> str:
    """Returns the newest LLVM tool of that name, as Debian and others call it."""
    names = [os.environ.get("CLANGXX", tool)] if tool == "clang++" else [tool]
    for name in [*names, *(f"{tool}-{version}" for version in range(22, 13, -1))]:
        if path := shutil.which(name):
            return path
    raise SystemExit(f"fuzz_jpeg.py: needs {tool} (Debian, Ubuntu: apt install clang llvm)")


def build(compiler: str, name: str, flags: Iterable[str]) -> Path:
    """Compiles the fuzz target in one go; returns the program."""
    sources = [str(path) for path in programs(TARGET, "address")[0].sources]
    # -O2: the number of inputs a second is what counts here.
    command = [compiler, *COMMON, "-O2", *flags, *sources, "-o", str(BUILD / name)]
    subprocess.run(command, cwd=ROOT, check=True)
    return BUILD / name


def make_seeds(folder: Path) -> None:
    """Writes files of every kind that the decoder takes."""
    program = BUILD / "jpeg_seeds"
    cflags, libs = pkg_config("--cflags", "jpeg"), pkg_config("--libs", "jpeg")
    compiler = os.environ.get("CXX", "g++")
    command = [compiler, *COMMON, *cflags, str(SEEDS), *libs, "-o", str(program)]
    subprocess.run(command, cwd=ROOT, check=True)
    subprocess.run([str(program), str(folder), str(SEED_FILES)], check=True, capture_output=True)


def unpack() -> Iterator[bytes]:
    """Yields the committed inputs."""
    packed = CORPUS.read_bytes() if CORPUS.exists() else b""
    while packed:
        (size,) = struct.unpack(">I", packed[:4])
        yield packed[4 : 4 + size]
        packed = packed[4 + size :]


def contents(folder: Path) -> list[bytes]:
    """Returns the files of a folder, small ones first."""
    return sorted((path.read_bytes() for path in folder.iterdir()), key=lambda b: (len(b), b))


def pack(folder: Path, seeds: Path) -> None:
    """Writes a few large seeds, and the smallest inputs of a folder, as the committed corpus."""
    inputs = contents(folder)
    large = [data for data in contents(seeds) if len(data) > WINDOW_BYTES]
    out = b""
    for data in large[:LARGE_INPUTS] + inputs:
        if len(out) + 4 + len(data) > CORPUS_BYTES:
            break
        out += struct.pack(">I", len(data)) + data
    CORPUS.write_bytes(out)
    print(f"{CORPUS.relative_to(ROOT)}: {len(list(unpack()))} inputs; {len(inputs)} cover all")


def update(program: Path, folders: list[Path]) -> None:
    """Replaces the committed corpus by what covers the same as all of these folders."""
    with tempfile.TemporaryDirectory(dir=BUILD) as merged:
        options = ["-set_cover_merge=1", f"-max_len={MAX_INPUT_BYTES}", merged]
        subprocess.run([str(program), *options, *map(str, folders)], check=True)
        pack(Path(merged), folders[-1])


def report_coverage(compiler: str, folder: Path) -> None:
    """Prints lines and branches that the inputs of a folder reach."""
    flags = ["-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping"]
    program = build(compiler, "jpeg_decoder_coverage", flags)
    raw, data = BUILD / "jpeg.profraw", BUILD / "jpeg.profdata"
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(raw)}
    subprocess.run([str(program), "-runs=0", str(folder)], check=True, env=environment)
    merge = [find("llvm-profdata"), "merge", "-sparse", str(raw), "-o", str(data)]
    subprocess.run(merge, check=True)
    files = [str(p) for p in programs(TARGET, "address")[0].sources]
    measured = [p for p in files if str(Path(p).relative_to(ROOT)).startswith(MEASURED)]
    measured = [p for p in measured if not p.endswith("choice.cpp")]  # no part of the target
    report = [find("llvm-cov"), "report", str(program), f"-instr-profile={data}", *measured]
    subprocess.run(report, check=True)


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz")
    parser.add_argument("--update", action="store_true", help="rewrite the committed corpus")
    parser.add_argument("--coverage", action="store_true", help="of the committed corpus")
    options = parser.parse_args()

    compiler = find("clang++")
    found, committed, seeds = (BUILD / name for name in ("corpus", "committed", "seeds"))
    shutil.rmtree(committed, ignore_errors=True)
    for folder in (found, committed, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(unpack()):
        (committed / str(index)).write_bytes(data)
    if options.coverage:
        report_coverage(compiler, committed)
        return 0
    make_seeds(seeds)
    program = build(compiler, "jpeg_decoder_fuzz", ["-fsanitize=fuzzer", *FLAGS["address"]])
    folders = [found, committed, seeds]
    limits = [f"-max_total_time={options.seconds}", f"-max_len={MAX_INPUT_BYTES}", "-timeout=10"]
    output = [f"-artifact_prefix={BUILD}/", "-print_final_stats=1", *map(str, folders)]
    command = [str(program), *limits, *output]
    status = subprocess.run(command, env={**ENVIRONMENT, **os.environ}, check=False).returncode
    if status == 0 and options.update:
        update(program, folders)
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
