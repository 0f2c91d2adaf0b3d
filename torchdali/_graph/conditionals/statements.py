# SPDX-License-Identifier: Apache-2.0
"""Rewrites functions and statements so that the test of an `if` may be a data node.

Both branches stay where they are: a loop around them makes one pass for each branch that samples
may take. docs/design/conditionals.md has the picture.
"""

from __future__ import annotations

import ast
from typing import Any

from torchdali._graph.conditionals.expressions import (
    RETURNED,
    RUNTIME,
    Construct,
    Expressions,
    Frame,
    attribute,
    is_set,
    literal,
    load,
    method,
    place,
    store,
    tuple_of,
)
from torchdali._graph.conditionals.scan import (
    Assigned,
    Function,
    assigned,
    assigned_in_conditions,
    is_left_alone,
    own_nodes,
    settle_jumps,
)

__all__ = ["rewrite", "rewrite_lambda"]

# CPython compiles at most 20 nested blocks; conditions beyond this depth stay as they are.
_MAX_DEPTH = 16


def rewrite(function: Function) -> Function:
    """Returns a function as an equal one, for which DataNodes may be conditions.

    Args:
        function: with decorators and defaults removed; it is changed.
    """
    return ast.fix_missing_locations(_Rewriter().function(function))


def rewrite_lambda(function: ast.Lambda) -> ast.Lambda:
    """Returns a lambda, as rewrite() does a function."""
    return ast.fix_missing_locations(_Rewriter().visit_Lambda(function))


