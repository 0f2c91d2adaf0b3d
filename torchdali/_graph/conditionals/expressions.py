# SPDX-License-Identifier: Apache-2.0
"""Rewrites expressions: calls, `and`, `or`, `not`, `a if p else b`, chains of comparisons.

Knows Python's syntax and nothing of pipelines. The rewritten code calls functions of `runtime`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

__all__ = ["RETURNED", "RUNTIME", "Construct", "Expressions", "Frame"]

# Names in the rewritten code: of the runtime, and of what a branch returned.
RUNTIME = "_torchdali_"
RETURNED = "_torchdali_returned"


@dataclass
class Construct:
    """A statement around the one in hand that `break` or `continue` may lead out of."""

    name: str  # variable of the state of a condition, or that says how a loop is left
    is_loop: bool
    jumps: set[str] = field(default_factory=set)  # variables of jumps that lead out of it


@dataclass
class Frame:
    """The function in hand."""

    checked: frozenset[str]  # variables that may have no value after a condition
    globals_: frozenset[str]
    declarations: list[ast.Global | ast.Nonlocal] = field(default_factory=list)
    constructs: list[Construct] = field(default_factory=list)
    depth: int = 0
    returns: bool = False

    def conditions(self) -> list[Construct]:
        """Returns the conditions around the statement in hand, outermost first."""
        return [c for c in self.constructs if not c.is_loop]


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def tuple_of(names: tuple[str, ...]) -> ast.Tuple:
    return ast.Tuple([store(name) for name in names], ast.Store())


def method(of: str, name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(load(of), name, ast.Load()), list(args), [])


def attribute(of: str, name: str) -> ast.Attribute:
    return ast.Attribute(load(of), name, ast.Load())


def is_set(name: str) -> ast.Compare:
    return ast.Compare(load(name), [ast.IsNot()], [ast.Constant(None)])


def no_arguments(body: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, body)


def place(where: ast.AST, *nodes: ast.AST) -> None:
    """Gives generated nodes the position of the code that they replace."""
    for root in nodes:
        for node in ast.walk(root):
            if "lineno" in node._attributes and not hasattr(node, "lineno"):
                ast.copy_location(node, where)


def attribute_of(value: ast.expr, name: str) -> ast.Attribute:
    return ast.Attribute(value, name, ast.Load())


def literal(value: Any) -> ast.expr:
    """Returns nested tuples of strings as an expression."""
    if isinstance(value, tuple):
        return ast.Tuple([literal(item) for item in value], ast.Load())
    return ast.Constant(value)


class Expressions(ast.NodeTransformer):
    """The part of the rewriter that handles expressions."""

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._count = 0
        self._in_iterable = False  # of a comprehension, where Python forbids `:=`

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"_torchdali_{kind}{self._count}"

    def _is_checked(self, name: str) -> bool:
        return any(name in frame.checked for frame in self._frames)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A variable that may have no value is looked at before it is used."""
        if not isinstance(node.ctx, ast.Load) or not self._is_checked(node.id):
            return node
        return self._placed(method(RUNTIME, "use", node), node)

    @staticmethod
    def _placed(made: ast.expr, where: ast.AST) -> ast.expr:
        place(where, made)
        return ast.copy_location(made, where)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """What is called is rewritten in its turn."""
        special = isinstance(node.func, ast.Name) and node.func.id == "super"
        self.generic_visit(node)
        if not special:
            node.func = self._placed(method(RUNTIME, "call", node.func), node.func)
        return node

    def _comprehension(self, node: Any) -> Any:
        for generator in node.generators:
            outside, self._in_iterable = self._in_iterable, True
            generator.iter = self.visit(generator.iter)
            self._in_iterable = outside
            generator.ifs = [self.visit(test) for test in generator.ifs]
        for name in ("key", "value", "elt"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _needs_place(self, node: ast.AST) -> bool:
        """Returns whether an expression has to stay in its function."""
        kinds = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
        return any(isinstance(inner, kinds) for inner in ast.walk(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`a and b and c` is `a and (b and c)`."""
        kind = "and" if isinstance(node.op, ast.And) else "or"
        if self._in_iterable and self._needs_place(node):
            return node
        *rest, last = [self.visit(value) for value in node.values]
        made: ast.expr = last
        for value in reversed(rest):
            made = self._logical(kind, value, made)
        return self._placed(made, node)

    def _logical(self, kind: str, left: ast.expr, right: ast.expr) -> ast.expr:
        """Returns `left and right` or `left or right`; the right is evaluated if it is needed."""
        begin = method(RUNTIME, "Logical", ast.Constant(kind), left)
        if self._in_iterable:
            return ast.Call(attribute_of(begin, "lazily"), [no_arguments(right)], [])
        state = self._new("logical")
        return ast.IfExp(
            attribute_of(ast.NamedExpr(store(state), begin), "goes_on"),
            method(state, "right", right),
            attribute(state, "left"),
        )

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Both arms stay where they are; the state says which are evaluated."""
        if self._in_iterable and self._needs_place(node):
            return node
        test, body, orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        begin = method(RUNTIME, "Choice", test)
        if self._in_iterable:
            lazily: list[ast.expr] = [no_arguments(body), no_arguments(orelse)]
            return self._placed(ast.Call(attribute_of(begin, "lazily"), lazily, []), node)
        state = self._new("choice")
        arms: list[ast.expr] = [
            ast.IfExp(method(state, word), value, ast.Constant(None))
            for word, value in (("if_true", body), ("if_false", orelse))
        ]
        ends = attribute_of(ast.NamedExpr(store(state), begin), "merged")
        return self._placed(ast.Call(ends, arms, []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """`not`; the others are methods of DataNode."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return self._placed(method(RUNTIME, "not_", node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A chain becomes an `and`: `a < b < c` is `a < (t := b) and t < c`."""
        if len(node.ops) == 1 or self._in_iterable:
            self.generic_visit(node)
            return node
        left, pieces = self.visit(node.left), []
        for position, (op, operand) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.visit(operand)
            if position + 1 < len(node.ops):
                name = self._new("operand")
                pieces.append(ast.Compare(left, [op], [ast.NamedExpr(store(name), right)]))
                left = load(name)
            else:
                pieces.append(ast.Compare(left, [op], [right]))
        made: ast.expr = pieces[-1]
        for piece in reversed(pieces[:-1]):
            made = self._logical("and", piece, made)
        return self._placed(made, node)

    def _suspension(self, node: Any) -> Any:
        """`yield` and `await` inside a branch would let other code run as if it stood there."""
        self.generic_visit(node)
        for construct in self._frames[-1].conditions():
            value = node.value or ast.Constant(None)
            node.value = self._placed(method(construct.name, "suspends", value), node)
        return node

    visit_Yield = visit_YieldFrom = visit_Await = _suspension
