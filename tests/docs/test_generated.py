# SPDX-License-Identifier: Apache-2.0
"""Generated files are up to date and agree with the package."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

from helpers.cases import for_each

from tools.docs import generate
from torchdali import fn, ops, types
from torchdali._engine.schema import ALIASES, class_name, registry
from torchdali.fn import _callables

OPERATORS = sorted(registry())


def find(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def test_generated_files_are_up_to_date():
    stale = [str(path.relative_to(generate.ROOT)) for path in generate.stale()]
    assert not stale, f"run `make generate`: {stale}"


def test_the_check_of_the_generate_command_agrees():
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs.generate", "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=generate.ROOT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_stubs_are_python():
    for path, text in generate.files().items():
        if path.suffix == ".pyi":
            ast.parse(text)


@for_each("name", OPERATORS)
def test_every_operator_is_a_function_and_a_class(name):
    function = find(fn, name)
    family, _, _ = name.rpartition(".")
    cls = find(ops, f"{family}.{class_name(name)}" if family else class_name(name))
    assert inspect.isclass(cls)
    assert function.__doc__
    assert cls.__doc__
    assert inspect.signature(function)
    assert inspect.signature(cls)


@for_each("name", OPERATORS)
def test_every_operator_has_a_docstring(name):
    schema = registry()[name]
    assert schema.doc.strip()
    for part in (*schema.inputs, *schema.outputs, *schema.args):
        assert part.doc.strip() or getattr(part, "deprecated", False), part
    names = [arg.name for arg in schema.args]
    assert len(names) == len(set(names))
    for arg in schema.args:
        if arg.renamed_to:
            assert arg.renamed_to in names
        if arg.has_default and name not in _callables.PYTHON:
            default = eval(arg.default_text(), {"types": types})
            assert default == arg.default


def test_lines_of_stubs_and_docstrings_fit_the_line_length():
    for name in OPERATORS:
        for line in inspect.getdoc(find(fn, name)).splitlines():
            assert len(line) <= 100, line


def test_old_names_lead_to_operators_that_exist():
    for old, new in ALIASES.items():
        if new in registry():
            assert callable(find(fn, old))
