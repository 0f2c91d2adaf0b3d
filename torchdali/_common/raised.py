# SPDX-License-Identifier: Apache-2.0
"""What errors say about exceptions of the user's code."""

from __future__ import annotations

import builtins
import traceback
from typing import Any

from torchdali._common import location

__all__ = ["TracebackText", "describe_raised", "drop_frames"]

_GROUPS: Any = getattr(builtins, "BaseExceptionGroup", ())  # since Python 3.11


def describe_raised(error: BaseException) -> str:
    """Returns the first line of what an exception says, and the user's line that raised it."""
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    text = lines[-1 if isinstance(error, SyntaxError) else 0]  # the cause has all of it
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    own = [f for f in frames if not location.in_library(f.filename)]
    last = (own or frames)[-1]
    line = location.SourceLocation(last.filename, last.lineno or 0, last.name)
    return f"{text} at {line.short()}"


class TracebackText(Exception):
    """The cause of an exception without frames: the text of its traceback.

    Attributes:
        described: describe_raised() of the exception.
    """

    def __init__(self, text: str, described: str) -> None:
        super().__init__(text, described)
        self._text = text
        self.described = described

    def __str__(self) -> str:
        return f'\n"""\n{self._text.rstrip()}\n"""'


def drop_frames(error: BaseException) -> str:
    """Removes the frames of an exception, which becomes part of an error that is kept.

    Frames refer to those that have called them, such as the pipeline. Their text stays, as the
    cause of the exception.

    Returns:
        describe_raised(), also if the frames were removed before.
    """
    cause = error.__cause__
    if error.__traceback__ is not None or not isinstance(cause, TracebackText):
        text = "".join(traceback.format_exception(error))
        cause = TracebackText(text, describe_raised(error))
    if isinstance(error, _GROUPS):  # the text has its parts
        for part in error.exceptions:
            drop_frames(part)
    # No call is between these assignments, so they take place together.
    error.__cause__, error.__context__, error.__traceback__ = cause, None, None
    return cause.described
