# SPDX-License-Identifier: Apache-2.0
"""Python objects as sources of data: called or iterated over, and resumed."""

from __future__ import annotations

import functools
import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torchdali._common.infos import BatchInfo, SampleInfo
from torchdali._common.location import SourceLocation, user_stack_level
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["OWNER", "PythonSource", "source_kind", "takes_info", "unstorable", "warn_of_skip"]

OWNER = "fn.external_source"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class PythonSource:
    """The `source` of an fn.external_source: called, or iterated over.

    Args:
        source: callable, iterable or generator function.
        cycle: "no", "quiet" or "raise".
        batch: whether it returns batches.
        batch_info: whether a callable is passed a BatchInfo.
        location: the user's line, for errors.

    Attributes:
        source, cycle, batch, batch_info: as the arguments.
    """

    def __init__(
        self,
        source: Any,
        cycle: str,
        batch: bool,
        batch_info: bool,
        location: SourceLocation | None,
    ) -> None:
        self.source = source
        self.cycle = cycle
        self.batch = batch
        self.batch_info = batch_info
        self._call: Callable[..., Any] | None = None
        self._takes_info = False
        self._iterate: Callable[[], Iterator[Any]] | None = None
        self._iterator: Iterator[Any] | None = None
        self._given = 0  # items that the iterator has returned
        self._location = location
        # The position is saved by calling these two, if the source has both.
        self._state_dict = getattr(source, "state_dict", None)
        self._load_state_dict = getattr(source, "load_state_dict", None)
        self._has_state = callable(self._state_dict) and callable(self._load_state_dict)
        kind = source_kind(source)
        if kind is None:
            raise _make(
                ArgumentTypeError,
                f"`source` takes a callable or an iterable, got {type(source).__name__}",
                operator=OWNER,
                location=location,
            )
        if kind == "callable":
            if cycle != "no":
                raise _make(
                    ArgumentError,
                    "`cycle` is for an iterable `source`, not for a callable",
                    operator=OWNER,
                    location=location,
                )
            self._call, self._takes_info = source, takes_info(source, location)
            return
        if kind == "generator function" and num_parameters(source)[0]:
            raise _make(
                ArgumentTypeError,
                "a generator function that is passed as `source` takes no arguments",
                operator=OWNER,
                location=location,
                fix="bind them, e.g. with functools.partial",
            )
        if cycle != "no" and inspect.isgenerator(source):
            raise _make(
                ArgumentTypeError,
                "a generator cannot be cycled through",
                operator=OWNER,
                location=location,
                fix="pass the generator function itself as `source`",
            )
        self._iterate = source if kind == "generator function" else lambda: iter(source)

    @property
    def unresumable_reason(self) -> str | None:
        """Why a checkpoint cannot store its position, as "a ..."; None if it can."""
        if self._takes_info or self._has_state or self._iterate is not None:
            return None
        return "a callable without parameters"

    def state(self) -> Any:
        """Returns the source's state_dict(), converted to values of JSON.

        Without state_dict(): the number of items that its iterator has returned; None for a
        callable.

        Raises:
            ArgumentTypeError: it has values that JSON does not have.
        """
        if not self._has_state:
            return None if self._iterate is None else self._given
        assert self._state_dict is not None
        try:
            return json.loads(json.dumps(self._state_dict()))
        except (TypeError, ValueError) as error:
            raise unstorable(str(error), self._location) from None

    def restore(self, state: Any) -> None:
        """Restores what state() returned, or skips the items that were returned before.

        Warns:
            UserWarning: items are skipped.
        """
        if self._iterate is not None and not self._has_state and isinstance(state, int):
            self._skip(state)
            return
        if (state is None) is self._has_state:
            raise _make(
                ArgumentError,
                "the checkpoint holds "
                + (
                    "no state of the source, which has state_dict()"
                    if state is None
                    else "the state of the source, which has no load_state_dict()"
                ),
                operator=OWNER,
                location=self._location,
                fix="resume with the source that the checkpoint was made with",
            )
        self._iterator = None
        if self._load_state_dict is not None and self._has_state:
            self._load_state_dict(state)

    def _skip(self, count: int) -> None:
        assert self._iterate is not None
        if count:
            warn_of_skip(count, self._location)
        self._iterator = iter(self._iterate())
        for self._given in range(1, count + 1):
            try:
                next(self._iterator)
            except StopIteration:
                raise _make(
                    ArgumentError,
                    f"the source has fewer items than the {count} that it had returned when the "
                    "checkpoint was taken",
                    operator=OWNER,
                    location=self._location,
                ) from None

    def next(self, iteration: int, epoch: int, batch_size: int) -> Any:
        """Returns the next batch, or a list of `batch_size` samples.

        Raises:
            StopIteration: the data has ended; samples of a batch that is not full are dropped.
        """
        if self.batch:
            return self._next(
                BatchInfo(iteration, epoch) if self.batch_info else iteration,
            )
        first = iteration * batch_size
        return [
            self._next(SampleInfo(first + index, index, iteration, epoch))
            for index in range(batch_size)
        ]

    def _next(self, info: Any) -> Any:
        if self._call is not None:
            return self._call(info) if self._takes_info else self._call()
        assert self._iterate is not None
        if self._iterator is None:
            self._begin()
        assert self._iterator is not None
        try:
            item = next(self._iterator)
        except StopIteration:
            if self.cycle == "no":
                raise
            self._begin()
            if self.cycle == "raise":
                raise
            item = next(self._iterator)
        self._given += 1
        return item

    def _begin(self) -> None:
        assert self._iterate is not None
        self._iterator, self._given = iter(self._iterate()), 0


def unstorable(detail: str, location: SourceLocation | None) -> Exception:
    """Returns the error for a state_dict() with values that JSON does not have."""
    return _make(
        ArgumentTypeError,
        f"a checkpoint cannot store what the source's state_dict() returns: {detail}",
        operator=OWNER,
        location=location,
        fix="return numbers, strings, and lists and dicts of them with strings as keys",
    )


def warn_of_skip(count: int, location: SourceLocation | None) -> None:
    """Warns that a source without state_dict() is resumed by iterating over its items again."""
    warnings.warn(
        f"{OWNER}: the source has no state_dict() and load_state_dict(), so it is iterated over "
        f"from its beginning, and the first {count} items are skipped\n  defined at {location}",
        UserWarning,
        stacklevel=user_stack_level(),
    )


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
