# SPDX-License-Identifier: Apache-2.0
"""Which objects of DALI the names and attributes of a program hold, where that is certain.

It is certain if a constructor call is all that is ever assigned to a name of a scope, or to an
attribute in a file.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

__all__ = ["constructed", "lacks", "rebound_names", "stored_attributes", "stored_names"]

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_BY_NAME = ("delattr", "getattr", "hasattr", "setattr")
_Assignment = ast.Assign | ast.AnnAssign


def stored_names(statements: Iterable[ast.AST]) -> Counter[str]:
    """Returns how often each name of a scope is bound, without the scopes in it."""
    found: Counter[str] = Counter()
    for node in statements:
        if isinstance(node, _Scope):
            found[getattr(node, "name", "")] += 1
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).partition(".")[0]] += 1
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found[node.name or ""] += 1
        found += stored_names(ast.iter_child_nodes(node))
    return found


def stored_attributes(tree: ast.AST) -> Counter[str]:
    """Returns how often attributes of any objects are bound, by their names.

    Those that a program asks for with hasattr() and the like count, too.
    """
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found[node.attr] += 1
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in _BY_NAME:
            names = (a.value for a in node.args[1:2] if isinstance(a, ast.Constant))
            found.update(name for name in names if isinstance(name, str))
    return found


def rebound_names(tree: ast.AST) -> set[str]:
    """Returns the names that functions bind in scopes around them."""
    declared = (n for n in ast.walk(tree) if isinstance(n, (ast.Global, ast.Nonlocal)))
    return {name for node in declared for name in node.names}


def constructed(statements: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.Call]]:
    """Yields the targets of assignments whose value is a call, without those in other scopes."""
    for node in statements:
        if isinstance(node, _Scope):
            continue
        if isinstance(node, _Assignment) and isinstance(node.value, ast.Call):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield target, node.value
        yield from constructed(ast.iter_child_nodes(node))


@functools.cache
def _attributes(cls: type) -> frozenset[str] | None:
    """Returns the names of what the objects of a class have; None: they may have any."""
    if hasattr(cls, "__getattr__"):
        return None
    found = set(dir(cls))
    for base in cls.__mro__:
        found |= set(vars(base).get("__annotations__", ()))
        if base.__module__.partition(".")[0] != "torchdali":
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue  # made by a program, such as the classes of ops
        found |= set(stored_attributes(tree))
    return frozenset(found)


def lacks(cls: type, name: str) -> tuple[str, ...] | None:
    """Returns what objects of a class have instead of an attribute; None if they may have it."""
    known = None if name.startswith("_") else _attributes(cls)
    return None if known is None or name in known else tuple(sorted(known))