class _Rewriter(Expressions):
    # -- functions

    def function(self, node: Function) -> Function:
        settle_jumps(node.body)
        frame = self._enter(node.body)
        node.args = self.visit(node.args)
        self._frames.append(frame)
        outside, self._in_iterable = self._in_iterable, False
        node.body = self._block(node.body)
        self._in_iterable = outside
        self._frames.pop()
        first: list[ast.stmt] = list(frame.declarations)
        if frame.returns:
            first.append(ast.Assign([store(RETURNED)], ast.Constant(None)))
        place(node.body[0], *first)
        start = ast.get_docstring(node, clean=False) is not None
        node.body[start:start] = first
        return node

    def _enter(self, body: list[ast.stmt]) -> Frame:
        names = [
            name for node in own_nodes(body) if isinstance(node, ast.Global) for name in node.names
        ]
        return Frame(assigned_in_conditions(body), frozenset(names))

    def _declaration(self, node: ast.Global | ast.Nonlocal) -> ast.stmt:
        """Moves to the function's start: a condition mentions the names before its branches."""
        self._frames[-1].declarations.append(node)
        return ast.copy_location(ast.Pass(), node)

    visit_Global = visit_Nonlocal = _declaration

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if is_left_alone(node) else self.function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node if is_left_alone(node) else self.function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.args = self.visit(node.args)
        self._frames.append(Frame(frozenset(), frozenset()))
        node.body = self.visit(node.body)
        self._frames.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [
            self.function(s) if isinstance(s, Function) and not is_left_alone(s) else s
            for s in node.body
        ]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node  # not the annotation

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    # -- statements

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            result = self.visit(statement)
            made += result if isinstance(result, list) else [result]
        return made

    def visit_If(self, node: ast.If) -> Any:
        frame = self._frames[-1]
        if frame.depth >= _MAX_DEPTH:
            node.test = self.visit(node.test)
            node.body, node.orelse = self._block(node.body), self._block(node.orelse)
            return node
        found = assigned([node])
        construct = Construct(self._new("if"), is_loop=False)
        state = construct.name
        frame.constructs.append(construct)
        frame.depth += 1
        chain = self._chain(node, state, 0)
        frame.depth -= 1
        frame.constructs.pop()

        names = (*sorted(found.names), *sorted(construct.jumps))
        begin = ast.Assign([store(state)], self._state(names, found, frame))
        body: list[ast.stmt] = [chain]
        after: list[ast.stmt] = []
        if names:
            restore = ast.Assign([tuple_of(names)], attribute(state, "before"))
            body.insert(0, ast.If(attribute(state, "again"), [restore], []))
            merged = ast.Assign([tuple_of(names)], attribute(state, "merged"))
            after.append(ast.If(attribute(state, "traced"), [merged], []))
        loop = ast.For(store(f"{state}_pass"), load(state), body, [])
        after += self._go_on(frame, construct.jumps)
        place(node, begin, loop, *after)
        return [begin, loop, *after]

    def _state(self, names: tuple[str, ...], found: Assigned, frame: Frame) -> ast.Call:
        globals_ = tuple(name for name in names if name in frame.globals_)
        constants = [names, globals_, tuple(sorted(found.attributes)), tuple(sorted(found.items))]
        return method(RUNTIME, "Branches", *(literal(value) for value in constants))

    def _chain(self, node: ast.If, state: str, position: int) -> ast.If:
        """Returns if/elif/else with tests that the state answers; each is evaluated once."""
        test = ast.BoolOp(
            ast.And(),
            [
                method(state, "pending", ast.Constant(position)),
                method(state, "test", self.visit(node.test)),
            ],
        )
        place(node.test, test)
        body = self._block(node.body)
        orelse: list[ast.stmt]
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            orelse = [self._chain(node.orelse[0], state, position + 1)]
        else:
            orelse = self._block(node.orelse)
        made = ast.If(test, body, orelse)
        return ast.copy_location(made, node)

    # -- jumps: `return`, `break` and `continue` inside a condition set a variable and leave it

    def _leave(self, frame: Frame) -> ast.stmt:
        return ast.Break() if frame.constructs[-1].is_loop else ast.Continue()

    def _go_on(self, frame: Frame, jumps: set[str]) -> list[ast.stmt]:
        """Returns what follows a construct that jumps lead out of."""
        made: list[ast.stmt] = []
        for name in sorted(jumps):
            if name == RETURNED:
                if frame.conditions():
                    action: ast.stmt = self._leave(frame)
                else:
                    action = ast.Return(attribute(RETURNED, "value"))
                made.append(ast.If(is_set(name), [action], []))
            elif frame.constructs[-1].is_loop:
                for word, jump in (("break", ast.Break()), ("continue", ast.Continue())):
                    is_it = ast.Compare(load(name), [ast.Eq()], [ast.Constant(word)])
                    made.append(ast.If(is_it, [jump], []))
            else:
                made.append(ast.If(is_set(name), [ast.Continue()], []))
        return made

    def visit_Return(self, node: ast.Return) -> Any:
        node.value = node.value and self.visit(node.value)
        frame = self._frames[-1]
        conditions = frame.conditions()
        if not conditions:
            return node
        frame.returns = True
        for construct in frame.constructs:
            construct.jumps.add(RETURNED)
        value = method(RUNTIME, "Returned", node.value or ast.Constant(None))
        made: list[ast.stmt] = [ast.Assign([store(RETURNED)], value), self._leave(frame)]
        place(node, *made)
        return made

    def _jump(self, node: ast.Break | ast.Continue, word: str) -> Any:
        constructs = self._frames[-1].constructs
        loop = max(i for i, c in enumerate(constructs) if c.is_loop)
        if loop == len(constructs) - 1:
            return node
        for construct in constructs[loop:]:
            construct.jumps.add(constructs[loop].name)
        assign = ast.Assign([store(constructs[loop].name)], ast.Constant(word))
        made: list[ast.stmt] = [assign, ast.Continue()]
        place(node, *made)
        return made

    def visit_Break(self, node: ast.Break) -> Any:
        return self._jump(node, "break")

    def visit_Continue(self, node: ast.Continue) -> Any:
        return self._jump(node, "continue")

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> Any:
        frame = self._frames[-1]
        construct = Construct(self._new("loop"), is_loop=True)
        frame.constructs.append(construct)
        frame.depth += 1
        node.body = self._block(node.body)
        frame.depth -= 1
        frame.constructs.pop()
        node.orelse = self._block(node.orelse)
        if construct.name in construct.jumps:
            clear = ast.Assign([store(construct.name)], ast.Constant(None))
            place(node, clear)
            node.body.insert(0, clear)
        after: list[ast.stmt] = []
        if RETURNED in construct.jumps and frame.conditions():
            after = self._go_on(frame, {RETURNED})
            place(node, *after)
        return [node, *after]

    def visit_For(self, node: ast.For) -> Any:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        return self._loop(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        return self._loop(node)

    def visit_While(self, node: ast.While) -> Any:
        node.test = self.visit(node.test)
        return self._loop(node)

    def _nested(self, node: ast.AST, levels: int) -> ast.AST:
        self._frames[-1].depth += levels
        self.generic_visit(node)
        self._frames[-1].depth -= levels
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        return self._nested(node, len(node.items))

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return self._nested(node, len(node.items))

    def visit_Try(self, node: Any) -> Any:
        self._nested(node, 3)
        mark = self._new("mark")
        begin = ast.Assign([store(mark)], method(RUNTIME, "mark"))
        for block in [*(handler.body for handler in node.handlers), node.finalbody]:
            if block:
                back = ast.Expr(method(RUNTIME, "back", load(mark)))
                place(block[0], back)
                block.insert(0, back)
        place(node, begin)
        return [begin, node]

    visit_TryStar = visit_Try

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.guard = node.guard and self.visit(node.guard)  # patterns are no expressions
        node.body = self._block(node.body)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        self.generic_visit(node)
        if not isinstance(target, ast.Name) or not self._is_checked(target.id):
            return node
        check = ast.Expr(method(RUNTIME, "use", load(target.id)))
        place(node, check)
        return [check, node]
