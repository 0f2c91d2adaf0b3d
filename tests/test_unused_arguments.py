# SPDX-License-Identifier: Apache-2.0
"""An argument of a public function has an effect, or its documentation says that it has none."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from torchdali._common.location import PACKAGE_DIR

MODULES = [
    "torchdali",
    "torchdali.auto_aug.augmentations",
    "torchdali.auto_aug.auto_augment",
    "torchdali.auto_aug.core",
    "torchdali.auto_aug.rand_augment",
    "torchdali.auto_aug.trivial_augment",
    "torchdali.backend",
    "torchdali.data_node",
    "torchdali.external_source",
    "torchdali.loader",
    "torchdali.math",
    "torchdali.ops",
    "torchdali.pickling",
    "torchdali.pipeline",
    "torchdali.plugin.numba",
    "torchdali.plugin.numba.experimental",
    "torchdali.plugin.pytorch",
    "torchdali.profiling",
    "torchdali.python_function_plugin",
    "torchdali.stats",
    "torchdali.tensors",
    "torchdali.types",
]
SAYS_SO = re.compile(r"(no|without) effect|accepted for compatibility", re.IGNORECASE)


def public_functions(module: str) -> Iterator[tuple[type | None, Callable[..., Any]]]:
    """Yields the functions of a module, and the methods of its classes with the class."""
    for name, value in vars(importlib.import_module(module)).items():
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("torchdali"):
            continue
        if inspect.isfunction(value):
            yield None, inspect.unwrap(value)
        elif inspect.isclass(value):
            for own, member in vars(value).items():
                method = getattr(member, "__func__", member)
                is_public = not own.startswith("_") or own in ("__init__", "__call__")
                if is_public and inspect.isfunction(method):
                    yield value, inspect.unwrap(method)


def unused_parameters(function: Callable[..., Any]) -> set[str]:
    """Returns the parameters that the body of a function does not read."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(tree, ast.FunctionDef):
        return set()
    body = [
        s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    if all(isinstance(statement, ast.Raise) for statement in body):  # abstract, or refuses all
        return set()
    nodes = [node for statement in body for node in ast.walk(statement)]
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if "locals" in read:
        return set()
    return set(inspect.signature(function).parameters) - read - {"self", "cls"}


def documented(name: str, *owners: Any) -> str:
    """Returns what the docstrings say about a parameter."""
    docs = "\n".join(inspect.getdoc(owner) or "" for owner in owners if owner is not None)
    found = re.search(rf"^ +{name}: (.*(\n {{8,}}.*)*)", docs, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


@pytest.mark.parametrize("module", MODULES)
def test_a_parameter_is_used_or_documented_as_unused(module):
    silent = [
        f"{function.__qualname__}: {name}"
        for owner, function in public_functions(module)
        if function.__code__.co_filename.startswith(PACKAGE_DIR)  # dataclasses write some
        for name in unused_parameters(function)
        if not SAYS_SO.search(documented(name, function, owner))
    ]
    assert not silent
