# SPDX-License-Identifier: Apache-2.0
"""PEP 517 backend: setuptools, built against the torch of the environment that is installed into.

An extension of torch works with the torch it was compiled against. A plain ``requires = ["torch"]``
would have an isolated build download the newest torch, gigabytes of it, and compile against that,
whatever the user has. pip isolates a build by hiding the site-packages of the same interpreter:
they are put back here, behind the isolated ones, where they hold a torch. Only where there is none
is torch a build requirement, as it then is a requirement of the installation too. Tools that
isolate with an interpreter of their own (uv, build) cannot be looked through: use
``--no-build-isolation``, or name the torch with TORCHDALI_BUILD_TORCH="torch==2.13.0".
torchdali/_extension.py checks at import that the two agree.
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
    """Returns the site-packages that this interpreter has outside an isolated build."""
    paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    config = Path(sys.prefix, "pyvenv.cfg")
    in_venv = config.exists()
    shared = in_venv and re.search(
        r"^include-system-site-packages\s*=\s*true", config.read_text(), re.MULTILINE | re.I
    )
    if shared or not in_venv:
        paths += [*site.getsitepackages([sys.base_prefix]), site.getusersitepackages()]
    # Others that .pth files name: tools/setup_env.sh shares a torch in that way.
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
    """Makes the environment's torch importable; False where there is none that is new enough."""
    for path in _environment_paths():
        version = _torch_version(path)
        if version is not None and version >= MIN_TORCH:
            # Behind everything: setuptools and ninja stay those of the isolated build.
            sys.path += [p for p in _environment_paths() if p not in sys.path]
            return True
    return False


def _requires() -> list[str]:
    if _use_torch_of_environment():
        return []
    return [os.environ.get("TORCHDALI_BUILD_TORCH", "torch>=2.8"), "numpy"]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:  # noqa: ARG001
    """Asks for torch where the environment has none. setup.py is not run: it imports torch."""
    return _requires()


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:  # noqa: ARG001
    """Asks for torch where the environment has none."""
    return _requires()


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:  # noqa: ARG001
    """Asks for torch where the environment has none."""
    return _requires()


def prepare_metadata_for_build_wheel(*args: Any, **kwargs: Any) -> str:
    """See PEP 517."""
    _use_torch_of_environment()
    return build_meta.prepare_metadata_for_build_wheel(*args, **kwargs)


def prepare_metadata_for_build_editable(*args: Any, **kwargs: Any) -> str:
    """See PEP 660."""
    _use_torch_of_environment()
    return build_meta.prepare_metadata_for_build_editable(*args, **kwargs)


def build_wheel(*args: Any, **kwargs: Any) -> str:
    """See PEP 517."""
    _use_torch_of_environment()
    return build_meta.build_wheel(*args, **kwargs)


def build_editable(*args: Any, **kwargs: Any) -> str:
    """See PEP 660."""
    _use_torch_of_environment()
    return build_meta.build_editable(*args, **kwargs)


def build_sdist(*args: Any, **kwargs: Any) -> str:
    """See PEP 517."""
    _use_torch_of_environment()
    return build_meta.build_sdist(*args, **kwargs)
