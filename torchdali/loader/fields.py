# SPDX-License-Identifier: Apache-2.0
"""What DataLoader(pipeline=) cannot know about the fields of a sample: Layout and File."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["FieldMarks", "File", "Layout"]


@dataclass(frozen=True)
class Layout:
    """Says which axes the arrays of a field have.

    Args:
        letters: one for each axis of a sample: "HWC" and "CHW" are images, "FHWC" and "FCHW"
            sequences of them. Any letters will do for data that are no images.
    """

    letters: str

    def __post_init__(self) -> None:
        if not isinstance(self.letters, str):
            raise _make(ArgumentTypeError, f"Layout: expected letters, got {self.letters!r}")
        if not self.letters:
            raise _make(ArgumentError, "Layout: there are no letters")


@dataclass(frozen=True)
class File:
    """Says that the strings of a field are paths of files to read."""


Mark = Layout | File
Key = str | int


class FieldMarks:
    """The marks of all fields.

    Args:
        pipeline: a function, whose parameters may have marks as annotations:
            ``image: Annotated[DataNode, Layout("CHW")]``, or just the mark.
        *given: mappings from fields to marks; a string is the letters of a Layout. A field is the
            key in a sample, or the index in it, or the parameter of the function that takes it.

    Raises:
        ArgumentError, ArgumentTypeError: something is no mark, or two marks contradict each other.
    """

    def __init__(
        self, pipeline: Callable[..., Any], *given: Mapping[Key, Mark | str] | None
    ) -> None:
        annotations = _annotations(pipeline)
        self._parameters = list(annotations)
        self._marks: dict[Key, Mark] = {}
        self._asked: list[Key] = []  # by a mapping: there must be such fields
        for name, annotation in annotations.items():
            found = [m for m in _metadata(annotation, name, pipeline) if isinstance(m, Mark)]
            for own in found:
                self._add(name, own)
        for marks in given:
            if marks is None:
                continue
            if not isinstance(marks, Mapping):
                raise _make(
                    ArgumentTypeError,
                    f"DataLoader: `fields` is {marks!r}, expected a dict from fields to marks",
                )
            for key, mark in marks.items():
                self._asked.append(key)
                self._add(key, Layout(mark) if isinstance(mark, str) else mark)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldMarks) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def _add(self, key: Key, mark: Any) -> None:
        if not isinstance(mark, Mark):
            raise _make(
                ArgumentTypeError,
                f"DataLoader: `fields` has {mark!r} for `{key}`, expected Layout, File, or the "
                "letters of a layout",
            )
        if self._marks.setdefault(key, mark) != mark:
            raise _make(
                ArgumentError,
                f"DataLoader: the field `{key}` is marked twice: {self._marks[key]} and {mark}",
            )

    def of(self, names: tuple[str, ...] | None, index: int) -> Mark | None:
        """Returns the mark of a field.

        Args:
            names: of the fields; None if samples are tuples.
            index: of the field.

        Raises:
            ArgumentError: it has two.
        """
        if names is not None:
            return self._marks.get(names[index])
        name = self._parameters[index] if index < len(self._parameters) else None
        found = {self._marks[key] for key in (index, name) if key in self._marks}
        if len(found) > 1:
            raise _make(
                ArgumentError,
                f"DataLoader: the field {index} is marked twice: "
                + " and ".join(sorted(map(str, found))),
            )
        return next(iter(found), None)

    def check(self, names: tuple[str, ...] | None, count: int) -> None:
        """Checks that there are fields for all marks.

        Raises:
            ArgumentError: a mark is for a field that samples do not have.
        """
        known: list[Key] = list(range(count)) if names is None else list(names)
        taken = self._parameters[:count] if names is None else []
        for key in self._asked:
            if key not in known and key not in taken:
                raise _make(
                    ArgumentError,
                    f"DataLoader: `fields` names `{key}`; a sample has "
                    + ", ".join(f"`{name}`" for name in known),
                )


def described(names: tuple[str, ...] | None, index: int) -> str:
    """Returns how errors name a field."""
    return f"field {index}" if names is None else f"field `{names[index]}`"


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the parameters of a function, with their annotations."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # code in C has no signature
        return {}
    return {name: parameter.annotation for name, parameter in parameters.items()}


def _metadata(annotation: Any, name: str, function: Callable[..., Any]) -> tuple[Any, ...]:
    """Returns the marks that may be in an annotation, which may be text."""
    if isinstance(annotation, str):
        if "Layout" not in annotation and "File" not in annotation:
            return ()
        try:
            annotation = eval(annotation, _names(function))  # the user's own source
        except Exception as error:
            raise _make(
                ArgumentError,
                f"DataLoader: the annotation of `{name}`, {annotation}, cannot be evaluated: "
                f"{error}",
                fix="pass `fields` instead",
            ) from None
    if typing.get_origin(annotation) is typing.Annotated:
        return tuple(annotation.__metadata__)
    return (annotation,)


def _names(function: Any) -> dict[str, Any]:
    """Returns the names that annotations of a function may use."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    function = getattr(function, "__func__", function)
    nonlocals = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    return {**getattr(function, "__globals__", {}), **nonlocals}
