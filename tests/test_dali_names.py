# SPDX-License-Identifier: Apache-2.0
"""Names of DALI that torchdali does not have: errors that say so, and that feature tests see."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cases import for_each

import torchdali
from torchdali import backend, errors, fn, ops, types

TABLE = json.loads(
    Path(torchdali.__file__).with_name("_common").joinpath("dali_names.json").read_text()
)
FACTS = Path(__file__).with_name("data")


def missing():
    """Yields module and name of everything of DALI that torchdali does not have."""
    for path, names in TABLE.items():
        try:
            module = importlib.import_module(f"torchdali.{path}".rstrip("."))
        except errors.UnsupportedModuleError:
            continue
        for name in names:
            try:
                getattr(module, name)
            except NotImplementedError:
                assert not hasattr(module, name)
                yield module, name
            except AttributeError:  # a module that nothing has imported yet
                importlib.import_module(f"{module.__name__}.{name}")


def test_the_table_has_all_modules_and_operators_of_the_manual():
    for path, entry in json.loads((FACTS / "dali_api.json").read_text()).items():
        module, _, name = path.rpartition(".")
        if entry["kind"] != "module":
            assert name in TABLE[module], path
    for path in json.loads((FACTS / "dali_operators.json").read_text()):
        own = path if path.startswith("plugin.") else f"fn.{path}"
        module, _, name = own.rpartition(".")
        assert name in TABLE[module], path


def test_missing_names_say_what_to_use_instead():
    found = list(missing())
    assert len(found) > 50
    for module, name in found:
        with pytest.raises(errors.UnsupportedNameError, match="To fix it: .{10}") as caught:
            getattr(module, name)
        assert isinstance(caught.value, NotImplementedError)
        assert isinstance(caught.value, AttributeError)
        path = f"{module.__name__}.{name}".removeprefix("torchdali.")
        assert f"nvidia.dali.{path} has no counterpart" in str(caught.value)


@for_each(
    ("statement", "text"),
    [
        ("import torchdali.plugin.tf", "nvidia.dali.plugin.tf .*DLPack"),
        ("from torchdali.plugin import jax", "nvidia.dali.plugin.jax .*DLPack"),
        ("from torchdali.plugin.paddle import DALIGenericIterator", "DLPack"),
        ("import torchdali.experimental.dynamic.pytorch", "dynamic.pytorch .*pipeline_def"),
        ("from torchdali.experimental.eager import optical_flow", "pipeline_def"),
        ("from torchdali.fn.experimental.readers import video", "fn.external_source"),
        ("from torchdali.fn import tensor_resize", "fn.python_function"),
        ("from torchdali.fn.readers import video", "fn.external_source"),
        ("from torchdali.ops.experimental.decoders import Video", "fn.python_function"),
    ],
)
def test_imports_of_missing_names_are_import_errors(statement, text):
    with pytest.raises(errors.UnsupportedModuleError, match=f"(?s){text}") as caught:
        exec(statement)
    assert isinstance(caught.value, NotImplementedError)
    assert isinstance(caught.value, ModuleNotFoundError)


def test_names_that_dali_does_not_have_are_plain_errors():
    for module in (torchdali, fn, ops, ops.readers, types, backend):
        with pytest.raises(AttributeError, match="has no attribute 'resise'") as caught:
            module.resise  # noqa: B018
        assert not isinstance(caught.value, NotImplementedError)
    with pytest.raises(ModuleNotFoundError, match="No module named 'torchdali.resise'") as caught:
        importlib.import_module("torchdali.resise")
    assert not isinstance(caught.value, NotImplementedError)
    with pytest.raises(ModuleNotFoundError, match="No module named 'torchdali.fn.resize'"):
        importlib.import_module("torchdali.fn.resize")


def test_modules_that_dali_loads_need_no_import():
    program = "import torchdali; print(torchdali.plugin.__name__, torchdali.auto_aug.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["torchdali.plugin", "torchdali.auto_aug"]


# -- names that only programs of DALI use


def test_the_backend_has_types_and_versions():
    assert backend.types is types
    assert backend.GetNvjpegVersion() == backend.GetCufftVersion() == backend.GetNppVersion() == -1
    assert backend.__cuda_version__ == torchdali.__cuda_version__ == backend.GetCudaVersion()
