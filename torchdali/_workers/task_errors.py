# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the user's code in workers: what the parent gets of them.

Imports neither torch nor the rest of torchdali, as process.py.
"""

from __future__ import annotations

import contextlib
import pickle
import traceback
from types import TracebackType

from torchdali._common.raised import TracebackText, describe_raised

__all__ = [
    "MAX_TEXT",
    "EndedByError",
    "error_of_note",
    "note_of_error",
    "pickled",
    "traceback_text",
]

# Limits of the parts of a message. The parent reads a message at once.
MAX_TEXT = 1 << 14  # characters of a traceback, of up to four bytes
_MAX_PICKLED = 1 << 15  # bytes of an exception


class EndedByError(Exception):
    """An iterator has raised, and has ended with that.

    Args:
        note: note_of_error() of what it has raised.
    """

    def __init__(self, note: bytes) -> None:
        super().__init__(note)
        self._note = note

    def raised(self) -> tuple[str, BaseException]:
        """Returns error_of_note() of what the iterator has raised."""
        return error_of_note(self._note)


def pickled(error: BaseException) -> bytes | None:
    """Returns an exception as the parent can restore it; None if it cannot."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return None
    return data if len(data) <= _MAX_PICKLED else None


def traceback_text(error: BaseException) -> str:
    """Returns the traceback of an exception, without the frames of this package."""
    frames = _own_frames(error) or error.__traceback__
    return "".join(traceback.format_exception(type(error), error, frames))[-MAX_TEXT:]


def _own_frames(error: BaseException) -> TracebackType | None:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__package__") == __package__:
        frames = frames.tb_next
    return frames


def note_of_error(error: BaseException) -> bytes:
    """Returns an exception as bytes for error_of_note()."""
    text = traceback_text(error)
    described = describe_raised(error.with_traceback(_own_frames(error)))
    return pickle.dumps((type(error).__name__, described, text, pickled(error)))


def error_of_note(note: bytes) -> tuple[str, BaseException]:
    """Returns describe_raised() of an exception in a worker, and the exception itself.

    The exception has no frames, as after drop_frames(). One that cannot be sent is replaced by one
    whose class has the same name.
    """
    name, described, text, data = pickle.loads(note)
    error: BaseException | None = None
    if data is not None:
        with contextlib.suppress(Exception):
            error = pickle.loads(data)
    if error is None:
        error = type(name, (Exception,), {})(described.partition(": ")[2])
    error.__cause__ = TracebackText(text, described)
    return described, error
