# SPDX-License-Identifier: Apache-2.0
"""The names of torch that are not public and that DataLoader uses are in the installed torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

from torchdali.loader._dataset import torch_internals
from torchdali.loader._dataset.torch_internals import (
    CHECKED_VERSIONS,
    ITERATOR_ATTRIBUTES,
    LOADER_ATTRIBUTES,
)

FOLDER = Path(torch_internals.__file__).parent


def version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def lacks(what: str) -> str:
    return (
        f"torch {torch.__version__} has no {what}, which torchdali/loader/_dataset/"
        f"torch_internals.py needs. Versions that have it: {', '.join(CHECKED_VERSIONS)}"
    )


@pytest.mark.parametrize("name", LOADER_ATTRIBUTES)
def test_a_loader_of_torch_has_the_attribute(name):
    assert hasattr(DataLoader([1, 2]), name), lacks(f"DataLoader.{name}")


@pytest.mark.parametrize("name", ITERATOR_ATTRIBUTES)
def test_an_iterator_of_torch_has_the_attribute(name):
    iterator = iter(DataLoader([1, 2], generator=torch.Generator()))
    assert hasattr(iterator, name), lacks(f"{type(iterator).__name__}.{name}")


@pytest.mark.parametrize("name", ["_generate_state", "_worker_info", "WorkerInfo"])
def test_the_worker_module_of_torch_has_the_name(name):
    assert hasattr(torch_internals.torch_worker, name), lacks(
        f"torch.utils.data._utils.worker.{name}"
    )


@pytest.mark.parametrize("name", ["collate", "collate_tensor_fn", "default_collate_fn_map"])
def test_the_collate_module_of_torch_has_the_name(name):
    found = hasattr(torch_internals.torch_collate, name)
    assert found, lacks(f"torch.utils.data._utils.collate.{name}")


def test_the_installed_version_was_checked_or_is_newer():
    installed = version(torch.__version__)
    known = [version(text) for text in CHECKED_VERSIONS]
    assert installed in known or installed > max(known)


def imported_names(source: str) -> Iterator[str]:
    """Yields the full names that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_other_module_imports_private_names_of_torch():
    private = [
        f"{path.name}: {name}"
        for path in FOLDER.glob("*.py")
        for name in imported_names(path.read_text())
        if name.startswith("torch.") and "._" in name
    ]
    assert private
    assert all(line.startswith("torch_internals.py: ") for line in private), private
