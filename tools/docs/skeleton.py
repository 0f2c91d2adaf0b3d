# SPDX-License-Identifier: Apache-2.0
"""Modules without their code: signatures and docstrings of modules that should not be imported."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

__all__ = ["skeleton"]

_KEPT = {"property", "classmethod", "staticmethod"}


class _Strip(ast.NodeTransformer):
    """Leaves classes and functions with their docstrings, and assignments of constants."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = self._definitions(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.bases, node.keywords, node.decorator_list = [], [], []
        node.body = [*self._doc(node), *self._definitions(node.body), ast.Pass()]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        names = (d for d in node.decorator_list if isinstance(d, ast.Name) and d.id in _KEPT)
        node.decorator_list = list(names)
        node.returns = None
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in [*every, node.args.vararg, node.args.kwarg]:
            if argument is not None:
                argument.annotation = None
        node.body = [*self._doc(node), ast.Pass()]
        return node

    def _definitions(self, body: list[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.ClassDef | ast.FunctionDef):
                kept.append(self.visit(statement))
            elif isinstance(statement, ast.Assign):
                try:
                    ast.literal_eval(statement.value)
                except ValueError:
                    continue
                kept.append(statement)
        return kept

    @staticmethod
    def _doc(node: ast.ClassDef | ast.FunctionDef) -> list[ast.stmt]:
        return node.body[:1] if ast.get_docstring(node) else []


def skeleton(name: str, path: Path) -> ModuleType:
    """Returns a module with the classes, functions and constants of a file; none of its code runs.

    Args:
        name: of the module.
        path: its file; of a package __init__.py, which has what it imports from its own modules.
            Defaults of arguments have to be constants.
    """
    tree = ast.parse(path.read_text())
    doc = ast.get_docstring(tree)
    module = ModuleType(name, doc)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{name}."):
            inner_name = str(node.module)
            inner = skeleton(inner_name, path.with_name(inner_name.rpartition(".")[2] + ".py"))
            vars(module).update({alias.name: getattr(inner, alias.name) for alias in node.names})
    stripped = ast.fix_missing_locations(_Strip().visit(tree))
    exec(compile(stripped, str(path), "exec"), vars(module))
    return module
