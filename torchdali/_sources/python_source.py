# SPDX-License-Identifier: Apache-2.0
"""Python objects as sources of data: called or iterated over, and resumed."""

from __future__ import annotations

import inspect
import itertools
import json
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchdali._common.infos import BatchInfo, SampleInfo
from torchdali._common.location import SourceLocation, user_stack_level
from torchdali._common.raised import drop_frames
from torchdali._sources.failed_samples import (
    Raised,
    attempting,
    failure_of_end,
    split,
    split_batch,
)
from torchdali._sources.kinds import OWNER, num_parameters, source_kind, takes_info
from torchdali._sources.turn import Failures
from torchdali._workers.sources import has_ended
from torchdali.errors import ArgumentError, ArgumentTypeError, PipelineError, _make

__all__ = [
    "UNKNOWN_POSITION",
    "PythonSource",
    "unstorable",
    "warn_of_skip",
]

# Why the position of a source in a checkpoint may not be enough to resume it.
UNREPEATABLE_CALLS = (
    "a checkpoint does not hold the position of a `source` that is a callable without parameters; "
    "after resuming it starts from its beginning, unless you restore its position yourself"
)
UNKNOWN_POSITION = (
    "a checkpoint holds only how many items a `source` without state_dict() has returned; resuming "
    "iterates over it again and skips as many, which must be the same ones"
)


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
        self._turn: object = None  # what next() was called for
        self._items: list[Any] = []  # that the source has returned in this turn, or a Raised
        self._raised_before: Raised | None = None  # in place of the item before them
        self._failed_in: object = None  # the turn in which the source has failed
        self._given = 0  # items that the iterator had returned before this turn
        self._has_cycled = False
        self._ended: object = None  # the turn in which the data has ended
        self._lost = False
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
    def checkpoint_warning(self) -> str | None:
        """What a checkpoint does not store of its position; None if it stores all of it."""
        if self._takes_info or self._has_state:
            return None
        return UNREPEATABLE_CALLS if self._iterate is None else UNKNOWN_POSITION

    def state(self) -> Any:
        """Returns the source's state_dict(), converted to values of JSON.

        Without state_dict(): the number of items that its iterator has returned; None for a
        callable.

        Raises:
            ArgumentTypeError: it has values that JSON does not have.
        """
        if not self._has_state:
            return None if self._iterate is None else self._given + len(self._items)
        assert self._state_dict is not None
        try:
            return json.loads(json.dumps(self._state_dict()))
        except (TypeError, ValueError) as error:
            raise unstorable(str(error), self._location) from None

    def restore(self, state: Any, lets_samples_fail: bool = False) -> None:
        """Restores what state() returned, or skips the items that were returned before.

        Args:
            state: what state() returned.
            lets_samples_fail: as for next().

        Warns:
            UserWarning: items are skipped.
        """
        if self._iterate is not None and not self._has_state and isinstance(state, int):
            self._skip(state, lets_samples_fail)
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
        self._forget()
        if self._load_state_dict is not None and self._has_state:
            self._load_state_dict(state)

    def _skip(self, count: int, lets_samples_fail: bool) -> None:
        assert self._iterate is not None
        if count:
            warn_of_skip(count, self._location)
        self._forget()
        self._iterator = iter(self._iterate())
        self._given = count
        function = attempting(next) if lets_samples_fail else next
        for _ in range(count):
            try:
                item = function(self._iterator)
            except StopIteration:
                raise _make(
                    ArgumentError,
                    f"the source has fewer items than the {count} that it had returned when the "
                    "checkpoint was taken",
                    operator=OWNER,
                    location=self._location,
                ) from None
            self._raised_before = item if isinstance(item, Raised) else None

    def next(
        self,
        turn: object,
        iteration: int,
        epoch: int,
        batch_size: int,
        lets_samples_fail: bool = False,
    ) -> tuple[Any, Failures]:
        """Returns the next batch, or a list of `batch_size` samples; and those that failed.

        A call for the same turn goes on where an earlier one was interrupted: it returns the items
        again that the source has returned, and asks for those that are missing.

        Args:
            turn: of the run, by which its iterations are told apart.
            iteration: in the epoch.
            epoch: number of the epoch.
            batch_size: number of samples, where the source returns samples.
            lets_samples_fail: whether the source may raise for a sample or a batch. A sample that
                failed has another one in its place. If all have failed, the data is None.

        Raises:
            StopIteration: the data has ended; samples of a batch that is not full are dropped.
            PipelineError: the source was interrupted, so its position is not known.
            Exception: the source failed.
        """
        if self._lost:
            raise _make(
                PipelineError,
                "the source was interrupted while it made its data, so it is not known what it "
                "returns next",
                operator=OWNER,
                location=self._location,
                fix="call reset(), which begins the next epoch; a callable that takes an index is "
                "asked again instead",
            )
        if turn == self._ended:
            raise StopIteration
        if turn != self._turn:
            given, raised = self._given + len(self._items), self._raised_last()
            if self._failed_in == self._turn:
                raised = None  # and that the source has ended was reported
            self._turn, self._items, self._given, self._raised_before = turn, [], given, raised
        infos: list[Any]
        if self.batch:
            infos = [BatchInfo(iteration, epoch) if self.batch_info else iteration]
        else:
            first = iteration * batch_size
            infos = [
                SampleInfo(first + index, index, iteration, epoch) for index in range(batch_size)
            ]
        while missing := infos[len(self._items) :]:
            self._ask(missing, lets_samples_fail)
        if has_ended(self._iterator):
            self._check_end()
        return split_batch(self._items[0]) if self.batch else split(self._items)

    def _raised_last(self) -> Raised | None:
        """Returns what the source has raised instead of the last item; None: it has returned it."""
        if not self._items:
            return self._raised_before
        last = self._items[-1]
        return last if isinstance(last, Raised) else None

    def _ask(self, infos: Sequence[Any], lets_samples_fail: bool) -> None:
        """Adds an item for each info to the items of this turn.

        Python code could be interrupted after the source has returned an item and before it is
        stored. Here the source is called, and its item stored, by one call of list.extend().
        """
        items = self._items
        function: Callable[..., Any] = next
        if self._call is not None:
            function = self._call
            arguments = [(info,) if self._takes_info else () for info in infos]
        else:
            if self._iterator is None:
                self._begin()
            arguments = [(self._iterator,)] * len(infos)
        if lets_samples_fail:
            function = attempting(function)
        missing = iter(arguments)
        before = len(items)
        try:
            items.extend(itertools.starmap(function, missing))
        except BaseException as error:
            # Was the source in the middle of a call?
            if len(arguments) - operator.length_hint(missing) > len(items) - before:
                if isinstance(error, Exception):
                    self._failed_in = self._turn
                else:
                    self._lost = not self._takes_info
            raise
        if len(items) == before + len(arguments):
            return
        self._check_end()
        if self._call is not None or self.cycle == "no":
            self._ended = self._turn
            raise StopIteration
        is_empty = self._has_cycled and self._given + len(items) == 0  # it would never end
        ends = self.cycle == "raise" or is_empty
        self._iterator, self._given, self._ended = None, -len(items), self._turn if ends else None
        self._has_cycled = True
        self._begin()
        if ends:
            raise StopIteration

    def _check_end(self) -> None:
        """Raises PipelineError if the source, which has ended, is an iterator that has raised."""
        raised = self._raised_last()
        if raised is not None and self._iterator is not None:
            self._failed_in = self._turn
            raise failure_of_end(drop_frames(raised.error), self._location) from raised.error

    def has_answered(self, turn: object, batch_size: int) -> bool:
        """Returns whether it has given all items of a turn, or has failed."""
        count = 1 if self.batch else batch_size
        return turn == self._failed_in or (turn == self._turn and len(self._items) == count)

    @property
    def is_lost(self) -> bool:
        """Whether its position is lost, and only reset() helps."""
        return self._lost

    def reset(self) -> None:
        """Begins the next epoch. An iterable goes on, unless its position is lost."""
        if self._lost:
            self._forget()

    def settle(self) -> None:
        """Drops what was kept in case that next() is called for the same turn again."""
        given, raised = self._given + len(self._items), self._raised_last()
        self._items, self._given, self._raised_before = [], given, raised

    def _begin(self) -> None:
        assert self._iterate is not None
        self._iterator = iter(self._iterate())

    def _forget(self) -> None:
        """Forgets the iterator; another one begins when data is asked for."""
        self._iterator, self._turn, self._items, self._ended = None, None, [], None
        self._raised_before = None
        self._given, self._has_cycled, self._lost = 0, False, False


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
