# SPDX-License-Identifier: Apache-2.0
"""The bytes of a checkpoint: written, checked and read. Knows no pipeline.

The format, and why it is what it is: docs/design/checkpoints.md.
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, DataError, FileError, _make

__all__ = ["Checkpoint", "Operator", "integer", "write_file"]

_FORMAT = "torchdali checkpoint"
_VERSION = 1
_INT64 = (1 << 63) - 1
_UINT64 = (1 << 64) - 1
_MOST = _INT64 // 2  # leaves room for counting on


@dataclass(frozen=True)
class Operator:
    """An operator that has state: a source, or one that draws random values.

    Attributes:
        op: its name in ``fn``.
        name: the user's; None if the user gave none, since such names depend on operators that
            have no state.
        seed: the user's; None if it follows from the pipeline's.
        state: facts about a reader; None for other operators.
    """

    op: str
    name: str | None = None
    seed: int | None = None
    state: Mapping[str, int] | None = None

    def __str__(self) -> str:
        return f"fn.{self.op}" + (f' named "{self.name}"' if self.name else "")


@dataclass(frozen=True)
class Checkpoint:
    """The position of a pipeline after the last iteration that was taken.

    Attributes:
        batch_size: the pipeline's.
        seed: the pipeline's, also if it was a random one.
        operators: those with state, in the order of the definition.
        iterations: taken so far.
        samples: in those iterations.
        ended: the data is at its end, and reset() was not called.
        resets: calls of reset() for an end of data that the user has not reached.
        inputs: of each external source {"iteration", "epoch", "source"}: batches it gave in this
            epoch, epochs before it, and what its state_dict() said; None if data is fed.
        iterator: position of the iterator that made the checkpoint; None if none did.
    """

    batch_size: int
    seed: int
    operators: Sequence[Operator]
    iterations: int = 0
    samples: int = 0
    ended: bool = False
    resets: int = 0
    inputs: Sequence[Mapping[str, Any] | None] = ()
    iterator: Mapping[str, Any] | None = field(default=None)

    def encode(self) -> bytes:
        """Returns the bytes: one line of JSON, with a check sum of it as the last entry."""
        operators = []
        for operator in self.operators:
            entry: dict[str, Any] = {"op": operator.op}
            for key in ("name", "seed", "state"):
                value = getattr(operator, key)
                if value is not None:
                    entry[key] = value
            operators.append(entry)
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "iterations": self.iterations,
            "samples": self.samples,
            "ended": self.ended,
            "resets": self.resets,
            "operators": operators,
            "inputs": list(self.inputs),
            "iterator": self.iterator,
        }
        content["crc32"] = _check_sum(content)
        return _dump(content).encode()

    @staticmethod
    def decode(data: Any) -> Checkpoint:
        """Returns what encode() gave as bytes, or as text.

        Raises:
            ArgumentTypeError: something else than bytes or text.
            DataError: the bytes are damaged, or no checkpoint.
            ArgumentError: a checkpoint of another version of the format.
        """
        content = _load(data)
        try:
            return Checkpoint(
                batch_size=integer(content, "batch_size", 1),
                seed=integer(content, "seed", 0, _UINT64),
                operators=[_operator(entry) for entry in _list(content, "operators")],
                iterations=integer(content, "iterations", 0, _MOST),
                samples=integer(content, "samples", 0, _MOST),
                ended=bool(content.get("ended")),
                resets=integer(content, "resets"),
                inputs=[_input(entry) for entry in _list(content, "inputs")],
                iterator=_optional_mapping(content, "iterator"),
            )
        except (ValueError, TypeError) as error:
            raise _damaged(str(error)) from None


def integer(content: Mapping[str, Any], key: str, least: int = 0, most: int = _INT64) -> int:
    """Returns an entry that is an integer in a range.

    Raises:
        ValueError: it is missing or no such integer.
    """
    value = content.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"`{key}` is {value!r}, expected an integer from {least} to {most}")
    return value


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file: afterwards the old content is there or the new one, never a part of it.

    Raises:
        FileError: the file cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        if target.exists() and not target.is_file():  # a pipe, a device: nothing to replace
            target.write_bytes(data)
            return
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _make(
            FileError, f'the checkpoint cannot be written to "{path}": {error.strerror}'
        ) from None


def _dump(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))


def _check_sum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(_dump(content).encode())


def _damaged(detail: str) -> Exception:
    return _make(
        DataError,
        f"`checkpoint` is damaged, or no checkpoint of torchdali: {detail}",
        fix="pass the bytes that Pipeline.checkpoint() returned, as they are",
    )


def _load(data: Any) -> dict[str, Any]:
    if not isinstance(data, (bytes, bytearray, memoryview, str)):
        raise _make(
            ArgumentTypeError,
            f"`checkpoint` is the bytes that Pipeline.checkpoint() returned, got "
            f"{type(data).__name__}",
            fix="for a file, pass pathlib.Path(file).read_bytes()",
        )
    text = data if isinstance(data, str) else bytes(data)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(str(error)) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise _damaged(f'the entry "format" is not "{_FORMAT}"')
    if content.get("version") != _VERSION:
        raise _make(
            ArgumentError,
            f"`checkpoint` has version {content.get('version')!r} of the format, this version of "
            f"torchdali reads {_VERSION}",
            fix="resume with the version of torchdali that made it",
        )
    stored = content.pop("crc32", None)
    try:
        actual = _check_sum(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(str(error)) from None
    if stored != actual:
        raise _damaged("the check sum is wrong")
    return content


def _list(content: Mapping[str, Any], key: str) -> list[Any]:
    value = content.get(key)
    if not isinstance(value, list):
        raise ValueError(f"`{key}` is no list")
    return value


def _optional_mapping(content: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    value = content.get(key)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"`{key}` is no object")
    return value


def _operator(entry: Any) -> Operator:
    if not isinstance(entry, dict) or not isinstance(entry.get("op"), str):
        raise ValueError("an operator without a name")
    name = entry.get("name")
    if name is not None and not isinstance(name, str):
        raise ValueError("the name of an operator is no text")
    state = _optional_mapping(entry, "state")
    if state is not None:
        state = {key: integer(state, key, -_INT64 - 1) for key in state}
    seed = entry.get("seed")
    return Operator(
        entry["op"],
        name,
        None if seed is None else integer(entry, "seed", -_INT64 - 1, _UINT64),
        state,
    )


def _input(entry: Any) -> Mapping[str, Any] | None:
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise ValueError("an external source that is no object")
    integer(entry, "iteration")
    integer(entry, "epoch")
    return entry
