# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_session.sh, with programs that only say how they were called."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Returns a checkout with the script alone, in which every program prints its arguments."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "gpu_session.sh", tmp_path / "tools")
    says = 'echo "$(basename "$0") $*"'
    program(tmp_path / ".venv" / "bin" / "python", f"{says}; echo commit $TORCHDALI_COMMIT")
    for name in ("make", "compute-sanitizer"):
        program(tmp_path / "bin" / name, says)
    program(tmp_path / "bin" / "nvidia-smi", "echo 9.0")
    program(tmp_path / "tools" / "setup_env.sh", says)
    return tmp_path


def call(tree: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{tree / 'bin'}:{os.environ['PATH']}"}
    for name in ("TORCHDALI_COMMIT", "TORCHDALI_CUDA_ARCHS"):
        environment.pop(name, None)
    command = ["bash", str(tree / "tools" / "gpu_session.sh"), *args]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_every_step_runs_although_one_fails(tree):
    program(tree / "bin" / "make", 'echo "archs $TORCHDALI_CUDA_ARCHS"')
    program(tree / "bin" / "compute-sanitizer", 'echo "$*"; exit 3')
    done = call(tree, "--out", str(tree / "out"))
    assert done.returncode == 1, done.stderr
    logs = {path.stem: path.read_text() for path in (tree / "out").iterdir()}
    assert set(logs) == {"build", "test", "memcheck", "racecheck", "initcheck", "cores", "bench"}
    assert "setup_env.sh .venv build\n" in done.stdout
    assert (tree / ".venv" / ".setup").exists()
    assert logs["build"] == "archs 90\n"
    assert "-m pytest -q -m cuda" in logs["test"]
    assert "--tool racecheck" in logs["racecheck"]
    assert "memcheck: exit 3" in done.stdout
    assert 500 < int(logs["bench"].split("--limit ")[1].split()[0]) < 540
    assert "-m benchmarks.contention --data" in logs["cores"]
    assert "bench: exit 0" in done.stdout


def test_a_build_that_fails_ends_the_session(tree):
    program(tree / "bin" / "make", "echo error; exit 3")
    done = call(tree, "--out", str(tree / "out"))
    assert done.returncode == 1
    assert "build: exit 3" in done.stdout
    assert [path.name for path in (tree / "out").iterdir()] == ["build.log"]


def test_what_is_left_is_skipped_when_the_time_is_over(tree):
    done = call(tree, "--out", str(tree / "out"), "--seconds", "5", "test", "bench")
    assert done.returncode == 1
    assert done.stdout.count("skipped, the time is over") == 2
    assert not list((tree / "out").iterdir())


def test_files_for_the_machine_are_an_even_selection(tree, tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    for i in range(50):
        (data / f"{i:02}.jpeg").write_bytes(bytes([i]) + bytes(999_999))
    subprocess.run(["git", "init", "-q", tree], check=True)
    wheel = data / "x.whl"
    wheel.touch()
    done = call(tree, "prepare", str(data), str(wheel))
    assert done.returncode == 0, done.stderr
    chosen = sorted(p.read_bytes()[0] for p in (tree / "build/gpu_session/images").iterdir())
    assert 23 <= len(chosen) <= 24
    assert chosen[0] < 3
    assert chosen[-1] > 46
    assert {b - a for a, b in itertools.pairwise(chosen)} == {2, 3}
    assert (tree / "build" / "wheels" / "x.whl").exists()


def test_libraries_of_ffmpeg_are_built_beforehand(tree, tmp_path):
    subprocess.run(["git", "init", "-q", tree], check=True)
    made = 'mkdir -p "$2"; echo "$1" >"$2/pkg-config"; chmod +x "$2/pkg-config"'
    program(tree / "tools" / "small_ffmpeg.sh", made)
    program(tree / "bin" / "make", 'echo "$PKG_CONFIG $LD_LIBRARY_PATH"')
    done = call(tree, "prepare", "--ffmpeg", "source.tar.xz", str(tmp_path))
    assert done.returncode == 0, done.stderr
    there = tree / "build" / "gpu_session" / "ffmpeg"
    assert (there / "pkg-config").read_text() == "source.tar.xz\n"
    assert call(tree, "--out", str(tree / "out"), "build").returncode == 0
    log = (tree / "out" / "build.log").read_text()
    assert log.startswith(f"{there}/pkg-config {there}/lib:")


def test_wrong_arguments_print_the_usage(tree):
    done = call(tree, "tset")
    assert done.returncode == 2
    assert "STEP" in done.stderr
