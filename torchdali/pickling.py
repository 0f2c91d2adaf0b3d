# SPDX-License-Identifier: Apache-2.0
"""Functions and classes by value, so that a process that does not have their module can use them.

Standard pickle stores a function as the name of its module and its own. That fails for what is
defined in a script, a notebook or inside another function. Here such functions are stored whole:
code, defaults, closure and the globals that the code names; classes of ``__main__`` likewise.
Everything else is stored as standard pickle does. Both sides must be the same version of Python.
"""

from __future__ import annotations

import abc
import builtins
import contextlib
import dataclasses
import enum
import functools
import importlib
import io
import marshal
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from torchdali._common.unsupported import names_of

__all__ = ["dumps", "find_culprit", "loads", "pickle_by_value"]

# What dataclasses compare by identity: marks in the classes that they make.
_SENTINELS = {
    id(value): name
    for name, value in vars(dataclasses).items()
    if type(value).__module__ == "dataclasses"
}
_F = TypeVar("_F", bound=Callable[..., Any])
_MARK = "_torchdali_by_value"
# Globals of the functions of one module that were stored by value, shared among them as in there.
_namespaces: dict[str, dict[str, Any]] = {}


def pickle_by_value(fun: _F) -> _F:
    """Marks a function of an importable module to be stored whole all the same.

    For functions whose module the worker processes shall not import.
    """
    setattr(fun, _MARK, True)
    return fun


def dumps(obj: Any) -> bytes:
    """Returns an object as bytes; what standard pickle can find by name, it stores by name.

    Raises:
        TypeError, pickle.PicklingError: something in it cannot be stored.
    """
    file = io.BytesIO()
    _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(obj)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """Returns the object of dumps(). Runs code that the bytes name: only for bytes of one's own."""
    return pickle.loads(data)


def find_culprit(obj: Any, store: Callable[[Any], Any] = dumps) -> str:
    """Returns which part of an object cannot be stored, and what leads to it; "" if none is found.

    Args:
        obj: an object that `store` fails for.
        store: dumps(), or a function like it.
    """
    path: list[str] = []
    visited: set[int] = set()
    while id(obj) not in visited:
        visited.add(id(obj))
        for name, part in _parts(obj):
            try:
                store(part)
            except Exception:
                path += [name] if name else []
                obj = part
                break
    return ", in ".join(reversed(path)) + f" ({type(obj).__qualname__})" if path else ""


