# SPDX-License-Identifier: Apache-2.0
"""Tests over many cases: one test runs them all and fails with every case that fails.

Cases that take a millisecond each would cost more as parameters of pytest than they do by
themselves. `for_each` has the form of ``pytest.mark.parametrize``::

    @for_each("case", CASES)
    def test_matches_reference(case): ...

The failure names each failing case and the command that runs it alone, with ``--case NAME``. Use
parameters of pytest where a case takes longer than a few milliseconds or needs its own fixtures.
"""

from __future__ import annotations

import enum
import functools
import inspect
import itertools
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest.mark import ParameterSet

# The text of ``--case``; helpers/selection.py sets it. None: all cases run.
chosen: str | None = None
NO_CASE = "no case of this test contains the text of --case"
# How many cases have run in this process.
ran = 0
# Of a failing case so much of its message is shown; the first one has its traceback, too.
MESSAGE_LINES = 12


class CasesFailedError(AssertionError):
    """Some cases of a test failed; the text names all of them."""


@dataclass(frozen=True)
class _Axis:
    """The values of one call of for_each: names of arguments, and rows of values with their ids."""

    names: tuple[str, ...]
    rows: tuple[tuple[tuple[Any, ...], str], ...]


def check_each(
    cases: Iterable[Any], check: Callable[[Any], object], name: Callable[[Any], str] = str
) -> None:
    """Calls `check` with every case, then fails if any of the calls failed.

    Args:
        cases: at least one.
        check: raises if the case fails; it may skip a case with pytest.skip().
        name: returns what a case is called in failures and by ``--case``.
    """
    global ran
    __tracebackhide__ = True
    everything = list(cases)
    if not everything:
        raise ValueError("the test has no cases")
    selected = [case for case in everything if chosen is None or chosen in name(case)]
    if not selected:
        pytest.skip(NO_CASE)
    ran += len(selected)
    failures: list[tuple[str, BaseException]] = []
    skips: list[str] = []
    for case in selected:
        try:
            check(case)
        except pytest.skip.Exception as skipped:
            skips.append(str(skipped))
        except (Exception, pytest.fail.Exception) as error:
            failures.append((name(case), error))
    if failures:
        raise CasesFailedError(_report(failures, len(selected))) from failures[0][1]
    if len(skips) == len(selected):
        pytest.skip(skips[0])


def for_each(
    names: str | Sequence[str],
    values: Iterable[Any],
    ids: Callable[[Any], object] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a test run over all values; several decorators run over all their combinations.

    Args:
        names: of the arguments, as for ``pytest.mark.parametrize``.
        values: of the argument, or one sequence of values for each case; at least one.
            ``pytest.param(..., id=...)`` names a case.
        ids: the name of each case, or a function that returns the name of one value. By default
            that is str(value).
    """
    split = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    rows = list(values)
    given = [ids] * len(rows) if ids is None or callable(ids) else list(ids)
    axis = _Axis(
        tuple(split),
        tuple(_row(row, len(split), name) for row, name in zip(rows, given, strict=True)),
    )
    if not axis.rows:
        raise ValueError(f"no values for {', '.join(split)}")

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        # pytest's own decorator of the same kind comes first, or its marks would be lost.
        test = getattr(function, "_test", function)
        axes = (axis, *getattr(function, "_axes", ()))

        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True
            check_each(
                _combinations(axes),
                lambda case: test(*args, **fixtures, **case[0]),
                name=lambda case: str(case[1]),
            )

        signature = inspect.signature(test)
        given = {name for one in axes for name in one.names}
        kept = [p for p in signature.parameters.values() if p.name not in given]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        run._test, run._axes = test, axes  # type: ignore[attr-defined]
        run.pytestmark = list(getattr(function, "pytestmark", []))  # type: ignore[attr-defined]
        return run

    return decorate


def _combinations(axes: Sequence[_Axis]) -> Iterable[tuple[dict[str, Any], str]]:
    """Yields the arguments and the name of each case."""
    for rows in itertools.product(*(axis.rows for axis in axes)):
        arguments: dict[str, Any] = {}
        for axis, (values, _) in zip(axes, rows, strict=True):
            arguments |= zip(axis.names, values, strict=True)
        yield arguments, "-".join(name for _, name in rows)


def _row(
    value: Any, count: int, name: Callable[[Any], object] | str | None
) -> tuple[tuple[Any, ...], str]:
    """Returns the values of a case and its name."""
    if isinstance(value, ParameterSet):
        if value.marks:
            raise ValueError("a case of for_each has no marks of its own")
        values, identifier = tuple(value.values), value.id or name
    else:
        values, identifier = ((value,) if count == 1 else tuple(value)), name
    if len(values) != count:
        raise ValueError(f"{count} values are needed for each case, not {len(values)}: {value!r}")
    if not isinstance(identifier, str):
        identifier = "-".join(str(name(v)) if callable(name) else _name(v) for v in values)
    return values, identifier


def _name(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return " ".join(str(value).split())[:80]


def _report(failures: Sequence[tuple[str, BaseException]], total: int) -> str:
    """Returns the text of a failure: each case, how to run it alone, and what it said."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    lines = [f"{len(failures)} of {total} cases failed"]
    for name, error in failures:
        command = f"pytest {shlex.quote(test)} --case {shlex.quote(name)}"
        message = f"{type(error).__name__}: {error}".splitlines()
        if len(message) > MESSAGE_LINES:
            message = [*message[:MESSAGE_LINES], "..."]
        lines += ["", name, f"  alone: {command}", *(f"  {line}" for line in message)]
    return "\n".join(lines)
