# SPDX-License-Identifier: Apache-2.0
"""The build: recorded facts, optional parts, and errors of the import."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.checkout import Checkout

from tools import build_progress, compile_units

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


def python(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, **options
    )


def load_backend():
    spec = importlib.util.spec_from_file_location("backend", ROOT / "tools" / "build_backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    return backend


def test_info_shows_versions_codecs_instruction_set_and_cuda():
    done = subprocess.run(
        [sys.executable, "-m", "torchdali.info"], capture_output=True, text=True, check=True
    )
    for part in ("torchdali ", torch.__version__, "instruction set", "JPEG", "PNG", "CUDA"):
        assert part in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["_C", "_shm"])
def test_an_extension_exports_its_initialization_only(name):
    file = importlib.util.find_spec(f"torchdali.{name}").origin
    done = subprocess.run(
        ["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[2::3] == [f"PyInit_{name}"]


def test_the_gpu_library_loads_without_a_gpu():
    from torchdali import info

    try:
        state = info.cuda_state()
    except OSError as error:
        pytest.skip(str(error))
    assert int(state.runtime.split(".")[0]) >= 12
    assert bool(state.devices) == torch.cuda.is_available() or torch.version.cuda is None


@pytest.mark.cuda
def test_the_gpu_library_sees_the_devices_that_torch_sees():
    from torchdali import info

    devices = info.cuda_state().devices
    assert len(devices) == torch.cuda.device_count()
    assert devices[0].capability == torch.cuda.get_device_capability(0)


def test_an_old_torch_is_an_error_with_both_versions():
    done = python("import torch; torch.__version__ = '2.3.1'; from torchdali import fn")
    assert done.returncode != 0
    assert "torch 2.8 or newer is needed, 2.3.1 is installed" in done.stderr


def test_a_missing_engine_is_an_error_that_says_how_to_compile_it():
    done = python(
        "import sys; sys.modules['torchdali._build_info'] = None; from torchdali import fn"
    )
    assert done.returncode != 0
    assert "the engine has not been compiled" in done.stderr
    assert "make build" in done.stderr


def test_sources_that_hide_the_installed_package_are_an_error_that_names_both(tmp_path):
    sources, installed = tmp_path / "checkout", tmp_path / "site"
    for folder in (sources, installed):
        shutil.copytree(
            ROOT / "torchdali",
            folder / "torchdali",
            ignore=shutil.ignore_patterns("__pycache__", "*.so", "_build_info.py"),
        )
    (installed / "torchdali" / "_build_info.py").write_text("")
    # Without site, whose hooks would find the modules of an editable install.
    paths = [str(installed), *(path for path in sys.path if path and path != str(ROOT))]
    done = subprocess.run(
        [sys.executable, "-S", "-m", "torchdali.info"],
        cwd=sources,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"found the sources in {sources}/torchdali, which are not compiled" in done.stderr
    assert f"installed in {installed}/torchdali" in done.stderr
    assert "run Python in another folder" in done.stderr


def test_an_isolated_build_uses_the_torch_of_the_environment(tmp_path, monkeypatch):
    backend = load_backend()
    site = tmp_path / "site-packages"
    (site / "torch").mkdir(parents=True)
    monkeypatch.setattr(backend, "_environment_paths", lambda: [str(site)])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("TORCHDALI_BUILD_TORCH", raising=False)
    assert backend.get_requires_for_build_wheel() == ["torch>=2.8", "numpy"]

    (site / "torch" / "version.py").write_text("__version__ = '2.7.1+cpu'\n")
    assert backend.get_requires_for_build_wheel() == ["torch>=2.8", "numpy"]

    (site / "torch" / "version.py").write_text("__version__ = '2.13.0+cpu'\n")
    assert backend.get_requires_for_build_wheel() == []
    assert sys.path[-1] == str(site)


def test_units_have_every_file_once_and_are_written_only_if_they_change(tmp_path):
    csrc, folder = Path("csrc"), tmp_path / "units"
    names = [f"csrc/ops/color/{i:02}.cpp" for i in range(compile_units.MOST + 1)]
    others = ["csrc/kernels/a_cpu.cpp", "csrc/python/nanobind.cpp"]
    united = compile_units.unite([*names, *others], csrc, folder)
    assert united[-2:] == others
    texts = [Path(path).read_text() for path in united[:-2]]
    found = re.findall(r'"(.*)"', "".join(texts))
    assert sorted(found) == [name.removeprefix("csrc/") for name in names]
    assert max(text.count("#include") for text in texts) <= compile_units.MOST

    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    compile_units.unite([*names, *others], csrc, folder)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    compile_units.unite(names[:1], csrc, folder)
    assert len(list(folder.iterdir())) == 1


def test_progress_counts_new_object_files(tmp_path):
    (tmp_path / "old.o").touch()
    os.utime(tmp_path / "old.o", (0, 0))
    out = io.StringIO()
    with build_progress.progress(tmp_path, 4, out):
        (tmp_path / "units").mkdir()
        for name in ("units/new.o", "newer.o"):
            (tmp_path / name).touch()
    assert out.getvalue().endswith("\x1b[K\n")
    assert "compiled 2 of 4 files, about " in out.getvalue()
    assert build_progress.line(3, 4, 540.0).endswith("3 of 4 files, about 3.0 minutes left")


def test_requirements_are_pinned_and_missing_ones_are_found():
    def requirements(*arguments: str) -> list[str]:
        command = [sys.executable, str(ROOT / "tools" / "requirements.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert all("==" in line for line in requirements("lint", "torch"))
    assert requirements("--missing", "package") == []
    absent = "no-such-package-of-ours>=1"
    assert requirements("--absent", "--also", absent, "package") == [absent]
    assert requirements("--also", f"{absent}; python_version >= '3'") == [absent]
    assert requirements("--also", f"{absent}; python_version < '3'") == []


@pytest.mark.timeout(1800)
def test_without_codecs_the_engine_builds_and_reports_the_missing_package(tmp_path):
    checkout = Checkout(tmp_path, compiled="TORCHDALI_HAVE_")
    built = checkout.build({"PKG_CONFIG": "false"})
    assert "built without libjpeg: install libjpeg-dev" in built
    assert "built without libpng: install libpng-dev" in built
    assert "built without libtiff-4 >= 4.5: install libtiff-dev (4.5 or newer)" in built

    run = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path)}}
    report = python("import torchdali.info as i; print(i.__file__); print(i.describe())", **run)
    assert str(tmp_path) in report.stdout, report.stderr
    rest = "not in this build: arithmetic-coded, CMYK and damaged files"
    assert f"built in; {rest}: install libjpeg-dev, rebuild" in report.stdout
    rest = "not in this build: interlaced, damaged and very large files"
    assert f"built in; {rest}: install libpng-dev, rebuild" in report.stdout
    for name, package in [
        ("gzip in FITS", "zlib1g-dev"),
        ("TIFF", "libtiff-dev (4.5 or newer)"),
        ("WebP", "libwebp-dev"),
        ("JPEG 2000", "libopenjp2-7-dev (2.5 or newer)"),
        ("AVIF", "libavif-dev"),
        ("JPEG XL", "libjxl-dev"),
    ]:
        line = f"{name + ':':<20}not in this build: install {package}, rebuild"
        assert line in report.stdout
    assert "left out by TORCHDALI_CUDA=0" in report.stdout
    refused = {**run["env"], "TORCHDALI_JPEG_DECODER": "libjpeg-turbo"}
    done = python("import torchdali.info", cwd=tmp_path, env=refused)
    assert "this build has no libjpeg-turbo" in done.stderr

    image = pytest.importorskip("PIL.Image")
    # torchdali decodes common JPEG files itself.
    image.new("RGB", (8, 8), (128,) * 3).save(tmp_path / "sequential.jpg")
    image.new("RGB", (8, 8), (99,) * 3).save(tmp_path / "progressive.jpg", progressive=True)
    image.new("CMYK", (8, 8)).save(tmp_path / "ink.jpg")
    use = python(
        """
import numpy as np
from torchdali import fn, pipeline_def

@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def decode():
    return fn.decoders.image(fn.external_source(name="bytes"))

pipe = decode()
pipe.build()
for kind in ("sequential", "progressive"):
    pipe.feed_input("bytes", [np.fromfile(f"{kind}.jpg", np.uint8)])
    (pixels,) = pipe.run()
    print(kind, pixels.as_array().min(), pixels.as_array().max())
pipe.feed_input("bytes", [np.fromfile("ink.jpg", np.uint8)])
try:
    pipe.run()
except RuntimeError as error:
    print(error)
""",
        **run,
    )
    assert "sequential 128 128\nprogressive 99 99" in use.stdout, use.stdout + use.stderr
    lacking = "without libjpeg-turbo it takes undamaged, complete gray"
    assert lacking in use.stdout, use.stdout + use.stderr
