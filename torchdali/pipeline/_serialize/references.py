# SPDX-License-Identifier: Apache-2.0
"""Functions by name, "module:qualname": how a serialized pipeline refers to the user's code.

Importing a module runs it, so nothing is imported that the caller has not allowed.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from torchdali._common.location import SourceLocation
from torchdali.errors import ArgumentTypeError, PipelineError, UnsupportedError, _make

__all__ = ["Allow", "Allowed", "reference"]

# What a caller lets a serialized pipeline call and write.
Allow = bool | str | os.PathLike[str] | Callable[..., Any] | Iterable[Any]

_OWNER = "fn.external_source"
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")


def _walk(module: Any, qualname: str) -> Any:
    for part in qualname.split("."):
        module = getattr(module, part)
    return module


def _why_not(source: Any) -> str:
    """Returns why another process cannot find a source by a name; "" if it has."""
    module, qualname = getattr(source, "__module__", None), getattr(source, "__qualname__", None)
    if not callable(source) or not isinstance(module, str) or not isinstance(qualname, str):
        return f"is an object ({type(source).__name__}), which has data of its own"
    if "<lambda>" in qualname:
        return "is a lambda"
    if "<locals>" in qualname:
        return f"is `{qualname}`, which is defined inside a function"
    if module == "__main__":
        return f"is `{qualname}` of the main program, which is another one in another process"
    try:
        found = _walk(importlib.import_module(module), qualname)
    except (ImportError, AttributeError):
        return f"is `{qualname}`, which module `{module}` does not have"
    if found is not source:
        if getattr(source, "__self__", None) is not None:
            return f"is `{qualname}` of an object, which has data of its own"
        return f"is not what module `{module}` has as `{qualname}`"
    return ""


def reference(
    source: Any,
    location: SourceLocation | None,
    *,
    operator: str = _OWNER,
    argument: str = "source",
) -> str:
    """Returns "module:qualname" of a function.

    Args:
        source: the function.
        location: of the user's call.
        operator: that it was passed to, for messages.
        argument: that it was passed as.

    Raises:
        UnsupportedError: it cannot be found by name; the text names the user's line.
    """
    why = _why_not(source)
    if why:
        fix = "make it a function at the top level of a module"
        if operator == _OWNER:
            fix += ", or leave out `source` and bring the data with Pipeline.feed_input()"
        raise _make(
            UnsupportedError,
            f"a pipeline is serialized with the names of its functions, and `{argument}` {why}",
            operator=operator,
            location=location,
            fix=fix,
        )
    return f"{source.__module__}:{source.__qualname__}"


class Allowed:
    """What a caller lets a serialized pipeline call.

    Args:
        allow: True for everything, or any number of functions, "module:qualname", "module", and
            folders (pathlib.Path) in which it may write files.
    """

    def __init__(self, allow: Allow) -> None:
        self._all = allow is True
        self._folders: list[str] = []
        self._names: set[str] = set()
        self._functions: dict[str, Any] = {}
        items: Any = () if isinstance(allow, bool) else allow
        if isinstance(items, (str, os.PathLike)) or callable(items):
            items = (items,)
        if not isinstance(items, Iterable):
            raise self._wrong(items)
        for item in items:
            if isinstance(item, str):
                self._names.add(item)
            elif isinstance(item, os.PathLike):
                self._folders.append(os.path.realpath(item))
            elif callable(item) and hasattr(item, "__qualname__"):
                self._functions[f"{item.__module__}:{item.__qualname__}"] = item
            else:
                raise self._wrong(item)

    @staticmethod
    def _wrong(item: Any) -> Exception:
        return _make(
            ArgumentTypeError,
            "Pipeline.deserialize: `allow` takes functions, names of modules or functions, folders "
            f"(pathlib.Path), or True, got {type(item).__name__}",
        )

    def check_file(self, path: str, location: SourceLocation | None, *, operator: str) -> None:
        """Raises PipelineError if a file may not be written.

        Args:
            path: of the file, or of the folder that it is in.
            location: of the operator.
            operator: that writes it.
        """
        if self._all:
            return
        # Links are followed, since the operator will.
        real = os.path.realpath(path.replace("\0", ""))
        if any(os.path.commonpath((folder, real)) == folder for folder in self._folders):
            return
        what = "to the working folder" if path == os.curdir else f"the file {path!r}"
        folder = real if path == os.curdir else os.path.dirname(real)
        raise _make(
            PipelineError,
            f"the serialized pipeline writes {what}, which was not allowed",
            operator=operator,
            location=location,
            fix=f"pass allow=pathlib.Path({folder!r}) if you trust its origin",
        )

    def find(self, name: str, location: SourceLocation | None, *, operator: str = _OWNER) -> Any:
        """Returns the function of that name, importing its module if need be.

        Raises:
            PipelineError: it is not allowed, or there is no such function.
        """
        if name in self._functions:
            return self._functions[name]

        def fail(message: str, fix: str | None = None) -> Exception:
            return _make(PipelineError, message, operator=operator, location=location, fix=fix)

        module, colon, qualname = name.partition(":")
        if not (colon and _DOTTED.match(module) and _DOTTED.match(qualname)):
            raise fail(f"{name!r} is no name of a function (module:qualname)")
        if not (self._all or name in self._names or module in self._names):
            raise fail(
                f"the serialized pipeline calls `{name}`, which was not allowed",
                f'pass allow="{name}" if you trust its origin: the module will be '
                "imported and the function called",
            )
        try:
            found = _walk(importlib.import_module(module), qualname)
        except (ImportError, AttributeError) as error:
            raise fail(f"there is no `{name}` here: {error}") from None
        # `allowed:os.system` would be a way out of the module that was allowed.
        if _why_not(found) or f"{found.__module__}:{found.__qualname__}" != name:
            raise fail(f"`{name}` is the name of something else")
        return found
