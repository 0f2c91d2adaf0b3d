# SPDX-License-Identifier: Apache-2.0
"""``run --check``: what programs use of DALI that torchdali does not have. Runs no program.

Names are followed from the imports of nvidia.dali through attributes and assignments of modules,
classes and functions, and to the attributes of objects whose class is certain.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchdali._cli.counterparts import ROOT, arguments, find, operators
from torchdali._cli.objects import (
    constructed,
    lacks,
    rebound_names,
    stored_attributes,
    stored_names,
)
from torchdali._cli.progress import track
from torchdali._common import unsupported
from torchdali.errors import UnsupportedNameError

__all__ = ["Finding", "check_source", "main", "program_files"]

_SKIPPED = {"__pycache__", "build", "dist", "node_modules", "site-packages"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, order=True)
class Finding:
    """Something of DALI that torchdali does not have.

    Attributes:
        line: of the program.
        what: the name or the argument.
        text: why it is a problem.
        fix: what to use instead; "" if nothing is known.
    """

    line: int
    what: str
    text: str
    fix: str


# -- what a program uses


class _Program(ast.NodeVisitor):
    """Collects the findings of one file."""

    def __init__(self) -> None:
        self.findings: set[Finding] = set()
        self.uses_dali = False
        self._scopes: list[dict[str, str | None]] = [{}]
        self._bases: list[str] = []  # of the classes around, those of DALI
        # DALI's class of the objects that names and, in a class, attributes of `self` hold. Of a
        # function under pipeline_def, that of what it returns, at "name()".
        self._objects: list[dict[str, str]] = [{}]
        self._own_attributes: list[dict[str, str]] = []
        self._stored: Counter[str] = Counter()
        self._rebound: set[str] = set()

    # names

    def _lookup(self, name: str) -> str | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _path(self, node: ast.AST) -> str | None:
        """Returns DALI's dotted name of an expression; None for others."""
        if isinstance(node, ast.Name):
            return self._lookup(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._path(node.value)
            if owner == "nvidia" and node.attr != "dali":
                return None
            return owner and f"{owner}.{node.attr}"
        return None

    def _check(self, path: str, line: int) -> None:
        if not f"{path}.".startswith(f"{ROOT}."):
            return
        self.uses_dali = True
        parts = path.split(".")
        for end in range(2, len(parts) + 1):
            name = ".".join(parts[:end])
            try:
                find(name)
            except UnsupportedNameError as error:
                return self._add(line, name, "torchdali does not have it", error.fix or "")
            except AttributeError:
                fix = _nearest(parts[end - 1], dir(find(".".join(parts[: end - 1]))))
                return self._add(line, name, "neither DALI 1.35 nor torchdali has it", fix)
        schema = operators().get(path)
        if schema is not None and schema.never:
            self._add(line, path, f"it {schema.never}", schema.instead)
        return None

    def _add(self, line: int, what: str, text: str, fix: str) -> None:
        self.findings.add(Finding(line, what, text, fix))

    # objects

    def _class_of(self, node: ast.AST) -> str | None:
        """Returns DALI's class of the object that an expression gives; None: not certain."""
        if isinstance(node, ast.Name):
            return self._object(node.id)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "self":
            return self._own_attributes[-1].get(node.attr) if self._own_attributes else None
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and (made := self._object(f"{node.func.id}()")):
                return made
            path = self._path(node.func)
            try:
                return path if path and isinstance(find(path), type) else None
            except AttributeError:
                return None
        return None

    def _object(self, name: str) -> str | None:
        for scope, objects in zip(reversed(self._scopes), reversed(self._objects), strict=True):
            if name in objects or name.removesuffix("()") in scope:
                return objects.get(name)
        return None

    def _bind_objects(self, body: Sequence[ast.AST]) -> None:
        """Notes the objects that the names of a scope hold, from the first to the last line."""
        stored, own = stored_names(body), self._objects[-1]
        stored.update(self._rebound)
        for node in body:
            if isinstance(node, ast.FunctionDef) and stored[node.name] == 1:
                makers = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
                if [(self._path(m) or "").endswith(".pipeline_def") for m in makers] == [True]:
                    own[f"{node.name}()"] = f"{ROOT}.Pipeline"
        for target, call in constructed(body):
            if isinstance(target, ast.Name) and stored[target.id] == 1:
                made = self._class_of(call)
                if made is not None:
                    own[target.id] = made

    def _check_attribute(self, node: ast.Attribute) -> None:
        path = self._class_of(node.value)
        if path is None or not isinstance(node.ctx, ast.Load) or self._stored[node.attr]:
            return
        known = lacks(find(path), node.attr)
        if known is not None:
            what = f"{path}.{node.attr}"
            text = f"torchdali's {path.rpartition('.')[2]} does not have it"
            self._add(node.lineno, what, text, _nearest(node.attr, known))

    # imports and assignments

    def _bind(self, statements: Iterable[ast.AST]) -> None:
        """Binds what is imported in a scope, without the functions in it."""
        for node in statements:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    path = alias.name if alias.asname else alias.name.partition(".")[0]
                    if f"{alias.name}.".startswith(f"{ROOT}."):
                        self._scopes[-1][alias.asname or path] = path
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                if node.level or (module != "nvidia" and not f"{module}.".startswith(f"{ROOT}.")):
                    continue
                for alias in node.names:
                    star = unsupported.names(module[len(ROOT) + 1 :])
                    for name in star if alias.name == "*" else [alias.name]:
                        path = f"{module}.{name}"
                        if f"{path}.".startswith(f"{ROOT}."):
                            self._scopes[-1][alias.asname or name] = path
            elif not isinstance(node, _Function):
                self._bind(ast.iter_child_nodes(node))

    def visit_Module(self, node: ast.Module) -> None:
        self._stored, self._rebound = stored_attributes(node), rebound_names(node)
        self._bind(node.body)
        self._bind_objects(node.body)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._check(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level and node.module:
            for alias in node.names:
                name = "" if alias.name == "*" else f".{alias.name}"
                self._check(f"{node.module}{name}", node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        path = self._path(node.value)
        if path is not None:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._scopes[-1][target.id] = path

    def _visit_function(self, node: _Function) -> None:
        args = node.args
        outside = [*args.defaults, *filter(None, args.kw_defaults)]
        if not isinstance(node, ast.Lambda):
            outside += node.decorator_list
        for expression in outside:
            self.visit(expression)
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        own = {arg.arg for arg in every if arg is not None}
        own |= {
            name.id
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        self._scopes.append(dict.fromkeys(own))
        self._objects.append({})
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        self._bind(body)
        self._bind_objects(body)
        for statement in body:
            self.visit(statement)
        self._objects.pop()
        self._scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [path for base in node.bases if (path := self._path(base))]
        self._bases.append(bases[0] if bases else "")
        self._own_attributes.append(
            {
                target.attr: made
                for method in node.body
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
                for target, call in constructed(method.body)
                if isinstance(target, ast.Attribute)
                and getattr(target.value, "id", None) == "self"
                and self._stored[target.attr] == 1
                and (made := self._class_of(call))
            }
        )
        self.generic_visit(node)
        self._own_attributes.pop()
        self._bases.pop()

    # uses

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path is None:
            self._check_attribute(node)
            self.generic_visit(node)
        else:
            self._check(path, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        path = self._path(node.func) or self._path_of_constructor(node.func)
        if path is None and isinstance(node.func, ast.Attribute):
            owner = self._class_of(node.func.value)
            path = owner and f"{owner}.{node.func.attr}"
        if path is None:
            return
        try:
            target = find(path)
            known = arguments(path, target) if callable(target) else None
        except AttributeError:
            return
        for keyword in node.keywords:
            name = keyword.arg
            if name is not None and known is not None and name not in known:
                text, line = "there is no such argument", keyword.value.lineno
                self._add(line, f"{path}({name}=)", text, _nearest(name, known))

    def _path_of_constructor(self, node: ast.AST) -> str | None:
        """Returns the base of DALI whose constructor is called: ``super().__init__``."""
        if not isinstance(node, ast.Attribute) or node.attr != "__init__" or not self._bases:
            return None
        of = node.value
        is_super = isinstance(of, ast.Call) and getattr(of.func, "id", None) == "super"
        return (self._bases[-1] or None) if is_super else None


def _nearest(name: str, known: Iterable[str]) -> str:
    """Returns the most similar name as a question, or "" if none is similar."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"did you mean `{close[0]}`?" if close else ""


def check_source(source: str) -> list[Finding] | None:
    """Returns what a program uses that is missing; None if it does not use DALI.

    Raises:
        SyntaxError: it is no Python.
    """
    program = _Program()
    program.visit(ast.parse(source))
    return sorted(program.findings) if program.uses_dali else None


# -- files


def _cells(path: Path) -> str:
    """Returns the code of a notebook, without its commands for the shell and for IPython."""
    lines: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"]).splitlines()
            cell_magic = code[:1] and code[0].startswith("%%")
            commands = ("",) if cell_magic else ("%", "!")
            lines += ["" if line.lstrip().startswith(commands) else line for line in code]
    return "\n".join(lines)


def _source(path: Path) -> str:
    if path.suffix == ".ipynb":
        return _cells(path)
    with tokenize.open(path) as file:  # in the file's encoding
        return file.read()


def program_files(paths: Iterable[str]) -> Iterator[Path]:
    """Yields the Python files and notebooks below paths; hidden folders are left out."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
            if "pyvenv.cfg" in names:
                folders.clear()
                continue
            yield from (Path(folder, n) for n in sorted(names) if n.endswith((".py", ".ipynb")))


def main(paths: Sequence[str]) -> int:
    """Prints what is missing in files and folders; returns 1 if there is something, else 0."""
    write = sys.stdout.write
    read = using = missing = unread = 0
    lines: list[str] = []  # written at the end, so that they are not between the progress
    for path in track(program_files(paths), "reading programs"):
        try:
            findings = check_source(_source(path))
        except (OSError, SyntaxError, ValueError, KeyError, TypeError) as error:
            lines.append(f"{path}: cannot be read: {error}\n")
            unread += 1
            continue
        read += 1
        using += findings is not None
        for finding in findings or ():
            missing += 1
            fix = f"\n    {finding.fix}" if finding.fix else ""
            lines.append(f"{path}:{finding.line}: {finding.what}: {finding.text}{fix}\n")
    write("".join(lines))
    write(
        f"files read: {read}; with DALI: {using}; names and arguments that torchdali lacks: "
        f"{missing}\n"
    )
    return 1 if missing or unread else 0
