# SPDX-License-Identifier: Apache-2.0
"""From a function to its rewritten copy: finds its source, says which functions are left alone."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import os
import site
import sys
import sysconfig
import types
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from torchdali._common.location import PACKAGE_DIR
from torchdali._graph.conditionals.expressions import RUNTIME
from torchdali._graph.conditionals.scan import Function
from torchdali._graph.conditionals.statements import rewrite, rewrite_lambda

__all__ = ["LEFT_ALONE", "as_written", "converted", "why_unconverted"]

# Attribute of functions under do_not_convert.
LEFT_ALONE = "_torchdali_do_not_convert"

_WRITTEN_WITH_FN = os.path.join(PACKAGE_DIR, "auto_aug") + os.sep
_PATHS = sysconfig.get_paths()
_STANDARD = tuple(_PATHS[key] + os.sep for key in ("stdlib", "platstdlib"))
_LIBRARIES = tuple(
    {_PATHS["purelib"] + os.sep, _PATHS["platlib"] + os.sep, site.getusersitepackages() + os.sep}
)
_FUTURE = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag,
    __future__.all_feature_names,
    0,
)

# Code -> why it is not rewritten, for messages.
_unconverted: dict[CodeType, str] = {}
# Rewritten code of a function inside another -> its code as it was written.
_written: dict[CodeType, CodeType] = {}


class _NoSource(Exception):
    """Why a function cannot be rewritten."""


def why_unconverted(code: CodeType) -> str | None:
    """Returns why a function was not rewritten; None if it was, or was not tried."""
    return _unconverted.get(code)


def converted(function: Any, runtime: Any) -> Any:
    """Returns what to call in place of `function`: a rewritten copy if there is one.

    Args:
        function: anything that is called.
        runtime: what the rewritten code calls.
    """
    if isinstance(function, FunctionType):
        return _function(function, runtime)
    if isinstance(function, types.MethodType):
        made = converted(function.__func__, runtime)
        return function if made is function.__func__ else types.MethodType(made, function.__self__)
    if isinstance(function, functools.partial):
        made = converted(function.func, runtime)
        if made is function.func:
            return function
        return functools.partial(made, *function.args, **function.keywords)
    if isinstance(function, type) or not callable(function):
        return function
    method = type(function).__call__
    if not isinstance(method, FunctionType):
        return function
    made = _function(method, runtime)
    return function if made is method else types.MethodType(made, function)


def _function(function: FunctionType, runtime: Any) -> Callable[..., Any]:
    code = function.__code__
    reason = _reason_to_leave(function)
    if reason is None:
        try:
            made = _rewritten(code, code.co_filename)
        except _NoSource as error:
            reason = str(error)
    if reason is not None:
        if reason:
            _unconverted[code] = reason
        return function
    return _twin(function, made, {RUNTIME: types.CellType(runtime)})


def as_written(function: Any) -> Any:
    """Returns the original of a function that a rewritten one has defined.

    For functions that see no data nodes: they are faster, and other processes need no torch.
    """
    if isinstance(function, functools.partial):
        return functools.partial(as_written(function.func), *function.args, **function.keywords)
    if isinstance(function, FunctionType):
        code = _written.get(function.__code__)
        if code is not None and set(code.co_freevars) <= set(function.__code__.co_freevars):
            return _twin(function, code, {})
    return function


def _twin(
    function: FunctionType, code: CodeType, more: dict[str, types.CellType]
) -> Callable[..., Any]:
    """Returns a copy of a function with other code, and with more free variables."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells |= more
    twin = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__annotations__ = function.__annotations__
    twin.__qualname__ = function.__qualname__
    twin.__doc__ = function.__doc__
    twin.__module__ = function.__module__
    twin.__dict__.update(function.__dict__)
    return twin


def _reason_to_leave(function: FunctionType) -> str | None:
    """Returns why a function is not to be rewritten; "" if the reason is not needed."""
    code, path = function.__code__, function.__code__.co_filename
    if RUNTIME in code.co_freevars:
        return ""  # it is rewritten already
    if getattr(function, LEFT_ALONE, False):
        return "it is under do_not_convert"
    if path.startswith(PACKAGE_DIR) and not path.startswith(_WRITTEN_WITH_FN):
        return ""
    if path.startswith(_LIBRARIES) or "site-packages" in path:
        uses = _imports_torchdali(str(function.__globals__.get("__name__")))
        return None if uses else "it belongs to a library that does not import torchdali"
    return "it belongs to Python's library" if path.startswith(_STANDARD) else None


@functools.lru_cache(maxsize=1024)
def _imports_torchdali(module: str) -> bool:
    return any(_is_torchdali(value) for value in vars(sys.modules.get(module, site)).values())


