# SPDX-License-Identifier: Apache-2.0
"""Operators of users: compiled, loaded, run, refused; and the example package, installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import torchdali
from torchdali import Pipeline, errors, extension, plugin_manager

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("program.py")
EXAMPLE = ROOT / "examples" / "operator_package"

pytestmark = pytest.mark.slow


def run(*command: object, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extension")


def test_operators_of_users_have_what_ours_have(folder):
    held = run(PROGRAM, folder).splitlines()
    checks = PROGRAM.read_text().count("@check")
    assert len([line for line in held if line.startswith("held:")]) == checks
    # In this process, no library is loaded.
    with pytest.raises(errors.TorchdaliError, match="(?s)my.solarize.*load_library"):
        Pipeline.deserialize((folder / "pipeline.bin").read_bytes())


def test_the_example_package_installs(tmp_path):
    install = ("-m", "pip", "install", "--no-build-isolation", "--no-deps", "--quiet")
    copy = tmp_path / "package"
    subprocess.run(["cp", "-r", EXAMPLE, copy], check=True)
    run(*install, "--target", tmp_path / "site", copy)
    files = {path.name for path in (tmp_path / "site" / "torchdali_solarize").iterdir()}
    assert {"__init__.py", "_operators.so"} <= files
    paths = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
    printed = run("-m", "pytest", "-q", copy / "tests", "-p", "no:cacheprovider", PYTHONPATH=paths)
    assert "6 passed" in printed


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not found")
def test_the_gpu_half_compiles_with_nvcc(tmp_path):
    """Without warnings; and the library also emulates. It does not run on a GPU here."""
    library = tmp_path / "solarize.so"
    flags = ["-std=c++20", "-arch=sm_80", "-Xcompiler", "-fPIC,-fvisibility=hidden,-Wall"]
    include = f"-I{torchdali.sysconfig.get_include_dir()}"
    command = ["nvcc", *flags, include, "-shared", EXAMPLE / "csrc/solarize.cu", "-o", library]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    program = (
        "import sys, torch; from helpers import contract; from helpers.ops import OpCase;"
        "from torchdali import extension; extension.load_library(sys.argv[1]);"
        "contract.check_gpu(OpCase('my.solarize', 'HWC', (5, 7, 3)))"
    )
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    run("-c", program, library, PYTHONPATH=paths)


def test_files_that_are_no_libraries(tmp_path):
    library = tmp_path / "libmine.so"
    library.write_text("no library")
    with pytest.raises(errors.UnsupportedError, match=r"libmine\.so cannot be loaded"):
        plugin_manager.load_library(str(library))
    with pytest.raises(errors.UnsupportedError, match=r"is not a library of torchdali operators"):
        plugin_manager.load_library(torchdali._C.__file__)
    with pytest.raises(errors.FileError, match=r"nothing\.so.*does not exist"):
        extension.load_library("nothing.so")


def test_the_headers_are_in_the_package():
    include = run("-m", "torchdali.extension", "include").strip()
    assert Path(include, "torchdali", "operator.h").exists()
    assert f"-I{include}" in run("-m", "torchdali.extension", "flags")
