# SPDX-License-Identifier: Apache-2.0
"""The exceptions of torchdali, how their text is put together, and records of bad samples.

Every class is a ``TorchdaliError``, which is a ``RuntimeError``: DALI programs catch that for
errors of build and run. Most are also a ``ValueError``, ``TypeError``, ``IndexError`` or
``OSError``, so that a plain ``except`` works.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BadSample",
    "DataError",
    "FileError",
    "InternalError",
    "LayoutError",
    "OutOfRangeError",
    "PipelineError",
    "TorchdaliError",
    "UnsupportedError",
    "UnsupportedModuleError",
    "UnsupportedNameError",
]


class TorchdaliError(RuntimeError):
    """Base of all errors of torchdali.

    Attributes:
        operator: the operator it happened in, such as "fn.flip"; None if there was none.
        sample: index of the sample in its batch; None if the error is not about one sample.
        batch_size: number of samples in that batch; None if unknown.
        source: where the sample came from (a path, a key); None if unknown.
        location: where the operator was defined, as text of one or more lines; None if unknown.
        fix: what to do about it; None if there is nothing to suggest.
    """

    operator: str | None = None
    sample: int | None = None
    batch_size: int | None = None
    source: str | None = None
    location: str | None = None
    fix: str | None = None
    _message: str = ""  # what failed, without all of the above


class PipelineError(TorchdaliError):
    """A pipeline that is used in a way it cannot be, or that fails for want of resources."""


class ArgumentError(TorchdaliError, ValueError):
    """An argument with a wrong value."""


class ArgumentTypeError(TorchdaliError, TypeError):
    """An argument of a wrong type, an unknown or a missing one."""


class OutOfRangeError(TorchdaliError, IndexError):
    """A subscript outside its range."""


class LayoutError(TorchdaliError, ValueError):
    """A layout that does not fit the data or the operator."""


class FileError(TorchdaliError, OSError):
    """A file or folder that is missing or cannot be read."""


class DataError(TorchdaliError, ValueError):
    """Data that is damaged, or that is not what it claims to be."""


class UnsupportedError(TorchdaliError, NotImplementedError):
    """Something that this version or this build of torchdali cannot do."""


class UnsupportedNameError(UnsupportedError, AttributeError):
    """A name of DALI that torchdali does not have; hasattr() returns False for it."""


class UnsupportedModuleError(UnsupportedError, ModuleNotFoundError):
    """A module of DALI that torchdali does not have."""


class InternalError(TorchdaliError):
    """A mistake of torchdali's own; please report it."""


@dataclasses.dataclass(frozen=True)
class BadSample:
    """A sample that failed, and was left out of its batch or replaced by another one.

    Attributes:
        epoch: of a loader, its epoch; of a pipeline, how often reset() began an epoch.
        batch: number of the batch in the epoch.
        sample: index in the batch, before samples were left out; -1: unknown.
        source: where it came from (a path, an index); None if unknown.
        operator: that it failed in, such as "fn.decoders.image"; None if it failed in a dataset.
        error: name of the class of the exception.
        message: of the exception.
    """

    epoch: int
    batch: int
    sample: int
    source: str | None
    operator: str | None
    error: str
    message: str


_KINDS: dict[str, type[TorchdaliError]] = {
    "runtime": PipelineError,
    "value": ArgumentError,
    "type": ArgumentTypeError,
    "index": OutOfRangeError,
    "layout": LayoutError,
    "file": FileError,
    "data": DataError,
    "unsupported": UnsupportedError,
    "internal": InternalError,
}


def _compose(
    message: str,
    *,
    operator: str | None = None,
    sample: int | None = None,
    batch_size: int | None = None,
    source: str | None = None,
    location: str | None = None,
    fix: str | None = None,
) -> str:
    """Returns the text of an error: what failed, which sample, where defined, what to do."""
    named = operator and not operator.startswith("fn.conditional.")  # users write `if` instead
    if named and not message.startswith(f"{operator}: "):
        message = f"{operator}: {message}"
    lines = [message]
    if sample is not None:
        lines.append(f"  sample {sample}" + (f" of {batch_size}" if batch_size else ""))
    if source:
        lines.append(f'  source "{source}"')
    if location:
        lines.append(f"  defined at {location}")
    if fix:
        lines.append(f"  To fix it: {fix}")
    return "\n".join(lines)


def _make(
    cls: type[TorchdaliError],
    message: str,
    *,
    operator: str | None = None,
    sample: int | None = None,
    batch_size: int | None = None,
    source: str | None = None,
    location: object = None,
    fix: str | None = None,
) -> TorchdaliError:
    """Returns an error found in Python. `location` is a SourceLocation or text."""
    where = None if location is None else str(location)
    error = cls(
        _compose(
            message,
            operator=operator,
            sample=sample,
            batch_size=batch_size,
            source=source,
            location=where,
            fix=fix,
        )
    )
    error.operator, error.location = operator, where
    error.sample, error.batch_size, error.fix = sample, batch_size, fix
    error.source = source
    error._message = message
    return error


def _with_context(error: TorchdaliError, **context: Any) -> TorchdaliError:
    """Returns an error like `error`, of which more is known: keywords as in _make()."""
    known = {
        "operator": error.operator,
        "sample": error.sample,
        "batch_size": error.batch_size,
        "source": error.source,
        "location": error.location,
        "fix": error.fix,
    }
    return _make(type(error), error._message, **{**known, **context})


def _of_another(error: TorchdaliError, before: str, now: str, **context: Any) -> TorchdaliError:
    """Returns an error like `error` that names another class of the user's program.

    Args:
        error: of code that several classes share.
        before: the class that it names, if any.
        now: the class to name.
        context: of which more is known: keywords as in _make().
    """
    known = _with_context(error, **context)
    return _make(
        type(error),
        known._message.replace(before, now),
        operator=known.operator and known.operator.replace(before, now),
        sample=known.sample,
        batch_size=known.batch_size,
        source=known.source,
        location=known.location,
        fix=known.fix and known.fix.replace(before, now),
    )


def _renamed(error: TorchdaliError, operator: str, location: object) -> TorchdaliError:
    """Returns an error like `error` about an operator under another name."""
    message = error._message.removeprefix(f"{error.operator}: ")
    return _make(
        type(error),
        message,
        operator=operator,
        sample=error.sample,
        batch_size=error.batch_size,
        source=error.source,
        location=location,
        fix=error.fix,
    )


def _from_engine(kind: str, message: str, details: Mapping[str, Any]) -> TorchdaliError:
    """Returns the exception for an error of the engine.

    Args:
        kind: one of "runtime", "value", "type", "index", "layout", "file", "data", "unsupported",
            "internal".
        message: what failed.
        details: any of operator, hidden (it has no name in fn), sample, batch_size, source,
            location, fix; empty or negative values count as absent.
    """
    operator = details.get("operator") or None
    if operator and not (operator.startswith("fn.") or details.get("hidden")):
        operator = f"fn.{operator}"
    sample = details.get("sample")
    sample = None if sample is None or sample < 0 else int(sample)
    batch_size = details.get("batch_size") or None
    source = details.get("source") or None
    location = details.get("location") or None
    fix = details.get("fix") or None
    error = _KINDS.get(kind, InternalError)(
        _compose(
            message,
            operator=operator,
            sample=sample,
            batch_size=batch_size,
            source=source,
            location=location,
            fix=fix,
        )
    )
    error.operator, error.sample, error.batch_size = operator, sample, batch_size
    error.source, error.location, error.fix = source, location, fix
    error._message = message
    return error