def _is_torchdali(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        name = value.__name__
    elif isinstance(value, (type, FunctionType)):
        name = value.__module__ or ""
    else:
        return False
    return name in ("torchdali", "nvidia.dali") or name.startswith("torchdali.")


@functools.lru_cache(maxsize=32)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@functools.lru_cache(maxsize=4096)
def _rewritten(code: CodeType, filename: str) -> CodeType:
    """Returns the code of the rewritten function. Equal code of two files is two functions."""
    module, class_name = _find(code)
    node = module.body[0]
    assert isinstance(node, Function | ast.Expr)
    if class_name:
        _Mangler(class_name).visit(node)
    if isinstance(node, ast.Expr):
        assert isinstance(node.value, ast.Lambda)
        _strip(node.value)
        inner: ast.stmt = ast.Return(rewrite_lambda(node.value))
    else:
        _strip(node)
        node.name = "_torchdali_function"  # its own would hide what the name stands for outside
        inner = rewrite(node)
    names = [*code.co_freevars, RUNTIME]
    parameters = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    # Inside a function that has them as parameters, the names are free variables as before.
    factory = ast.FunctionDef("_torchdali_factory", parameters, [inner], [])
    for made in (factory, inner):
        ast.copy_location(made, node)
    tree = ast.fix_missing_locations(ast.Module([factory], []))
    outer: Any = compile(tree, filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    for _ in range(2):
        outer = next(c for c in outer.co_consts if isinstance(c, CodeType))
    named: CodeType = outer.replace(co_name=code.co_name)
    if sys.version_info >= (3, 11):
        named = named.replace(co_qualname=code.co_qualname)
    _note_written(named, code)
    return named


def _note_written(rewritten: CodeType, written: CodeType) -> None:
    """Notes which code the functions have that are defined inside a rewritten one."""

    def inside(code: CodeType) -> list[tuple[tuple[str, int], CodeType]]:
        found = [c for c in code.co_consts if isinstance(c, CodeType)]
        return [((c.co_name, c.co_firstlineno), c) for c in found]

    originals = inside(written)
    for place, made in inside(rewritten):
        same = [code for where, code in originals if where == place]
        if len(same) == 1:  # else one of several lambdas on a line
            _note_written(made, same[0])
            if RUNTIME in made.co_freevars:
                _written[made] = same[0]


def _strip(node: Any) -> None:
    """Removes expressions that are evaluated with a definition; the copy takes the values."""
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    if not isinstance(node, ast.Lambda):
        node.decorator_list, node.returns = [], None
        node.type_params = []
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None


def _find(code: CodeType) -> tuple[ast.Module, str]:
    """Returns a function's syntax tree, alone in a module, and the class it is defined in."""
    try:
        lines, _ = inspect.findsource(code)
    except (OSError, TypeError, IndexError):
        raise _NoSource(f"its source ({code.co_filename}) is not there") from None
    try:
        tree = _parsed("".join(lines))
    except (SyntaxError, ValueError):
        raise _NoSource(f"its source ({code.co_filename}) is not Python") from None
    found: list[tuple[Any, str]] = []
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, class_name = todo.pop()
        if _starts_at(node) == code.co_firstlineno and _fits(node, class_name, code):
            name = "<lambda>" if isinstance(node, ast.Lambda) else getattr(node, "name", "")
            if name == code.co_name:
                found.append((node, class_name))
        inside = node.name if isinstance(node, ast.ClassDef) else class_name
        todo += ((child, inside) for child in ast.iter_child_nodes(node))
    if len(found) > 1:
        found = [pair for pair in found if _holds(pair[0], code)]
    if len(found) != 1:
        raise _NoSource(
            f"it is one of several lambdas on a line ({code.co_filename}:{code.co_firstlineno})"
            if len(found) > 1
            else f"its source ({code.co_filename}) has changed since it was loaded"
        )
    node, class_name = copy.deepcopy(found[0])
    if isinstance(node, ast.Lambda):
        node = ast.copy_location(ast.Expr(node), node)
    return ast.Module([node], []), class_name


def _starts_at(node: ast.AST) -> int | None:
    if isinstance(node, Function):
        return min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return node.lineno if isinstance(node, ast.Lambda) else None


def _fits(node: Any, class_name: str, code: CodeType) -> bool:
    """Returns whether a function has the parameters of `code`."""
    a = node.args
    listed = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    names = tuple(_mangled(arg.arg, class_name) for arg in listed)
    return names == code.co_varnames[: len(names)] and len(names) == (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & inspect.CO_VARARGS)
        + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    )


def _holds(node: ast.Lambda, code: CodeType) -> bool:
    """Returns whether the instructions of a lambda come from its body here (Python 3.11)."""
    if sys.version_info < (3, 11):
        return True
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    spans = [
        ((line, column), (last_line, last_column))
        for line, last_line, column, last_column in code.co_positions()
        if column is not None and (column, last_column) != (0, 0)
    ]
    return bool(spans) and all(start <= first and last <= end for first, last in spans)


def _mangled(name: str, class_name: str) -> str:
    """Returns a private name of a class as Python spells it."""
    prefix = class_name.lstrip("_")
    private = name.startswith("__") and not name.endswith("__")
    return f"_{prefix}{name}" if private and prefix else name


class _Mangler(ast.NodeVisitor):
    """Writes private names of a class out, as Python does inside it."""

    def __init__(self, class_name: str) -> None:
        self._class_name = class_name

    def visit(self, node: Any) -> None:
        for field in ("id", "attr", "arg", "name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not isinstance(node, ast.alias):
                setattr(node, field, _mangled(name, self._class_name))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [_mangled(name, self._class_name) for name in node.names]
        if not isinstance(node, ast.ClassDef):  # which has names of its own
            self.generic_visit(node)
