# SPDX-License-Identifier: Apache-2.0
"""Which Pythons can load an extension, and what the build needs for that."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers.checkout import Checkout

pytest.importorskip("setuptools")
from setuptools import Extension

from tools import python_abi
from torchdali import _C, _shm

ROOT = Path(__file__).resolve().parents[1]
TAG = ("cp311", "cp311", "linux_x86_64")
LIMITED = sys.version_info >= python_abi.LIMITED_API and not sys.abiflags


@pytest.fixture
def headers(tmp_path, monkeypatch):
    def use(minor):
        text = f"#define PY_MAJOR_VERSION 3\n#define PY_MINOR_VERSION {minor}\n"
        (tmp_path / "patchlevel.h").write_text(text)
        monkeypatch.setenv("TORCHDALI_PYTHON_INCLUDE", str(tmp_path))
        return str(tmp_path)

    return use


def test_headers_of_another_python_make_an_extension_for_all_later_ones(headers):
    folder = headers(13)
    extension = Extension("a.b", ["b.cpp"], include_dirs=["own"])
    python_abi.apply(extension)
    assert extension.include_dirs == [folder, "own"]
    assert extension.define_macros == [("Py_LIMITED_API", "0x030C0000")]
    assert python_abi.file_name(extension, "a/b.cpython-311-x86_64.so") == "a/b.abi3.so"
    assert python_abi.wheel_tag([extension], TAG) == ("cp312", "abi3", "linux_x86_64")
    assert python_abi.build_tag().endswith("-abi3")

    other = Extension("a.c", ["c.cpp"])
    assert python_abi.wheel_tag([extension, other], TAG) == TAG
    assert python_abi.file_name(other, "a/c.cpython-311-x86_64.so") == "a/c.cpython-311-x86_64.so"


def test_headers_that_are_too_old_or_missing_are_an_error(headers, monkeypatch):
    headers(11)
    with pytest.raises(SystemExit, match=r"headers of Python 3\.11, .* Python 3\.12 or newer"):
        python_abi.other_headers()
    monkeypatch.setenv("TORCHDALI_PYTHON_INCLUDE", "/no/such/folder")
    with pytest.raises(SystemExit, match="/no/such/folder has the headers of no Python"):
        python_abi.other_headers()


def test_this_build_is_for_the_pythons_that_its_name_says():
    assert Path(_shm.__file__).name.startswith("_shm.abi3." if LIMITED else "_shm.cpython-")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_wheel_has_no_extensions_of_earlier_builds(tmp_path):
    checkout = Checkout(tmp_path / "checkout")
    package = tmp_path / "lib" / "torchdali"
    package.mkdir(parents=True)
    for name in ("_C.abi3.so", "_shm.cpython-39-x86_64-linux-gnu.so", "_cuda.so"):
        (package / name).write_text("")
    library = ["--build-lib", str(package.parent)]
    checkout.run(sys.executable, "setup.py", "-q", "build_ext", *library)
    built = {Path(module.__file__).name for module in (_C, _shm)}
    built |= {file.name for file in Path(_C.__file__).parent.glob("_video.so")}
    assert {file.name for file in package.glob("*.so")} == built


@pytest.mark.slow
def test_setup_py_says_what_to_do_without_nanobind():
    code = "import runpy, sys; sys.modules['nanobind'] = None; runpy.run_path('setup.py')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "needs nanobind, which is not installed: run `make setup`" in done.stderr
    assert "build/wheels" in done.stderr


@pytest.mark.slow
def test_setup_installs_wheels_of_build_without_a_network(tmp_path):
    checkout = Checkout(tmp_path / "checkout")
    project = checkout.path / "pyproject.toml"
    name, version = "only_in_build_wheels", "1.0"
    head = "[project.optional-dependencies]\n"
    assert head in project.read_text()
    extra = f'{head}another = ["{name}=={version}"]\n'
    project.write_text(project.read_text().replace(head, extra))
    wheels = checkout.path / "build" / "wheels"
    wheels.mkdir(parents=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheels / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    offline = {**os.environ, "PYTHON": sys.executable, "TORCHDALI_APT": "0", "PIP_NO_INDEX": "1"}
    venv = tmp_path / "venv"
    done = subprocess.run(
        [checkout.path / "tools" / "setup_env.sh", venv, "another"],
        env=offline,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([venv / "bin" / "python", "-c", f"import {name}"], check=True)
