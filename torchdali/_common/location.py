# SPDX-License-Identifier: Apache-2.0
"""Finds the line of user code that created an operator, for errors raised later in a worker."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass
from types import FrameType

__all__ = ["PACKAGE_DIR", "SourceLocation", "find_user_location", "in_library", "user_stack_level"]

PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# They call constructors and iterators of loaders for the user.
_WRAPPERS = ("lightning.", "lightning_fabric.", "pytorch_lightning.", "torch.utils.data.")
_LIBRARIES = (
    PACKAGE_DIR,
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")),
)


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's code. Its text is read when it is shown, not before.

    Attributes:
        filename: as Python has it.
        lineno: from 1; 0 if there is no line.
        function: that the line is in.
        text: the line itself, if it is not to be read from the file: that of a serialized
            pipeline may be on another machine.
    """

    filename: str
    lineno: int
    function: str
    text: str | None = None

    def __str__(self) -> str:
        """Returns "train.py:42, in make_pipeline:" and the line itself below it."""
        where = f"{self.short()}, in {self.function}" if self.lineno else self.short()
        line = self.line()
        return _printable(f"{where}:\n      {line}" if line else where)

    def line(self) -> str:
        """Returns the text of the line, or "" if there is none."""
        if self.text is not None:
            return self.text
        return linecache.getline(self.filename, self.lineno).strip()

    def short_filename(self) -> str:
        """Returns the path, relative to the working directory if it is below that, or "In[3]"."""
        return _short(self.filename)

    def short(self) -> str:
        """Returns "train.py:42", or "In[3]:42" for line 42 of a cell of a notebook."""
        return _printable(
            f"{_short(self.filename)}:{self.lineno}" if self.lineno else self.filename
        )


def _printable(text: str) -> str:
    """Returns text that UTF-8 can hold: names of files may have bytes that are none."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _short(filename: str) -> str:
    """Returns the path relative to the working directory if it is below that, or "In[3]"."""
    if cell := _notebook_cell(filename):
        return cell
    try:
        return _relative(filename, os.getcwd())
    except (OSError, ValueError):  # the working directory is gone; another drive
        return filename


def _notebook_cell(filename: str) -> str | None:
    """Returns what IPython and Jupyter call a cell, such as "In[3]"; None for a file."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(filename)
    return None if named is None else str(named[1])


# A definition's nodes come from few files, and relpath() takes 10 us.
@functools.lru_cache(maxsize=64)
def _relative(filename: str, directory: str) -> str:
    relative = os.path.relpath(filename, directory)
    return filename if relative.startswith(os.pardir) else relative


def in_library(filename: str) -> bool:
    """Returns whether a file belongs to Python, an installed package or this one."""
    return filename.startswith((*_LIBRARIES, "<frozen "))


def _passes_on(frame: FrameType) -> bool:
    """Returns whether a frame is of this package, or of one that uses loaders for the user."""
    if frame.f_code.co_filename.startswith(PACKAGE_DIR):
        return True
    module: str = frame.f_globals.get("__name__", "")
    return f"{module}.".startswith(_WRAPPERS)


def find_user_location() -> SourceLocation | None:
    """Returns the innermost frame of the user, or None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _passes_on(frame):
        frame = frame.f_back
    if frame is None:
        return None
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def user_stack_level() -> int:
    """Returns the ``stacklevel`` with which the caller's warning points at the user's line."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _passes_on(frame):
        frame = frame.f_back
        level += 1
    return level
