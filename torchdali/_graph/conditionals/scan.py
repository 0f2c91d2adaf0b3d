# SPDX-License-Identifier: Apache-2.0
"""What a syntax tree says without being run: what statements assign, and how they are left."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = [
    "Assigned",
    "Function",
    "assigned",
    "assigned_in_conditions",
    "is_left_alone",
    "own_nodes",
    "settle_jumps",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# The rest of a function is copied into branches up to this many statements in all, and moved up to
# this many levels deep.
_MAX_COPIED = 2000
_MAX_MOVES = 10


@dataclass
class Assigned:
    """What statements assign to.

    Attributes:
        names: variables.
        attributes: attributes of variables, as ("self", "size") for `self.size`.
        items: variables and attributes, in the same form, of which an item is assigned.
    """

    names: set[str] = field(default_factory=set)
    attributes: set[tuple[str, ...]] = field(default_factory=set)
    items: set[tuple[str, ...]] = field(default_factory=set)


def assigned(statements: Sequence[ast.stmt]) -> Assigned:
    """Returns what statements assign, without the functions and classes defined there."""
    visitor = _AssignedVisitor()
    for statement in statements:
        visitor.visit(statement)
    return visitor.found


def _path(node: ast.expr) -> tuple[str, ...] | None:
    """Returns ("a", "b") for `a.b`, None for what is not made of names alone."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        base = _path(node.value)
        return base and (*base, node.attr)
    return None


class _AssignedVisitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found = Assigned()

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.found.names.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = _path(node)
        if isinstance(node.ctx, ast.Store) and path is not None:
            self.found.attributes.add(path)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        path = _path(node.value)
        if not isinstance(node.ctx, ast.Load) and path is not None:
            self.found.items.add(path)
        self.generic_visit(node)

    def _named(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.found.names.add(node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _named

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Its variables are its own."""

    def _comprehension(self, node: ast.expr) -> None:
        for inner in ast.walk(node):  # targets are its own, those of `:=` are the function's
            if isinstance(inner, ast.NamedExpr):
                self.visit(inner.target)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_alias(self, node: ast.alias) -> None:
        self.found.names.add(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.found.names.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.found.names.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.found.names.add(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.found.names.add(node.rest)
        self.generic_visit(node)


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Returns what a function consists of, without the functions and classes defined in it."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            yield node
            todo += ast.iter_child_nodes(node)


def assigned_in_conditions(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Returns the variables of a function that some `if` of it assigns."""
    conditions = [node for node in own_nodes(body) if isinstance(node, ast.If)]
    return frozenset(assigned(conditions).names)


def is_left_alone(node: Function) -> bool:
    """Returns whether a function defined in another one is under do_not_convert."""
    return any(
        isinstance(part, ast.Name | ast.Attribute)
        and (part.id if isinstance(part, ast.Name) else part.attr) == "do_not_convert"
        for decorator in node.decorator_list
        for part in ast.walk(decorator)
    )


# -- jumps


def settle_jumps(body: list[ast.stmt]) -> None:
    """Rewrites a function so that `return` and `continue` inside `if` are at the end.

    What follows an `if` that a branch leaves moves into the branch that continues, where it has its
    value for the same samples: `if p: return a` and `return b` become both branches of one `if`.
    Functions defined inside are not touched.
    """
    _Settler().block(body, 0)
    _drop_tail(body, in_loop=False)


def _falls(block: Sequence[ast.stmt]) -> bool:
    """Returns whether what follows a block may run after it."""
    if not block:
        return True
    last = block[-1]
    if isinstance(last, ast.If):
        return _falls(last.body) or _falls(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return _falls(last.body)
    return not isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue)


def _jumps(statement: ast.stmt) -> bool:
    """Returns whether `return` or `continue` is in an `if`, or in an `if` inside it."""
    if isinstance(statement, ast.If):
        return any(_jumps(inner) for inner in (*statement.body, *statement.orelse))
    return isinstance(statement, ast.Return | ast.Continue)


class _Settler:
    def __init__(self) -> None:
        self._copied = 0

    def block(self, block: list[ast.stmt], moves: int) -> None:
        for position, statement in enumerate(block):
            if isinstance(statement, ast.If):
                moved = False
                if _jumps(statement) and position + 1 < len(block) and moves < _MAX_MOVES:
                    moved = self._move(statement, block[position + 1 :])
                    if moved:
                        del block[position + 1 :]
                self.block(statement.body, moves + moved)
                self.block(statement.orelse, moves + moved)
                continue
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and not isinstance(statement, (Function, ast.ClassDef)):
                    self.block(inner, moves)
                    if name == "body" and isinstance(statement, ast.For | ast.While | ast.AsyncFor):
                        _drop_tail(inner, in_loop=True)
            for handler in getattr(statement, "handlers", ()):
                self.block(handler.body, moves)
            for case in getattr(statement, "cases", ()):
                self.block(case.body, moves)

    def _move(self, condition: ast.If, rest: list[ast.stmt]) -> bool:
        """Moves what follows a condition into it; tells whether that was done."""
        body_falls, orelse_falls = _falls(condition.body), _falls(condition.orelse)
        if body_falls and orelse_falls:
            size = sum(isinstance(n, ast.stmt) for s in rest for n in ast.walk(s))
            if self._copied + size > _MAX_COPIED:
                return False
            self._copied += size
            condition.body += copy.deepcopy(rest)
            condition.orelse += rest
        elif body_falls:
            condition.body += rest
        elif orelse_falls:
            condition.orelse += rest
        else:
            return False
        return True


def _drop_tail(block: list[ast.stmt], *, in_loop: bool) -> None:
    """Replaces jumps to the end of a block by `pass`."""
    if not block:
        return
    last = block[-1]
    if isinstance(last, ast.If):
        _drop_tail(last.body, in_loop=in_loop)
        _drop_tail(last.orelse, in_loop=in_loop)
        return
    leads_on = (
        isinstance(last, ast.Continue)
        if in_loop
        else isinstance(last, ast.Return) and last.value is None
    )
    if leads_on:
        block[-1] = ast.copy_location(ast.Pass(), last)
