# SPDX-License-Identifier: Apache-2.0
"""The form of a serialized pipeline: JSON in and out, and checked access to what was read.

Knows values and places, not operators; docs/design/serialization.md describes the format.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from torchdali._build_info import VERSION as BUILD
from torchdali.errors import ArgumentTypeError, DataError, UnsupportedError, _make

__all__ = ["Place", "dump", "encode", "load"]

FORMAT = "torchdali.pipeline"
VERSION = 1

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MAX_DEPTH = 16  # of lists in an argument; a definition has one level


def encode(value: Any) -> Any:
    """Returns an argument as JSON has it: floats keep every bit, bytes are base64.

    Raises:
        TypeError: the value is none of bool, int, float, str, bytes, or a list of them.
    """
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    raise TypeError(type(value).__name__)


def dump(document: Mapping[str, Any]) -> bytes:
    """Returns a document as ASCII text: one line an entry, lists of nodes one line a node."""

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)

    lines = []
    head = {"format": FORMAT, "version": VERSION, "torchdali": BUILD}
    for key, value in {**head, **document}.items():
        shown = text(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            shown = "[\n" + ",\n".join(f"  {text(item)}" for item in value) + "\n ]"
        lines.append(f" {text(key)}: {shown}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def load(data: Any) -> Place:
    """Returns the document in `data`: bytes or text.

    Raises:
        ArgumentTypeError: `data` is neither.
        DataError: it is no serialized pipeline, or a damaged one.
        UnsupportedError: it was written by another version of the format.
    """
    if not isinstance(data, (bytes, bytearray, memoryview, str)):
        raise _make(
            ArgumentTypeError,
            "Pipeline.deserialize: `serialized_pipeline` takes what serialize() returned (bytes), "
            f"got {type(data).__name__}",
        )
    if not isinstance(data, str):
        data = bytes(data)
        if not data.lstrip()[:1] == b"{":
            raise _make(
                DataError,
                f"no serialized pipeline of torchdali: it starts with {data[:12]!r}",
                fix="pass what Pipeline.serialize() of torchdali returned; what nvidia.dali "
                "serialized has another format",
            )
    try:
        document = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # wrong JSON, wrong UTF-8, too long a number
        raise _make(
            DataError, f"the serialized pipeline is damaged: {type(error).__name__}: {error}"
        ) from None
    root = Place(document, "the document")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        root.fail(f'has no `format` "{FORMAT}"')
    version = root["version"].integer(0)
    if version != VERSION:
        writer = document.get("torchdali")
        raise _make(
            UnsupportedError,
            f"the serialized pipeline has version {version} of its format, this version of "
            f"torchdali ({BUILD}) reads {VERSION}",
            fix=f"serialize it again, or use torchdali {writer if isinstance(writer, str) else ''}",
        )
    return root


class Place:
    """A value of the document and its location; every access is checked."""

    __slots__ = ("_name", "_value")

    def __init__(self, value: Any, name: str) -> None:
        self._value = value
        self._name = name

    def fail(self, what: str) -> NoReturn:
        """Raises DataError about this place."""
        raise _make(DataError, f"the serialized pipeline is damaged: {self._name} {what}")

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self._value is None

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self._value, list)

    @property
    def is_object(self) -> bool:
        """Whether the value is an object."""
        return isinstance(self._value, dict)

    def __getitem__(self, key: str) -> Place:
        if not self.is_object:
            self.fail("is no object")
        if key not in self._value:
            self.fail(f"has no `{key}`")
        return Place(self._value[key], key if self._name == "the document" else self._at(f".{key}"))

    def _at(self, suffix: str) -> str:
        return f"{self._name}{suffix}"

    def only(self, *keys: str) -> None:
        """Raises DataError if the object has other keys than these."""
        if not self.is_object:
            self.fail("is no object")
        for key in self._value:
            if key not in keys:
                self.fail(f"has an unknown entry {key!r}")

    def items(self) -> Iterator[tuple[str, Place]]:
        """Goes through the entries of an object."""
        if not self.is_object:
            self.fail("is no object")
        return ((key, Place(value, self._at(f".{key}"))) for key, value in self._value.items())

    def entries(self, length: int | None = None) -> list[Place]:
        """Returns the entries of a list, which must have `length` of them if that is passed."""
        if not self.is_list:
            self.fail("is no list")
        if length is not None and len(self._value) != length:
            self.fail(f"has {len(self._value)} entries instead of {length}")
        return [Place(value, self._at(f"[{i}]")) for i, value in enumerate(self._value)]

    def integer(self, least: int, most: int = (1 << 64) - 1) -> int:
        """Returns an integer between two bounds, both included."""
        value = self._value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.fail(f"is no integer of {least} to {most}")
        return value

    def boolean(self) -> bool:
        """Returns True or False."""
        if not isinstance(self._value, bool):
            self.fail("is neither true nor false")
        return self._value

    def text(self) -> str:
        """Returns a string."""
        if not isinstance(self._value, str):
            self.fail("is no string")
        return self._value

    def value(self, depth: int = 0) -> Any:
        """Returns what encode() was given."""
        value = self._value
        if isinstance(value, (bool, int, float, str)):
            return value
        if self.is_list:
            if depth == _MAX_DEPTH:
                self.fail("has too many lists in each other")
            return [item.value(depth + 1) for item in self.entries()]
        if self.is_object and len(value) == 1:
            ((kind, content),) = value.items()
            if kind == "float" and isinstance(content, str) and content in _NOT_FINITE:
                return _NOT_FINITE[content]
            if kind == "bytes" and isinstance(content, str):
                try:
                    return base64.b64decode(content, validate=True)
                except (binascii.Error, ValueError):
                    self.fail("has bytes that are no base64")
        self.fail("is no value of an argument")
