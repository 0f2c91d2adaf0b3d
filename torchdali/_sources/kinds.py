# SPDX-License-Identifier: Apache-2.0
"""What kind of source the user has passed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali.errors import ArgumentTypeError, _make

__all__ = ["OWNER", "num_parameters", "source_kind", "takes_info"]

OWNER = "fn.external_source"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def source_kind(source: Any) -> str | None:
    """Returns "iterable", "generator function" or "callable"; None for anything else.

    As in DALI, an object that is both iterable and callable is iterated over.
    """
    if isinstance(source, Iterable) or hasattr(type(source), "__getitem__"):
        return "iterable"
    call = getattr(type(source), "__call__", None)  # noqa: B004  # the function itself is wanted
    if inspect.isgeneratorfunction(source) or inspect.isgeneratorfunction(call):
        return "generator function"
    return "callable" if callable(source) else None


def takes_info(source: Callable[..., Any], location: SourceLocation | None) -> bool:
    """Returns whether a callable takes an index or an info.

    As in DALI, its signature has to say so: other parameters could be meant for the index too.

    Raises:
        ArgumentTypeError: it takes something else than no or one positional argument.
    """
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return False
    bound = source.keywords if isinstance(source, functools.partial) else {}
    given = [p for p in parameters if p.name not in bound]
    others = [str(p) for p in given if p.kind not in _POSITIONAL]
    if others or len(given) > 1:
        what = f"takes `{others[0]}`" if others else f"takes {len(given)}"
        raise _make(
            ArgumentTypeError,
            f"a callable `source` must take no or one positional argument, this one {what}",
            operator=OWNER,
            location=location,
            fix="bind what else it takes, with functools.partial",
        )
    return bool(given)


def num_parameters(function: Callable[..., Any]) -> tuple[int, int]:
    """Returns how many positional arguments a callable requires, and how many it takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return 0, 0
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    return sum(p.default is p.empty for p in positional), len(positional)
