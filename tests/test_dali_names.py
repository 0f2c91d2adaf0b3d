# SPDX-License-Identifier: Apache-2.0
"""Names of DALI that torchdali does not have: errors that say so, and that feature tests see."""

from __future__ import annotations

import functools
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cases import for_each

import torchdali
from torchdali import backend, errors, fn, ops, types
from torchdali._common import alternatives, unsupported

TABLE = json.loads(
    Path(torchdali.__file__).with_name("_common").joinpath("dali_names.json").read_text()
)
FACTS = Path(__file__).with_name("data")


@functools.cache
def alternatives_shown():
    """Returns the alternative to each name of DALI that torchdali does not have."""
    return dict(unsupported.missing())


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


def refusal(path, name):
    """Returns the error for a name of DALI, or None where it is there."""
    module = f"torchdali.{path}".rstrip(".")
    try:
        exec(f"from {module} import {name}", {})
    except errors.UnsupportedModuleError as error:
        refused = error
    else:
        return None
    if module in sys.modules:
        with pytest.raises(errors.UnsupportedNameError) as caught:
            getattr(sys.modules[module], name)
        assert str(caught.value) == str(refused)
    return refused


@for_each("path", sorted(TABLE))
def test_every_name_of_dali_exists_or_its_error_names_an_alternative(path):
    for name in TABLE[path]:
        error = refusal(path, name)
        if error is not None:
            assert len(error.fix) > 10, name
            assert "from_dali.md" not in error.fix, f"{name} has no alternative of its own"
            assert str(error).endswith(f"To fix it: {error.fix}"), name


def test_alternatives_of_torchdali_exist():
    for fix in {one.fix for one in alternatives_shown().values()}:
        for path in re.findall(r"\b(?:torchdali|fn|types|Pipeline)(?:\.\w+)+", fix):
            found = torchdali
            for part in path.removeprefix("torchdali.").split("."):
                if not hasattr(found, part):
                    importlib.import_module(f"{found.__name__}.{part}")
                found = getattr(found, part)


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
        ("from torchdali.experimental.dynamic import Stream", "pipeline_def"),
        ("from torchdali.backend_impl import TensorCPU", "torchdali.backend"),
        ("import torchdali.plugin.jax.iterator", "DLPack"),
        ("from torchdali.plugin.triton import autoserialize", "Pipeline.serialize"),
        ("from torchdali.ops.hidden import Constant", "torchdali.fn"),
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


# -- modules for operators in C++


def test_sysconfig_knows_folders_and_flags():
    assert list(Path(torchdali.sysconfig.get_lib_dir()).glob("_C.*"))
    include = torchdali.sysconfig.get_include_dir()
    assert Path(include, "torchdali", "operator.h").exists()
    assert torchdali.sysconfig.get_include_flags() == [f"-I{include}"]
    assert {f"-I{include}", "-std=c++20"} <= set(torchdali.sysconfig.get_compile_flags())
    assert torchdali.sysconfig.get_link_flags() == []


def test_names_of_classes_have_the_alternatives_of_functions():
    for path in ("fn.arithmetic_generic_op", "ops.ArithmeticGenericOp"):
        assert (
            alternatives.alternative(path, "generic").fix
            != alternatives.alternative("fn.anything", "generic").fix
        ), path
    assert {one.reason for one in alternatives_shown().values()} == set(alternatives.REASONS)
