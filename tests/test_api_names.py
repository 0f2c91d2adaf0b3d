# SPDX-License-Identifier: Apache-2.0
"""Every name and signature of DALI's pipelines, nodes, types, math, tensors and backend is here.

tests/data/dali_api.json lists them. ABSENT has the names that are missing on purpose, with the
reason; PENDING has names that are planned, and the test fails if one of them exists.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.cases import for_each

import torchdali

API: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("data").joinpath("dali_api.json").read_text()
)

_INSIDE = "DALI's own insides, which a module of theirs happens to import"
_DYNAMIC = "experimental.dynamic"
_LATER = "not in this version: the guide to operators on tensors says so"
_NOT_YET = (
    *("EvalContext.cache_results", "EvalContext.cached_results", "EvalContext.checkpoint"),
    *("ExternalSource", "Stream", "Tensor.__cuda_array_interface__", "ThreadPool", "capture"),
    *(
        "checkpoint",
        "get_current_stream",
        "get_default_stream",
        "pytorch",
        "readers.Numpy.__call__",
        "readers.VideoResize.__call__",
        "set_current_stream",
    ),
    *("set_default_stream", "stream"),
)
ABSENT: dict[str, str] = {
    "backend_impl": _INSIDE,
    "internal": _INSIDE,
    "pipeline.WorkerPool": _INSIDE,
    "pipeline.b": _INSIDE,
    "pipeline.dali_pickle": _INSIDE,
    "pipeline.internal": _INSIDE,
    "pipeline.pipeline_tls": _INSIDE,
    "pipeline.tensors": _INSIDE,
    "pipeline.types": _INSIDE,
    "data_node.not_iterable": _INSIDE,
    "types.backend_impl": _INSIDE,
    "types.tfrec": _INSIDE,
    "tensors.PipelineBatchAdapter": "an inside of DALI's repr",
    "tensors.PipelineTensorAdapter": "an inside of DALI's repr",
    "tensors.format_batch": "an inside of DALI's repr; str(batch) is the way",
    "tensors.format_tensor": "an inside of DALI's repr; str(tensor) is the way",
    "reducers": "an inside of DALI's worker processes",
    **{f"{_DYNAMIC}.{name}": _LATER for name in _NOT_YET},
}
PENDING: dict[str, str] = {}
# Parameters whose default is another one on purpose: ours, and why.
OWN_DEFAULTS: dict[str, tuple[Any, str]] = {
    "py_start_method": ("forkserver", "fork is not safe once the process has threads or uses CUDA"),
}


def paths() -> Iterator[str]:
    """Yields every name; those of methods, properties and members with the class before them."""
    for name, entry in API.items():
        yield name
        if name in ABSENT:
            continue
        for part in ("methods", "properties", "members"):
            yield from (f"{name}.{own}" for own in entry.get(part, ()))


@functools.cache
def find(path: str) -> Any:
    """Returns what stands here under a name; AttributeError where nothing does."""
    found: Any = torchdali
    for part in path.split("."):
        if (
            isinstance(found, type)
            and issubclass(found, enum.IntEnum)
            and part in ("name", "value")
        ):
            found = next(iter(found))  # properties of the members
        try:
            found = getattr(found, part)
        except AttributeError:
            if not isinstance(found, ModuleType):
                raise
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError:
                raise AttributeError(f"{found.__name__} has no {part}") from None
    return found


def difference(theirs: list[list[Any]], ours: inspect.Signature, *, overloaded: bool) -> str | None:
    """Returns in what calls that DALI takes would fail or mean something else, or None.

    Of an overloaded constructor the first argument has another name in each overload, so it goes by
    position, and the others by name.
    """
    mine = [p for p in ours.parameters.values() if p.name != "self"]
    by_name = {p.name: p for p in mine}
    kinds = {p.kind for p in mine}
    for position, (name, kind, *default) in enumerate(theirs):
        if kind in ("*", "**"):
            wanted = (
                inspect.Parameter.VAR_POSITIONAL if kind == "*" else inspect.Parameter.VAR_KEYWORD
            )
            if wanted not in kinds:
                return f"takes no {kind}{name}"
            continue
        if kind == "p" or (overloaded and position == 0):
            at = mine[position] if position < len(mine) else None
            if at is None or at.kind is at.KEYWORD_ONLY:
                return f"takes no argument {position} by position"
            continue
        own = by_name.get(name)
        if own is None or own.kind is own.POSITIONAL_ONLY:
            return f"takes no `{name}`"
        if (
            kind == "b"
            and not overloaded
            and (own.kind is own.KEYWORD_ONLY or mine.index(own) != position)
        ):
            return f"`{name}` is not argument {position}"
        if default and own.default != OWN_DEFAULTS.get(name, default)[0]:
            return f"the default of `{name}` is {own.default!r}, not {default[0]!r}"
    known = {name for name, *_ in theirs}
    extra = [
        p.name
        for index, p in enumerate(mine)
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in known
        and (index >= len(theirs) or (theirs[index][1] != "p" and not (overloaded and index == 0)))
    ]
    return f"wants {extra}" if extra else None


def problem(path: str) -> str | None:
    """Returns what is wrong with a name, or None."""
    try:
        found = find(path)
    except AttributeError:
        return "is missing"
    entry = API.get(path)
    if entry is None:
        owner, _, name = path.rpartition(".")
        theirs = API[owner].get("methods", {}).get(name)
        if theirs is None:
            return None  # a property, a member, or an operator
        return difference(theirs, inspect.signature(found), overloaded=False)
    kind = entry["kind"]
    if kind == "function":
        return difference(entry["parameters"], inspect.signature(found), overloaded=False)
    if kind == "module":
        return None if isinstance(found, ModuleType) else "is no module"
    if kind == "value":
        actual = type(found).__name__
        return None if actual == entry["type"] else f"is of type {actual}"
    if kind == "alias":
        return None if found is find(entry["of"]) else f"is not {entry['of']}"
    if kind == "enum":
        missing = [m for m in entry["members"] if not hasattr(found, m)]
        return f"has no {missing}" if missing else None
    if "members" in entry:
        return None  # of an enumeration: made from a value
    overloaded = len(entry["init"]) > 1
    signature = inspect.signature(found)
    problems = (difference(one, signature, overloaded=overloaded) for one in entry["init"])
    return next(filter(None, problems), None)


@for_each("path", sorted(set(paths())))
def test_names_of_dali_exist_with_their_signatures(path):
    found = problem(path)
    if path in ABSENT:
        assert found, f"torchdali.{path} is there now: take it off ABSENT"
    elif path in PENDING:
        assert found, f"torchdali.{path} is there now: take it off PENDING"
    else:
        assert found is None, f"torchdali.{path} {found}"


def test_the_tables_list_names_of_dali_only():
    known = set(paths())
    assert known >= ABSENT.keys()
    assert known >= PENDING.keys()
    assert not ABSENT.keys() & PENDING.keys()
    theirs = [
        parameter
        for entry in API.values()
        for signature in (entry.get("parameters", ()), *entry.get("init", ()))
        for parameter in signature
    ]
    for name, (ours, _) in OWN_DEFAULTS.items():
        given = [p for p in theirs if p[0] == name]
        assert given, f"DALI has no parameter {name}"
        assert all(default != [ours] for _, _, *default in given), f"{name}: DALI's is the same"
