# SPDX-License-Identifier: Apache-2.0
"""How the members of Pipeline reach the parts that implement them.

A method that one part implements alone is *forwarded* to it, with its signature and docstring.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from torchdali.pipeline._checkpoints import Checkpoints
from torchdali.pipeline._definition import Definition
from torchdali.pipeline._feeding import Feeding
from torchdali.pipeline._inspection import Inspection
from torchdali.pipeline._options import Options
from torchdali.pipeline._parts import PipelineParts
from torchdali.pipeline._run import Run
from torchdali.pipeline._serialize.serializer import Serializer

__all__ = [
    "checkpoints_of",
    "declared",
    "definition_of",
    "feeding_of",
    "forwarded",
    "inspection_of",
    "option",
    "part_property",
    "parts_of",
    "run_of",
    "serializer_of",
    "size",
]

_Owner = TypeVar("_Owner")
_Part = TypeVar("_Part")
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Pipeline(Protocol):
    """Pipeline, or a subclass of the user's, which may override build()."""

    def build(self) -> None: ...
    def __torchdali_driver__(self) -> PipelineParts: ...


def parts_of(pipeline: _Pipeline) -> PipelineParts:
    """Returns the parts of a pipeline, built or not."""
    return pipeline.__torchdali_driver__()


def definition_of(pipeline: _Pipeline) -> Definition:
    """Returns the definition of a pipeline."""
    return parts_of(pipeline).definition


def run_of(pipeline: _Pipeline) -> Run:
    """Returns the run of a pipeline, which is built if necessary."""
    pipeline.build()
    return parts_of(pipeline).built()


def feeding_of(pipeline: _Pipeline) -> Feeding:
    """Returns what feeds the external sources of a pipeline, which is built if necessary."""
    return run_of(pipeline).feeding


def inspection_of(pipeline: _Pipeline) -> Inspection:
    """Returns the inspection of a pipeline, which is built if necessary."""
    pipeline.build()
    inspection = parts_of(pipeline).inspection
    assert inspection is not None
    return inspection


def checkpoints_of(pipeline: _Pipeline) -> Checkpoints:
    """Returns the checkpoints of a pipeline, which is built if necessary.

    Raises:
        PipelineError: the pipeline was made without enable_checkpointing.
    """
    parts_of(pipeline).check_checkpointing()
    pipeline.build()
    checkpoints = parts_of(pipeline).checkpoints
    assert checkpoints is not None
    return checkpoints


def serializer_of(pipeline: _Pipeline) -> Serializer:
    """Returns what serializes a pipeline."""
    return Serializer(pipeline, parts_of(pipeline))


def option(name: str, doc: str = "The value that was given.") -> Any:
    """Returns a read-only property of a pipeline: one of its Options."""
    return property(lambda pipeline: getattr(parts_of(pipeline).options, name), doc=doc)


def part_property(part: Callable[[Any], Any], name: str, doc: str) -> Any:
    """Returns a read-only property of a pipeline: an attribute of a part of it."""
    return property(lambda pipeline: getattr(part(pipeline), name), doc=doc)


def size(name: str, doc: str) -> Any:
    """Returns a property as option() does, which is -1 if the option is None."""

    def read(pipeline: Any) -> int:
        value = getattr(parts_of(pipeline).options, name)
        return -1 if value is None else value

    return property(read, doc=doc)


def declared(fact: str, doc: str) -> Callable[[Any], list[Any]]:
    """Returns a method that returns what is declared about each output; see Options."""

    def method(self: Any) -> list[Any]:
        options: Options = parts_of(self).options
        return options.declared(fact, lambda: run_of(self).num_outputs)

    method.__doc__, method.__name__ = doc, f"output_{fact}"
    method.__qualname__ = f"Pipeline.{method.__name__}"
    return method


def forwarded(
    part: Callable[[_Owner], _Part],
    method: Callable[Concatenate[_Part, _P], _R],
    *,
    alone: bool = False,
) -> Callable[Concatenate[_Owner, _P], _R]:
    """Returns a method that calls the same method of a part.

    Args:
        part: returns the part of a pipeline.
        method: of the part's class; its signature and docstring are the method's.
        alone: whether a second thread is refused.
    """

    @functools.wraps(method)
    def forward(owner: _Owner, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        driver: Any = getattr(owner, "__torchdali_driver__")  # noqa: B009  # of a _Pipeline
        guard = driver().thread if alone else contextlib.nullcontext()
        with guard:
            result: _R = getattr(part(owner), method.__name__)(*args, **kwargs)  # may be overridden
        return result

    forward.__qualname__ = f"Pipeline.{method.__name__}"
    return forward
