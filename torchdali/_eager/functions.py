# SPDX-License-Identifier: Apache-2.0
"""Makes the functions of ``torchdali.functional`` from the schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from torchdali._eager.arguments import options_of
from torchdali._eager.function import Function
from torchdali._engine import libraries
from torchdali._engine.schema import OperatorSchema, registry
from torchdali.fn import _callables

__all__ = ["ALIASES", "FACE", "install", "schemas"]

FACE = _callables.Face("Sample or batch", "one value for each sample (tensor, Batch)", options_of)
# Short names of what is used most.
ALIASES = {"decode": "decoders.image"}
# Python calls functions itself, and constants are tensors.
_POINTLESS = ("constant", "dl_tensor_python_function", "python_function", "torch_python_function")


def schemas(among: Iterable[OperatorSchema] | None = None) -> dict[str, OperatorSchema]:
    """Returns the operators that are called on tensors, by their names; ALIASES among them.

    Args:
        among: which to choose from; by default, all of the registry.
    """
    found = {
        schema.name: schema
        for schema in (registry().values() if among is None else among)
        if not schema.source and not schema.hidden and schema.name not in _POINTLESS
    }
    found.update((alias, found[name]) for alias, name in ALIASES.items() if name in found)
    return found


def install(package: ModuleType) -> None:
    """Fills ``torchdali.functional``."""
    libraries.show(package, lambda added: _install(package, schemas(added)))


def _install(package: ModuleType, chosen: dict[str, OperatorSchema]) -> None:
    made = {schema.name: Function(schema) for schema in chosen.values()}
    functions = {name: _function(made[schema.name], schema) for name, schema in chosen.items()}
    _callables.install_functions(package, functions)


def _function(made: Function, schema: OperatorSchema) -> Callable[..., Any]:
    call = made.call

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return call(inputs, kwargs)

    function.__signature__ = _callables.signature(schema, FACE)  # type: ignore[attr-defined]
    function.__doc__ = _callables.docstring(schema, face=FACE)
    return function
