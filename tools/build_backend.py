# SPDX-License-Identifier: Apache-2.0
"""PEP 517 backend: setuptools, building with the torch of the target environment.

The build needs a torch of any version, for its headers and its tools. With a plain ``requires =
["torch"]``, an isolated build would download the newest one (gigabytes), whatever the user has
installed. pip isolates a build by hiding the site-packages of the same interpreter. This backend
adds them to the end of the path again if they contain a torch. Only if there is none, torch is a
build requirement, as it is then a requirement of the installation, too. Tools that isolate with
another interpreter (uv, build) hide the environment completely: use ``--no-build-isolation``, or
name the version with TORCHDALI_BUILD_TORCH="torch==2.13.0".
"""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import build_meta

MIN_TORCH = (2, 8)


def _environment_paths() -> list[str]:
    """Returns the site-packages of this interpreter outside the isolated build."""
    paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    config = Path(sys.prefix, "pyvenv.cfg")
    in_venv = config.exists()
    shared = in_venv and re.search(
        r"^include-system-site-packages\s*=\s*true", config.read_text(), re.MULTILINE | re.I
    )
    if shared or not in_venv:
        paths += [*site.getsitepackages([sys.base_prefix]), site.getusersitepackages()]
    # Folders that .pth files name: tools/setup_env.sh shares a torch in this way.
    for file in [file for path in paths for file in sorted(Path(path).glob("*.pth"))]:
        lines = file.read_text().splitlines()
        paths += [line for line in lines if line and Path(line).is_dir()]
    return list(dict.fromkeys(paths))


def _torch_version(path: str) -> tuple[int, int] | None:
    """Returns (major, minor) of the torch in a site-packages folder."""
    version_file = Path(path, "torch", "version.py")
    if not version_file.exists():
        return None
    match = re.search(r"__version__ = '(\d+)\.(\d+)", version_file.read_text())
    return (int(match[1]), int(match[2])) if match else None


def _use_torch_of_environment() -> bool:
    """Makes the environment's torch importable; returns False if none is new enough."""
    for path in _environment_paths():
        version = _torch_version(path)
        if version is not None and version >= MIN_TORCH:
            # Last, so that setuptools and ninja stay those of the isolated build.
            sys.path += [p for p in _environment_paths() if p not in sys.path]
            return True
    return False


def _requires() -> list[str]:
    if _use_torch_of_environment():
        return []
    return [os.environ.get("TORCHDALI_BUILD_TORCH", "torch>=2.8"), "numpy"]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:  # noqa: ARG001
    """Requires torch if the environment has none. Does not run setup.py, which imports torch."""
    return _requires()


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:  # noqa: ARG001
    """Requires torch if the environment has none."""
    return _requires()


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:  # noqa: ARG001
    """Requires torch if the environment has none."""
    return _requires()


def _with_torch(hook: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        os.environ["TORCHDALI_PROGRESS"] = "1"  # pip shows nothing of a build
        _use_torch_of_environment()
        return hook(*args, **kwargs)

    return call


prepare_metadata_for_build_wheel = _with_torch(build_meta.prepare_metadata_for_build_wheel)
prepare_metadata_for_build_editable = _with_torch(build_meta.prepare_metadata_for_build_editable)
build_wheel = _with_torch(build_meta.build_wheel)
build_editable = _with_torch(build_meta.build_editable)
build_sdist = _with_torch(build_meta.build_sdist)