def _parts(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yields what is stored with an object, and how to call it."""
    if isinstance(obj, types.MethodType):
        yield "", obj.__self__
        yield "", obj.__func__
    elif isinstance(obj, types.FunctionType):
        own = f"`{obj.__qualname__}`"
        closure = zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True)
        for name, cell in closure:
            with contextlib.suppress(ValueError):  # empty
                yield f"the variable `{name}` in {own}", cell.cell_contents
        for name in sorted({*_names(obj.__code__)} & obj.__globals__.keys()):
            yield f"the global `{name}` in {own}", obj.__globals__[name]
        for value in (*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()):
            yield f"a default of {own}", value
    elif isinstance(obj, dict):
        for key, value in obj.items():
            yield f"[{key!r}]", value
    elif isinstance(obj, (list, tuple, set, frozenset)):
        for value in obj:
            yield "", value
    elif isinstance(obj, type):
        for name, value in _attributes(obj).items():
            yield f"the attribute `{name}` of `{obj.__qualname__}`", value
    elif not _is_builtin(type(obj)):
        for name, value in getattr(obj, "__dict__", {}).items():
            yield f"the attribute `{name}` of `{type(obj).__qualname__}`", value
        yield "", type(obj)


def _importable(obj: Any) -> bool:
    """Returns whether another process finds the object by its name."""
    if obj.__module__ in (None, "__main__", "__mp_main__"):
        return False
    found: Any = sys.modules.get(obj.__module__)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.FunctionType):
            if getattr(obj, _MARK, False) or not _importable(obj):
                return _reduce_function(obj)
        elif isinstance(obj, types.CellType):
            try:
                content = (obj.cell_contents,)
            except ValueError:  # empty
                return _make_cell, ()
            # In a second step: what it holds may lead back to it.
            return _make_cell, (), content, None, None, _fill_cell
        elif isinstance(obj, (staticmethod, classmethod)):
            return type(obj), (obj.__func__,)
        elif isinstance(obj, property):
            return property, (obj.fget, obj.fset, obj.fdel, obj.__doc__)
        elif isinstance(obj, types.MappingProxyType):
            return types.MappingProxyType, (dict(obj),)
        elif isinstance(obj, functools._lru_cache_wrapper):
            if not _importable(obj):
                return _make_cached, (obj.__wrapped__, obj.cache_parameters())
        elif id(obj) in _SENTINELS:
            return getattr, (dataclasses, _SENTINELS[id(obj)])
        elif isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        elif isinstance(obj, type) and not _importable(obj):
            if obj.__module__ != "builtins":
                return _reduce_class(obj)
            for name, value in vars(types).items():
                if value is obj:
                    return getattr, (types, name)
        return NotImplemented


def _names(code: types.CodeType) -> Iterator[str]:
    """Yields the names that a function's code, and the functions inside it, may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _reduce_function(function: types.FunctionType) -> Any:
    code = function.__code__
    everywhere = function.__globals__
    wanted = {name: everywhere[name] for name in _names(code) if name in everywhere}
    made = (
        marshal.dumps(code),
        function.__module__,
        function.__name__,
        function.__closure__,
    )
    state = {
        "globals": wanted,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "qualname": function.__qualname__,
        "doc": function.__doc__,
        "dict": {k: v for k, v in function.__dict__.items() if k != "__wrapped__"},
    }
    return _make_function, made, state, None, None, _fill_function


def _make_function(
    code: bytes, module: str | None, name: str, closure: tuple[types.CellType, ...] | None
) -> types.FunctionType:
    namespace = _namespaces.setdefault(str(module), {"__name__": module})
    namespace.setdefault("__builtins__", builtins)
    return types.FunctionType(marshal.loads(code), namespace, name, None, closure)


def _fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["kwdefaults"]
    function.__qualname__ = state["qualname"]
    function.__doc__ = state["doc"]
    function.__dict__.update(state["dict"])


def _make_cell() -> types.CellType:
    return types.CellType()


def _fill_cell(cell: types.CellType, content: tuple[Any]) -> None:
    cell.cell_contents = content[0]


def _is_builtin(cls: type) -> bool:
    return cls.__flags__ & (1 << 9) == 0  # Py_TPFLAGS_HEAPTYPE


def _attributes(cls: type) -> dict[str, Any]:
    """Returns what the body of a class has set."""
    return {
        name: value
        for name, value in cls.__dict__.items()
        if name not in ("__module__", "__abstractmethods__", "_abc_impl")
        and not isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType))
    }


def _reduce_class(cls: type) -> Any:
    if isinstance(cls, enum.EnumMeta):
        return _reduce_enumeration(cls)
    attributes = _attributes(cls)
    slots = attributes.pop("__slots__", None)
    made = (type(cls), cls.__name__, cls.__bases__, cls.__module__, slots)
    return _make_class, made, attributes, None, None, _fill_class


def _reduce_enumeration(cls: enum.EnumMeta) -> Any:
    members = {name: getattr(cls, name).value for name in cls.__members__}
    methods = {
        name: value
        for name, value in cls.__dict__.items()
        if isinstance(value, (types.FunctionType, staticmethod, classmethod, property))
        and not (name.startswith("_") and name in enum.Enum.__dict__)
        and getattr(value, "__module__", cls.__module__) == cls.__module__
    }
    made = (type(cls), cls.__name__, cls.__bases__, cls.__module__, cls.__qualname__, members)
    return _make_enumeration, made, methods, None, None, _fill_class


def _make_enumeration(
    meta: Any, name: str, bases: tuple[type, ...], module: str, qualname: str, members: Any
) -> type:
    body = meta.__prepare__(name, bases)
    body["__module__"], body["__qualname__"] = module, qualname
    body.update(members)
    made: type = meta(name, bases, body)
    return made


def _make_cached(function: Any, options: dict[str, Any]) -> Any:
    return functools.lru_cache(**options)(function)


def _make_class(meta: Any, name: str, bases: tuple[type, ...], module: str, slots: Any) -> type:
    body: dict[str, Any] = {"__module__": module}
    if slots is not None:
        body["__slots__"] = slots
    made: type = meta(name, bases, body)
    return made


def _fill_class(cls: type, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(cls, name, value)
    abc.update_abstractmethods(cls)


if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
