# SPDX-License-Identifier: Apache-2.0
"""Makes ``nvidia.dali`` mean torchdali, so that programs for DALI run unchanged.

    import torchdali.as_dali  # before anything imports nvidia.dali
    from nvidia.dali import fn, pipeline_def

``python -m torchdali.run script.py`` does this for a program without a change to it. The modules
are the same objects under two names: ``nvidia.dali.fn is torchdali.fn``. Only ``nvidia.dali``
itself is a module of its own, whose ``__version__`` is that of the release that torchdali follows.

Processes that the program starts inherit this through PYTHONPATH and sys.path. Other packages in
the namespace ``nvidia``, such as the CUDA libraries of torch, are found as before.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torchdali
from torchdali._common import unsupported
from torchdali.errors import UnsupportedError, _make

__all__ = ["DALI_VERSION"]

DALI_VERSION = "1.35.0"
_NAME = "nvidia.dali"
# Has the package `nvidia` that child processes find; see its __init__.py.
_FOLDER = str(Path(__file__).with_name("_dali_path"))


class _Loader(importlib.abc.Loader):
    """Gives a module that is loaded already a second name."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the module."""
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own specification back, which importlib has replaced."""
        if module.__name__ != _NAME:
            module.__spec__ = self._spec


class _Finder:
    """The first of sys.meta_path: finds the modules of torchdali under DALI's names."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns how to import a module of DALI, None for other modules.

        Raises:
            UnsupportedModuleError: torchdali does not have this module of DALI.
        """
        del path, target
        if name == _NAME:
            module = _package()
        elif name.startswith(f"{_NAME}."):
            own = f"{torchdali.__name__}{name[len(_NAME) :]}"
            try:
                module = importlib.import_module(own)
            except ModuleNotFoundError as error:
                if error.name == own:
                    return None  # DALI does not have it either
                raise
        else:
            return None
        is_package = hasattr(module, "__path__")
        return importlib.machinery.ModuleSpec(name, _Loader(module), is_package=is_package)


def _package() -> ModuleType:
    """Returns a new module with the names of torchdali."""
    package = ModuleType(_NAME, torchdali.__doc__)

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # what a star imports: names of DALI only
            return [known for known in unsupported.names("") if hasattr(torchdali, known)]
        return getattr(torchdali, name)

    vars(package).update(
        __path__=[],
        __version__=DALI_VERSION,
        __getattr__=__getattr__,
        __dir__=lambda: sorted({*dir(torchdali), *vars(package)}),
    )
    return package


def _install() -> None:
    if _Finder in sys.meta_path:
        return
    present = sys.modules.get(_NAME)
    if present is not None:
        raise _make(
            UnsupportedError,
            f"NVIDIA DALI ({getattr(present, '__file__', None) or 'without a file'}) is imported "
            f"already, so nvidia.dali cannot mean torchdali in this process",
            fix="import torchdali.as_dali before the first import of nvidia.dali, or start the "
            "program with `python -m torchdali.run`",
        )
    sys.meta_path.insert(0, _Finder)
    if _FOLDER not in sys.path:
        sys.path.insert(1, _FOLDER)  # the first is the folder of the program
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if _FOLDER not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([_FOLDER, *paths])


_install()
