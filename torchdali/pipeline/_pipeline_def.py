# SPDX-License-Identifier: Apache-2.0
"""pipeline_def: from a function that defines a graph to one that makes pipelines."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, overload

from torchdali._common.location import user_stack_level
from torchdali._graph import conditionals
from torchdali._graph.arguments import unknown_name
from torchdali._graph.pytree import flatten
from torchdali.errors import ArgumentError, UnsupportedError, _make
from torchdali.pipeline._debug.definition import DebugDefinition
from torchdali.pipeline._pipeline import Pipeline

__all__ = ["do_not_convert", "is_pipeline_def", "pipeline_def"]

_T = TypeVar("_T")
_PIPELINE_ARGS = frozenset(inspect.signature(Pipeline.__init__).parameters) - {"self"}
_DECORATOR_ARGS = ("enable_conditionals", "debug")
_ABSENT_IN_DEBUG_MODE = {
    "enable_checkpointing": "makes no checkpoints",
    "enable_memory_stats": "has no figures of memory",
}


@overload
def pipeline_def(fn: Callable[..., Any], **pipeline_kwargs: Any) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    fn: None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Pipeline]]: ...


def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    enable_conditionals: bool = False,
    debug: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Turns a function that defines a graph into one that makes pipelines.

    Args:
        fn: returns the outputs: a DataNode, a tuple or list of them, or a structure of dicts,
            tuples, named tuples and dataclasses, which PipelineLoader keeps; run() returns a flat
            tuple. Its parameters stay parameters; those of Pipeline's constructor are taken in
            addition, as keywords. If it takes `**kwargs`, it gets the keywords that are not
            arguments of the pipeline.
        enable_conditionals: `if`, `a if p else b`, `and`, `or` and `not` take data nodes, sample by
            sample, in `fn` and in the functions that it calls; docs/guide/conditionals.md.
        debug: call the function again in every run, and run its operators as they are called, so
            that it can be stepped through and values can be printed (`node.get()`). Nothing runs
            ahead and there are no worker processes, so the arguments for these have no effect.
        **pipeline_kwargs: arguments of Pipeline's constructor; a call may override them, and the
            two above.

    Returns:
        The function, or a decorator if `fn` is left out.

    Raises:
        ArgumentTypeError: an argument is neither the function's nor Pipeline's.
        UnsupportedError: an argument requires a feature that this version does not have.

    Example:
        >>> @pipeline_def(batch_size=4, num_threads=2)
        ... def noise(low):
        ...     return fn.random.uniform(range=[low, 1.0])
        >>> batch, = noise(0.5, batch_size=8).run()
        >>> len(batch)
        8
    """
    options = {
        "enable_conditionals": enable_conditionals,
        "debug": debug,
        **pipeline_kwargs,
    }
    if fn is not None and conditionals.is_left_alone(fn):
        raise _not_the_definition()
    _check_pipeline_args(options)
    if fn is None:
        return functools.partial(pipeline_def, **options)
    function = fn
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def is_own(name: str) -> bool:
        return name in parameters or (takes_any and not _is_pipeline_arg(name))

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Pipeline:
        own = {name: value for name, value in kwargs.items() if is_own(name)}
        rest = {name: value for name, value in kwargs.items() if not is_own(name)}
        _check_pipeline_args(rest)
        chosen = {**options, **rest}
        constructor = {k: v for k, v in chosen.items() if k not in _DECORATOR_ARGS}
        define = conditionals.convert(function) if chosen["enable_conditionals"] else function
        if kwargs.get("debug", debug):  # as in DALI, also if the function has a `debug` too
            return _debugged(functools.partial(define, *args, **own), constructor)
        pipeline = Pipeline(**constructor)
        with pipeline:
            made = define(*args, **own)
        outputs, structure = flatten(made)
        pipeline.set_outputs(*outputs)
        definition = pipeline.__torchdali_driver__().definition
        definition.structure = structure
        definition.make_again = functools.partial(make, *args, **kwargs)
        return pipeline

    # inspect.signature follows __wrapped__ to the function itself, which lacks the pipeline's own.
    make._is_pipeline_def = True  # type: ignore[attr-defined]
    return make


def is_pipeline_def(function: Any) -> bool:
    """Returns whether pipeline_def made a function."""
    return getattr(function, "_is_pipeline_def", False) is True


def _debugged(define: Callable[[], Any], options: Mapping[str, Any]) -> Pipeline:
    """Returns a pipeline in debug mode, whose operators run as the definition calls them."""
    if options.get("checkpoint") is not None:
        raise _make(UnsupportedError, "Pipeline: debug mode cannot go on from a `checkpoint`")
    if options.get("on_error") not in (None, "raise"):
        raise _make(
            UnsupportedError,
            "Pipeline: samples that fail cannot be left out or replaced (`on_error`) in debug mode",
            fix="leave out debug=True or on_error",
        )
    for name, absent in _ABSENT_IN_DEBUG_MODE.items():
        if options.get(name):
            warnings.warn(
                f"Pipeline: debug mode {absent}; `{name}` has no effect",
                UserWarning,
                stacklevel=user_stack_level(),
            )
    pipeline = Pipeline(**{**options, "enable_checkpointing": False})
    pipeline.__torchdali_driver__().definition = DebugDefinition(define)
    return pipeline


def _is_pipeline_arg(name: str) -> bool:
    return name in _DECORATOR_ARGS or name in _PIPELINE_ARGS


def _check_pipeline_args(given: Mapping[str, Any]) -> None:
    for name in given:
        if not _is_pipeline_arg(name):
            raise unknown_name("pipeline_def", name, sorted(_PIPELINE_ARGS), None)


def do_not_convert(func: _T | None = None) -> Any:
    """Keeps conditional execution from rewriting a function: it is called as it is.

    A function that is rewritten includes those defined in it, so the outermost is to be marked. For
    functions that are pickled, such as a parallel source of fn.external_source, and for such as
    depend on their own source or code.

    Args:
        func: a function that has no data nodes as conditions.

    Returns:
        The function, or a decorator if `func` is left out.

    Raises:
        ArgumentError: it is under pipeline_def.
    """
    if func is None:
        return do_not_convert
    if is_pipeline_def(func):
        raise _not_the_definition()
    return conditionals.leave_alone(func)


def _not_the_definition() -> ArgumentError:
    return cast(
        ArgumentError,
        _make(ArgumentError, "the definition of a pipeline cannot be under do_not_convert"),
    )
