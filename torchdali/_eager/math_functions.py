# SPDX-License-Identifier: Apache-2.0
"""The functions of ``torchdali.math`` on data, for DALI's eager modes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torchdali import math

__all__ = ["install"]


def install(module: ModuleType, apply: Callable[..., Any]) -> None:
    """Fills a module.

    Args:
        module: that gets the functions.
        apply: called with DALI's name of an operation and its operands.
    """
    for name in math.__all__:
        setattr(module, name, _function(getattr(math, name), apply, module.__name__))


def _function(original: Callable[..., Any], apply: Callable[..., Any], home: str) -> Any:
    name = original.__name__  # DALI's name of the operation, too
    parameters = inspect.signature(original)

    def function(*args: Any, **kwargs: Any) -> Any:
        return apply(name, *parameters.bind(*args, **kwargs).args)

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = home, original.__doc__
    function.__signature__ = parameters.replace(  # type: ignore[attr-defined]
        return_annotation=inspect.Signature.empty
    )
    return function
