# SPDX-License-Identifier: Apache-2.0
"""Makes the functions of ``torchdali.functional`` from the schemas."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from torchdali._eager.arguments import options_of
from torchdali._eager.function import Function
from torchdali._engine.schema import OperatorSchema, registry
from torchdali.fn import _callables

__all__ = ["ALIASES", "FACE", "install", "schemas"]

FACE = _callables.Face("Sample or batch", "one value for each sample (tensor, Batch)", options_of)
# Short names of what is used most.
ALIASES = {"decode": "decoders.image"}
# Python calls functions itself, and constants are tensors.
_POINTLESS = ("constant", "dl_tensor_python_function", "python_function", "torch_python_function")


def schemas() -> dict[str, OperatorSchema]:
    """Returns the operators that are called on tensors, by their names; ALIASES among them."""
    found = {
        name: schema
        for name, schema in registry().items()
        if not schema.source and not schema.hidden and name not in _POINTLESS
    }
    found.update((alias, found[name]) for alias, name in ALIASES.items())
    return found


def install(package: ModuleType) -> None:
    """Fills ``torchdali.functional``."""
    made = {name: Function(schema) for name, schema in registry().items()}
    functions = {name: _function(made[schema.name], schema) for name, schema in schemas().items()}
    _callables.install_functions(package, functions)


def _function(made: Function, schema: OperatorSchema) -> Callable[..., Any]:
    call = made.call

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return call(inputs, kwargs)

    function.__signature__ = _callables.signature(schema, FACE)  # type: ignore[attr-defined]
    function.__doc__ = _callables.docstring(schema, face=FACE)
    return function
