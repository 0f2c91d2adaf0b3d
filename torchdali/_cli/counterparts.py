# SPDX-License-Identifier: Apache-2.0
"""What torchdali has for names of DALI: modules, classes, operators and their arguments."""

from __future__ import annotations

import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

import torchdali
from torchdali._engine.schema import ALIASES, UNIVERSAL, OperatorSchema, class_name, every_operator
from torchdali.errors import UnsupportedNameError

__all__ = ["ROOT", "arguments", "find", "operators"]

ROOT = "nvidia.dali"


@functools.cache
def find(path: str) -> Any:
    """Returns what has a name of DALI in torchdali; what an object has is not looked up.

    Raises:
        AttributeError: nothing has it. UnsupportedNameError: but DALI has such a name.
    """
    found: Any = torchdali
    for part in filter(None, path[len(ROOT) :].split(".")):
        if not isinstance(found, (ModuleType, type)):
            break
        try:
            found = getattr(found, part)
        except UnsupportedNameError:
            raise
        except AttributeError:
            if not isinstance(found, ModuleType):
                raise
            name = f"{found.__name__}.{part}"
            try:
                found = importlib.import_module(name)
            except ImportError as error:
                if error.name == name:
                    raise AttributeError(name) from None
                return None  # the module exists, but a package that it needs is not installed
    return found


@functools.cache
def operators() -> dict[str, OperatorSchema]:
    """Returns the operators by their dotted names in fn and in ops."""
    found = {}
    schemas = every_operator()
    old = {alias: schemas[name] for alias, name in ALIASES.items() if name in schemas}
    for name, schema in {**old, **schemas}.items():
        *modules, _ = name.split(".")
        found[f"{ROOT}.fn.{name}"] = schema
        found[".".join([ROOT, "ops", *modules, class_name(name)])] = schema
    return found


def arguments(path: str, target: Any) -> set[str] | None:
    """Returns the keyword arguments of a function or class; None: it takes any."""
    names: set[str] = set()
    schema = operators().get(path)
    if schema is not None:
        names |= {arg.name for arg in (*schema.args, *UNIVERSAL)}
    functions = [target]
    if target is torchdali.pipeline_def:
        functions.append(torchdali.Pipeline)
    try:
        parameters = [p for f in functions for p in inspect.signature(f).parameters.values()]
    except (TypeError, ValueError):
        return None
    complete = schema is not None or len(functions) > 1
    if not complete and any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return names | {p.name for p in parameters if p.kind in named}
