# SPDX-License-Identifier: Apache-2.0
"""The options of remote files, which are those of the process."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = [
    "Options",
    "byte_count",
    "connect_engine",
    "current",
    "options_for",
    "pack",
    "set_current",
    "unpack",
]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Options:
    """What storage.configure() sets."""

    backend: Any = "auto"
    # They hold secrets.
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    cache_dir: str | None = None
    cache_bytes: int = 100 * 10**9
    retries: int = 6
    timeout: float = 30.0
    concurrency: int = 64

    def __post_init__(self) -> None:
        if isinstance(self.backend, str):
            if self.backend not in ("auto", "obstore", "fsspec"):
                raise _make(
                    ArgumentError,
                    f'`backend` is "auto", "obstore", "fsspec" or an object, got "{self.backend}"',
                )
        else:
            for name in ("size", "read", "list"):
                if not callable(getattr(self.backend, name, None)):
                    raise _make(
                        ArgumentTypeError,
                        f"`backend` is a {type(self.backend).__name__} without a method {name}()",
                        fix="an object needs size(url), read(url, start, end) and list(folder)",
                    )
        if self.cache_bytes < 0:
            raise _make(ArgumentError, f"`cache_bytes` is {self.cache_bytes}, expected 0 or more")
        if self.retries < 0:
            raise _make(ArgumentError, f"`retries` is {self.retries}, expected 0 or more")
        if not self.timeout > 0:
            raise _make(ArgumentError, f"`timeout` is {self.timeout} s, expected more than 0")
        if not 1 <= self.concurrency <= 1024:
            raise _make(ArgumentError, f"`concurrency` is {self.concurrency}, expected 1 to 1024")
        for url, options in self.options.items():
            if "://" not in url or not isinstance(options, Mapping):
                raise _make(
                    ArgumentTypeError,
                    f"`options` has {url!r}: {options!r}, expected the begin of URLs and a dict",
                    fix='options={"s3://bucket": {"region": "eu-west-1"}}',
                )


def _engine_values(options: Options) -> tuple[int, int, bytes, int]:
    """Returns the arguments of _C.set_storage()."""
    folder = os.fsencode(os.path.abspath(options.cache_dir)) if options.cache_dir else b""
    return options.retries, options.concurrency, folder, options.cache_bytes


def byte_count(value: int | str, name: str) -> int:
    """Returns the number of bytes that a number, or a text such as "200GB" or "1.5 TiB", means."""
    if isinstance(value, int):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(i?)B?", value.strip(), re.IGNORECASE)
    if match is None or (match[3] and not match[2]):
        raise _make(
            ArgumentError,
            f'`{name}` is "{value}", expected a number of bytes, or one with a unit',
            fix='for example "200GB"',
        )
    units = _BINARY_UNITS if match[3] else _UNITS
    return int(float(match[1]) * units[match[2].upper()])


def _from_environment() -> Options:
    values: dict[str, Any] = {}
    if "TORCHDALI_CACHE_DIR" in os.environ:
        values["cache_dir"] = os.environ["TORCHDALI_CACHE_DIR"] or None
    readers: dict[str, Callable[[str], Any]] = {
        "cache_bytes": lambda text: byte_count(text, "TORCHDALI_CACHE_BYTES"),
        "retries": int,
        "timeout": float,
        "concurrency": int,
        "backend": str,
    }
    for name, read in readers.items():
        start = "TORCHDALI_" if name == "cache_bytes" else "TORCHDALI_STORAGE_"
        variable = f"{start}{name.upper()}"
        if text := os.environ.get(variable, ""):
            try:
                values[name] = read(text)
            except ValueError as error:
                raise _make(
                    ArgumentError, f'the environment variable {variable} is "{text}": {error}'
                ) from error
    return Options(**values)


_current: Options | None = None
_set_engine: Callable[[int, int, bytes, int], None] | None = None


def current() -> Options:
    """Returns the options of this process."""
    global _current
    if _current is None:
        _current = _from_environment()
    return _current


def set_current(options: Options) -> None:
    """Sets the options of this process; open files keep those that they were opened with."""
    global _current
    _current = options
    if _set_engine is not None:
        _set_engine(*_engine_values(options))


class _Unsendable:
    """The backend of a worker process that the one of its parent could not be sent to."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError(
            f"the backend of torchdali.storage could not be sent to this worker: {self._reason}; "
            "make it picklable, or call storage.configure() in the worker"
        )

    size = read = list = _refuse


def pack() -> bytes | None:
    """Returns the options for a worker process; None if it has them from the environment."""
    if _current is None:
        return None
    try:
        return pickle.dumps(_current)
    except Exception as error:
        unsendable = _Unsendable(f"{type(error).__name__}: {error}")
        return pickle.dumps(replace(_current, backend=unsendable))


def unpack(data: bytes | None) -> None:
    """Sets the options that pack() has returned in another process."""
    if data is not None:
        set_current(pickle.loads(data))


def connect_engine(
    set_storage: Callable[[int, int, bytes, int], None],
    begin_in_child: Callable[[int, int, bytes, int], None],
) -> None:
    """Tells the engine the options, now and when they change; called when it is loaded."""
    global _set_engine
    _set_engine = set_storage
    set_storage(*_engine_values(current()))
    os.register_at_fork(after_in_child=lambda: begin_in_child(*_engine_values(current())))


def options_for(url: str) -> tuple[str, dict[str, Any]]:
    """Returns the longest key of `options` that a URL begins with, and its options."""
    options = current().options
    matching = [
        key
        for key in options
        if url.startswith(key) and (key.endswith("/") or url[len(key) : len(key) + 1] in ("", "/"))
    ]
    best = max(matching, key=len, default="")
    return best, dict(options[best]) if best else {}
