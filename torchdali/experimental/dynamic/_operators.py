# SPDX-License-Identifier: Apache-2.0
"""Makes the functions of ``torchdali.experimental.dynamic`` from the schemas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from torchdali._eager import functions, values
from torchdali._eager.batch import Batch as Samples
from torchdali._eager.caller import Caller
from torchdali._engine import libraries
from torchdali._engine.schema import Argument, OperatorSchema, operator_schema
from torchdali.errors import ArgumentError, _make
from torchdali.experimental.dynamic import _context
from torchdali.experimental.dynamic._base import FACE, is_batch, samples_of
from torchdali.experimental.dynamic._data import Batch, Tensor, as_tensor, wrapped
from torchdali.experimental.dynamic._device import told
from torchdali.experimental.dynamic._rng import seed_of
from torchdali.experimental.dynamic._types import DType, type_id
from torchdali.fn import _callables

__all__ = ["DYNAMIC", "imread", "install"]

_OPTIONS = [
    Argument("batch_size", "int", "Number of samples; by default that of the inputs, or a Tensor."),
    Argument("device", "str or Device", "Where it runs; by default where the inputs are."),
]
_RNG = Argument(
    "rng", "random.RNG", "That the values are drawn from; by default get_default_rng()."
)
_OF_PIPELINES = ("bytes_per_sample_hint", "name", "on_error", "preserve", "seed")


def _options(schema: OperatorSchema) -> list[Argument]:
    return [*_OPTIONS, _RNG] if schema.random else _OPTIONS


DYNAMIC = _callables.Face("Tensor or Batch", "Tensor or Batch", _options)


def install(package: ModuleType) -> None:
    """Fills ``torchdali.experimental.dynamic``."""
    libraries.show(package, lambda added: _install(package, added))


def _install(package: ModuleType, added: Iterable[OperatorSchema]) -> None:
    made = {
        name: _function(schema)
        for name, schema in functions.schemas(added).items()
        if name not in functions.ALIASES
    }
    _callables.install_functions(package, made)


def _function(schema: OperatorSchema) -> Callable[..., Any]:
    caller = Caller(schema, FACE)

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return caller.named(lambda: _call(caller, inputs, kwargs))

    function.__signature__ = _signature(schema)  # type: ignore[attr-defined]
    function.__doc__ = _callables.docstring(schema, face=DYNAMIC)
    return function


def _signature(schema: OperatorSchema) -> inspect.Signature:
    """Returns the signature of a function: as in DALI, None is the default of all arguments."""
    own = _callables.signature(schema, DYNAMIC)
    optional = [
        one if one.default is one.empty else one.replace(default=None)
        for one in own.parameters.values()
    ]
    kind = inspect.Parameter.KEYWORD_ONLY
    old = [arg.name for arg in schema.args if arg.name not in own.parameters]
    return own.replace(
        parameters=[*optional, *(inspect.Parameter(name, kind, default=None) for name in old)]
    )


def _call(caller: Caller, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    schema = caller.schema
    rest = {name: _plain(value) for name, value in kwargs.items() if value is not None}
    for name in _OF_PIPELINES:
        if name in rest and name not in schema.by_name:
            fix = "pass rng=RNG(seed)" if name == "seed" and schema.random else None
            raise _make(ArgumentError, f"`{name}` has a meaning in pipelines only", fix=fix)
    where = told(rest.pop("device", None))
    batch_size = rest.pop("batch_size", None)
    rng = rest.pop("rng", None)
    if rng is not None and not schema.random:
        raise _make(ArgumentError, "the operator draws no random values, and takes no `rng`")
    given = [value for value in inputs if value is not None]
    batches = [as_batch_of(value) for value in [*given, *rest.values()] if is_data_batch(value)]
    size = _size_of(batches, batch_size)
    single = size is None
    count = 1 if size is None else size
    made = caller.call(
        [_input(value, single) for value in given],
        {name: _argument(value, single) for name, value in rest.items()},
        size=count,
        seed=seed_of(rng) if schema.random else 0,
        device=where,
    )
    results = [wrapped(one, single) for one in made]
    _context.note(made, results)
    return results[0] if len(results) == 1 else (tuple(results) or None)


def is_data_batch(value: Any) -> bool:
    """Returns whether an input or an argument is a batch of data, and no list of constants."""
    if isinstance(value, (list, tuple)):
        return is_batch(value) and not isinstance(value[0], (str, bytes))
    return is_batch(value)


def as_batch_of(value: Any) -> Samples:
    """Returns a batch that a user passes as one of the mechanism."""
    return samples_of(value) or Batch(value).__torchdali_samples__()


def _size_of(batches: Sequence[Samples], batch_size: Any) -> int | None:
    """Returns the number of samples of a call; None: it is about one Tensor."""
    if batch_size is not None and (
        isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1
    ):
        raise _make(ArgumentError, f"batch_size is an integer from 1, got {batch_size!r}")
    sizes = {len(one) for one in batches}
    if batch_size is not None:
        sizes.add(batch_size)
    if len(sizes) > 1:
        raise _make(ArgumentError, f"the batches of one call have one size, got {sorted(sizes)}")
    return sizes.pop() if sizes else None


def _input(value: Any, single: bool) -> Any:
    if is_batch(value):
        return as_batch_of(value)
    own = as_tensor(value)
    return own.__torchdali_samples__() if single else (own.torch(), own.layout or "")


def _argument(value: Any, single: bool) -> Any:
    if is_data_batch(value):
        return as_batch_of(value)
    if isinstance(value, Tensor):
        return value.__torchdali_samples__() if single else value.torch()
    return value


def _plain(value: Any) -> Any:
    """Returns an argument with element types as other modules know them."""
    if isinstance(value, DType):
        return type_id(value)
    if isinstance(value, (list, tuple)) and any(isinstance(one, DType) for one in value):
        return [_plain(one) for one in value]
    return value


_read = Caller(operator_schema("io.file.read"), FACE)
_decode = Caller(operator_schema("decoders.image"), FACE)


def imread(filepaths: Any, /, *, device: Any = "cpu", **kwargs: Any) -> Tensor | Batch:
    """Reads and decodes images.

    Args:
        filepaths: a path, or a list of paths: then a Batch is returned.
        device: where the images will be.
        kwargs: arguments of `decoders.image`.

    Raises:
        FileError: a file cannot be read.
        TorchdaliError: it is no image, or an argument is wrong.
    """
    single = not isinstance(filepaths, (list, tuple)) and not is_batch(filepaths)
    paths = [filepaths] if single else filepaths
    names = samples_of(paths) or Samples([values.sample(path)[0] for path in paths])
    size = len(names)
    files = _read.call([names], {}, size=size)
    given = {name: _plain(value) for name, value in kwargs.items()}
    made = _decode.call(files, given, size=size, device=told(device))
    result = wrapped(made[0], single)
    _context.note(made, [result])
    return result


def _signature_of_imread() -> inspect.Signature:
    own = inspect.signature(imread).parameters
    decoding = _signature(_decode.schema).parameters.values()
    named = [p for p in decoding if p.kind is p.KEYWORD_ONLY]
    known = [p for p in named if p.name not in ("batch_size", "device")]
    return inspect.Signature([own["filepaths"], own["device"], *known])


imread.__signature__ = _signature_of_imread()  # type: ignore[attr-defined]
