# SPDX-License-Identifier: Apache-2.0
"""What errors say about exceptions of the user's code."""

from __future__ import annotations

import traceback

from torchdali._common import location

__all__ = ["describe_raised"]


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
