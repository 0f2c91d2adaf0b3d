# SPDX-License-Identifier: Apache-2.0
"""A data loader for PyTorch with the language of NVIDIA DALI and a native engine.

Importing the package loads nothing; its parts are loaded when they are first asked for. Worker
processes rely on that: they take the few modules that they need, and never load torch for it.
"""

from __future__ import annotations

import gc
import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchdali import (
        backend,
        data_node,
        errors,
        experimental,
        fn,
        functional,
        math,
        ops,
        pipeline,
        stats,
        storage,
        tensors,
        tfrecord,
        transforms,
        types,
    )
    from torchdali._build_info import VERSION as __version__
    from torchdali._common.sample import SampleContext, current_sample
    from torchdali.data_node import newaxis
    from torchdali.loader import DataLoader, ShuffleWindow, get_worker_info
    from torchdali.loader._compiled.compiled import compile_dataset
    from torchdali.loop import PipelineLoader
    from torchdali.pipeline import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def
    from torchdali.profiling import profile

__all__ = [
    "DataLoader",
    "OperatorConcurrency",
    "Pipeline",
    "PipelineLoader",
    "SampleContext",
    "ShuffleWindow",
    "StreamPolicy",
    "__version__",
    "backend",
    "compile_dataset",
    "current_sample",
    "data_node",
    "errors",
    "experimental",
    "fn",
    "functional",
    "get_worker_info",
    "math",
    "newaxis",
    "ops",
    "pipeline",
    "pipeline_def",
    "profile",
    "stats",
    "storage",
    "tensors",
    "tfrecord",
    "transforms",
    "types",
]

# Name -> module and name in there; other names of __all__ are modules.
_ELSEWHERE = {
    "DataLoader": ("loader", "DataLoader"),
    "OperatorConcurrency": ("pipeline", "OperatorConcurrency"),
    "Pipeline": ("pipeline", "Pipeline"),
    "PipelineLoader": ("loop", "PipelineLoader"),
    "SampleContext": ("_common.sample", "SampleContext"),
    "ShuffleWindow": ("loader", "ShuffleWindow"),
    "StreamPolicy": ("pipeline", "StreamPolicy"),
    "__cuda_version__": ("backend", "__cuda_version__"),
    "__version__": ("_build_info", "VERSION"),
    "compile_dataset": ("loader._compiled.compiled", "compile_dataset"),
    "current_sample": ("_common.sample", "current_sample"),
    "get_worker_info": ("loader", "get_worker_info"),
    "newaxis": ("data_node", "newaxis"),
    "pipeline_def": ("pipeline", "pipeline_def"),
    "profile": ("profiling", "profile"),
}


# Modules that DALI loads with the package.
_MODULES = (
    *("auto_aug", "external_source", "pickling", "plugin", "plugin_manager"),
    *("python_function_plugin", "sysconfig"),
)


class _Finder:
    """The last of sys.meta_path: says more about modules of DALI that are not here."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Finds nothing; raises UnsupportedModuleError for a module of DALI."""
        del path, target
        if name.startswith(f"{__name__}."):
            importlib.import_module(f"{__name__}._common.unsupported").check_module(name)


sys.meta_path.append(_Finder)


def _load(module: str) -> Any:
    """Imports a part of the package.

    Its modules make no garbage, but so many objects that Python would search all those of torch for
    it, which takes as long as the import itself. So the search is left for later.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(f"{__name__}.{module}")
    finally:
        if collects:
            gc.enable()


def __getattr__(name: str) -> Any:
    if name not in __all__ and name not in _ELSEWHERE and name not in _MODULES:
        unsupported = importlib.import_module(f"{__name__}._common.unsupported")
        return unsupported.names_of(__name__)(name)
    module, attribute = _ELSEWHERE.get(name, (name, ""))
    found = _load(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
