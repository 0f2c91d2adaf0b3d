# SPDX-License-Identifier: Apache-2.0
"""Runs libFuzzer over torchdali's JPEG decoder, with ASan and UBSan; needs clang.

``--target packer`` fuzzes the decoders for GPUs instead, with emulated kernels, and
``--target pairs`` two files decoded together. Each target has its own corpus and also starts from
those of the others.

The initial inputs are the committed ones and files from libjpeg's encoder. New inputs are stored in
build/fuzz. Inputs that fail are stored as crash-*, and the exit status is then 1. ``--update``
replaces the committed corpus with the smallest inputs that cover the same, up to a maximum size;
tests/cpp/jpeg_*corpus_test.cpp replay them with any compiler. ``--coverage`` reports the lines and
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
from dataclasses import dataclass
from pathlib import Path

from sanitize import COMMON, ENVIRONMENT, FLAGS, ROOT, pkg_config, programs

BUILD = ROOT / "build" / "fuzz"
FOLDER = ROOT / "tests" / "fuzz"
SEEDS = FOLDER / "jpeg_seeds.cpp"
MAX_INPUT_BYTES = 1 << 15
# Scans are read through a window of 16 KiB, which only larger inputs exceed.
WINDOW_BYTES, LARGE_INPUTS = 1 << 14, 3
SEED_FILES = 800


@dataclass(frozen=True)
class Target:
    """A fuzz target."""

    source: Path
    # One file for all inputs, each as its length (32 bits, big-endian) and its bytes.
    corpus: Path
    corpus_bytes: int
    measured: tuple[str, ...]  # path prefixes of the files whose coverage is reported


TARGETS = {
    "decoder": Target(
        FOLDER / "jpeg_decoder_fuzz.cpp",
        FOLDER / "jpeg_corpus.bin",
        480_000,
        ("csrc/io/jpeg_decoder", "csrc/kernels/jpeg/"),
    ),
    "pairs": Target(
        FOLDER / "jpeg_pairs_fuzz.cpp",
        FOLDER / "jpeg_pairs_corpus.bin",
        120_000,
        ("csrc/io/jpeg_decoder", "csrc/kernels/jpeg/"),
    ),
    "packer": Target(
        FOLDER / "jpeg_packer_fuzz.cpp",
        FOLDER / "jpeg_packer_corpus.bin",
        120_000,
        (
            "csrc/io/jpeg_decoder/codes",
            "csrc/io/jpeg_decoder/packer",
            "csrc/io/jpeg_decoder/picture",
            "csrc/io/jpeg_decoder/scan/",
            "csrc/kernels/jpeg/jpeg_gpu.h",
            "csrc/kernels/jpeg/jpeg_segments",
            "csrc/ops",
        ),
    ),
}


def find(tool: str) -> str:
    """Returns the path of the newest LLVM tool of a name, with or without a version suffix."""
    names = [os.environ.get("CLANGXX", tool)] if tool == "clang++" else [tool]
    for name in [*names, *(f"{tool}-{version}" for version in range(22, 13, -1))]:
        if path := shutil.which(name):
            return path
    raise SystemExit(f"fuzz_jpeg.py: needs {tool} (Debian, Ubuntu: apt install clang llvm)")


def build(compiler: str, target: Target, name: str, flags: Iterable[str]) -> Path:
    """Compiles a fuzz target; returns the program."""
    name = f"{target.source.stem.removesuffix('_fuzz')}_{name}"
    # -O2, because the number of inputs per second matters here.
    program = programs(target.source, "address")[0]
    sources = [str(path) for path in program.sources]
    command = [compiler, *COMMON, "-O2", *flags, *program.cflags, *sources, *program.libs]
    subprocess.run([*command, "-o", str(BUILD / name)], cwd=ROOT, check=True)
    return BUILD / name


def make_seeds(folder: Path) -> None:
    """Writes files of every kind that the decoder supports."""
    program = BUILD / "jpeg_seeds"
    cflags, libs = pkg_config("--cflags", "libjpeg"), pkg_config("--libs", "libjpeg")
    compiler = os.environ.get("CXX", "g++")
    command = [compiler, *COMMON, *cflags, str(SEEDS), *libs, "-o", str(program)]
    subprocess.run(command, cwd=ROOT, check=True)
    subprocess.run([str(program), str(folder), str(SEED_FILES)], check=True, capture_output=True)


def unpack(target: Target) -> Iterator[bytes]:
    """Yields the committed inputs of a target."""
    packed = target.corpus.read_bytes() if target.corpus.exists() else b""
    while packed:
        (size,) = struct.unpack(">I", packed[:4])
        yield packed[4 : 4 + size]
        packed = packed[4 + size :]


def contents(folder: Path) -> list[bytes]:
    """Returns the contents of the files of a folder, smallest first."""
    return sorted((path.read_bytes() for path in folder.iterdir()), key=lambda b: (len(b), b))


def pack(target: Target, folder: Path, seeds: Path) -> None:
    """Writes the committed corpus: a few large seeds and the smallest inputs of a folder."""
    inputs = contents(folder)
    large = [data for data in contents(seeds) if len(data) > WINDOW_BYTES]
    out = b""
    for data in large[:LARGE_INPUTS] + inputs:
        if len(out) + 4 + len(data) > target.corpus_bytes:
            break
        out += struct.pack(">I", len(data)) + data
    target.corpus.write_bytes(out)
    kept = len(list(unpack(target)))
    print(f"{target.corpus.relative_to(ROOT)}: kept {kept}; full coverage takes {len(inputs)}")


def update(target: Target, program: Path, folders: list[Path]) -> None:
    """Replaces the committed corpus by inputs with the same coverage as these folders."""
    with tempfile.TemporaryDirectory(dir=BUILD) as merged:
        options = ["-set_cover_merge=1", f"-max_len={MAX_INPUT_BYTES}", merged]
        subprocess.run([str(program), *options, *map(str, folders)], check=True)
        pack(target, Path(merged), folders[-1])


def report_coverage(compiler: str, target: Target, folder: Path) -> None:
    """Prints lines and branches that the inputs of a folder reach."""
    flags = ["-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping"]
    program = build(compiler, target, "coverage", flags)
    raw, data = BUILD / "jpeg.profraw", BUILD / "jpeg.profdata"
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(raw)}
    subprocess.run([str(program), "-runs=0", str(folder)], check=True, env=environment)
    merge = [find("llvm-profdata"), "merge", "-sparse", str(raw), "-o", str(data)]
    subprocess.run(merge, check=True)
    # The headers with code are not in the list of sources.
    files = [
        *map(str, programs(target.source, "address")[0].sources),
        *map(str, (ROOT / "csrc/kernels/jpeg").glob("jpeg_gpu.h")),
        *map(str, (ROOT / "csrc/kernels/jpeg").glob("jpeg_segments*.h")),
    ]
    measured = [p for p in files if str(Path(p).relative_to(ROOT)).startswith(target.measured)]
    measured = [p for p in measured if not p.endswith("choice.cpp")]  # not part of the target
    report = [find("llvm-cov"), "report", str(program), f"-instr-profile={data}", *measured]
    subprocess.run(report, check=True)


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=sorted(TARGETS), default="decoder")
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz")
    parser.add_argument("--update", action="store_true", help="rewrite the committed corpus")
    parser.add_argument("--coverage", action="store_true", help="report coverage")
    options = parser.parse_args()

    compiler, target = find("clang++"), TARGETS[options.target]
    found = BUILD / ("corpus" if options.target == "decoder" else f"corpus-{options.target}")
    committed, seeds = BUILD / "committed", BUILD / "seeds"
    shutil.rmtree(committed, ignore_errors=True)
    for folder in (found, committed, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for name, other in TARGETS.items():
        for index, data in enumerate(unpack(other)):
            # Fuzzing starts from the corpora of all targets; coverage is that of its own.
            if other is target or not options.coverage:
                (committed / f"{name}-{index}").write_bytes(data)
    if options.coverage:
        report_coverage(compiler, target, committed)
        return 0
    make_seeds(seeds)
    program = build(compiler, target, "fuzz", ["-fsanitize=fuzzer", *FLAGS["address"]])
    folders = [found, committed, seeds]
    limits = [f"-max_total_time={options.seconds}", f"-max_len={MAX_INPUT_BYTES}", "-timeout=10"]
    output = [f"-artifact_prefix={BUILD}/", "-print_final_stats=1", *map(str, folders)]
    command = [str(program), *limits, *output]
    status = subprocess.run(command, env={**ENVIRONMENT, **os.environ}, check=False).returncode
    if status == 0 and options.update:
        update(target, program, folders)
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
