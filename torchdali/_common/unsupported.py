# SPDX-License-Identifier: Apache-2.0
"""Errors for names and modules of DALI that are not here, with what to use instead.

dali_names.json, which tools/dali_names.py writes, has the public names of DALI with their kinds. A
name of it that torchdali has is never looked up here, so the table holds all of them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from torchdali.errors import UnsupportedModuleError, UnsupportedNameError, _make

__all__ = ["check_module", "names_of"]

_PACKAGE = "torchdali"
_FUNCTIONS = "call NumPy or torch in fn.python_function or fn.torch_python_function"
_OPERATORS_IN_PYTHON = (
    "write the operator in Python: fn.python_function, fn.torch_python_function, or "
    "torchdali.plugin.numba"
)
_DEFINITIONS = "define a pipeline with pipeline_def; debug=True runs operators as they are called"
_SOURCES = "read the data in Python: fn.external_source, or torchdali.DataLoader over a dataset"
_DLPACK = "take batches from torchdali.plugin.pytorch, and pass the tensors on with DLPack"
# By kind of the name, if the path has none of its own.
_BY_KIND = {
    "readers": _SOURCES,
    "inputs": _SOURCES,
    "video/sequence": _SOURCES,
    "decoders": "decode in fn.python_function, or read decoded data with fn.external_source",
    "module": "docs/guide/from_dali.md lists the modules that are here",
    "name": "docs/guide/from_dali.md lists what is different from DALI",
}
# By path; the longest one that it starts with counts.
_BY_PATH = {
    "experimental": _DEFINITIONS,
    "experimental.torchvision": "use torchvision, or the operators of torchdali.fn",
    "plugin": "use torchdali.plugin.pytorch or torchdali.PipelineLoader",
    "plugin.tf": _DLPACK,
    "plugin.jax": _DLPACK,
    "plugin.paddle": _DLPACK,
    "plugin.mxnet": _DLPACK,
    "plugin.pytorch.loader_evaluator": "use stats() of the loader or torchdali.profile",
    "plugin_manager": _OPERATORS_IN_PYTHON,
    "sysconfig": _OPERATORS_IN_PYTHON,
    "reducers": "use torchdali.pickling",
    "types.tfrec": _SOURCES,
}


@functools.cache
def _table() -> Mapping[str, Mapping[str, str]]:
    """Returns the kind of each name of each module, without the package's name."""
    text = Path(__file__).with_name("dali_names.json").read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, str]] = json.loads(text)
    return table


def _kind(module: str, name: str) -> str | None:
    """Returns the kind of a name of DALI, None for others."""
    return _table().get(module[len(_PACKAGE) + 1 :], {}).get(name)


def _refuse(
    cls: type[UnsupportedNameError] | type[UnsupportedModuleError], full_name: str, kind: str
) -> NoReturn:
    path = full_name[len(_PACKAGE) + 1 :]
    own = [start for start in _BY_PATH if f"{path}.".startswith(f"{start}.")]
    fix = _BY_PATH[max(own, key=len)] if own else _BY_KIND.get(kind, _FUNCTIONS)
    raise _make(cls, f"nvidia.dali.{path} has no counterpart in this version of torchdali", fix=fix)


def _is_module(full_name: str) -> bool:
    """Returns whether torchdali has a module, which may not be loaded yet."""
    try:
        return importlib.util.find_spec(full_name) is not None
    except ModuleNotFoundError:
        return False


def names_of(module: str) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module, for names that it does not have.

    Raises:
        UnsupportedNameError: by what is returned, for a name of DALI.
        AttributeError: likewise, for others.
    """

    def __getattr__(name: str) -> NoReturn:
        kind = None if name.startswith("__") else _kind(module, name)
        if kind is not None and not _is_module(f"{module}.{name}"):
            _refuse(UnsupportedNameError, f"{module}.{name}", kind)
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module)
        )

    return __getattr__


def check_module(full_name: str) -> None:
    """Does nothing for a module that DALI does not have either.

    Raises:
        UnsupportedModuleError: it is a module or a name of DALI that is not here.
    """
    module, _, name = full_name.rpartition(".")
    kind = _kind(module, name)
    if kind is not None and name not in dir(sys.modules.get(module)):
        _refuse(UnsupportedModuleError, full_name, kind)
