# SPDX-License-Identifier: Apache-2.0
"""Pipelines around Python functions that run in real DALI and in torchdali.

Loaded in DALI's process too (helpers/dali_oracle.call), so it depends on NumPy only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BATCH = 3
ALL = ("python_function", "dl_tensor_python_function", "torch_python_function")
NOT_TORCH = ALL[:2]
# Types that DALI's functions can return; it rejects int8, uint32 and uint64 of NumPy.
TYPES = ["uint8", "int16", "int32", "int64", "uint16", "float16", "float32", "float64"]


def _arrays(dtype: Any, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    sizes = [int(np.prod(shape)) for shape in shapes]
    return [
        (np.arange(size) + 7 * i).astype(dtype).reshape(shape)
        for i, (size, shape) in enumerate(zip(sizes, shapes, strict=True))
    ]


# name -> (samples, layout)
SOURCES: dict[str, tuple[list[np.ndarray], str]] = {
    "matrices": (_arrays("uint8", *[(2, 3)] * 3), "HW"),
    "floats": (_arrays("float32", *[(2, 3)] * 3), ""),
    "ragged": (_arrays("int32", (2, 3), (1, 4), (3, 1)), "HW"),
    "empty": (_arrays("float32", (0, 3), (2, 0), (0, 0)), "HW"),
    "scalars": (_arrays("int64", (), (), ()), ""),
    "images": (_arrays("uint8", (4, 5, 3), (2, 3, 3), (1, 1, 3)), "HWC"),
    "sequences": (_arrays("uint8", (2, 3, 4, 3), (1, 3, 4, 3), (4, 2, 2, 3)), "FHWC"),
    "volumes": (_arrays("float32", (2, 3, 4, 1), (1, 3, 4, 1), (4, 2, 2, 1)), "DHWC"),
    "deep": (_arrays("uint8", *[(1, 2, 1, 2, 1, 2)] * 3), ""),
    **{dtype: (_arrays(dtype, *[(2, 2)] * 3), "") for dtype in TYPES},
}


@dataclass(frozen=True)
class Program:
    """One use of an operator.

    Args:
        function: of NumPy arrays (lists of them where `batch` is set).
        inputs: names of SOURCES.
        args: arguments of the operator.
        batch: `batch_processing`.
        operators: those that it is for.
        fails: which function raises, in DALI too.
    """

    function: Callable[..., Any]
    inputs: tuple[str, ...] = ("matrices",)
    args: dict[str, Any] = field(default_factory=dict)
    batch: bool = False
    operators: tuple[str, ...] = ALL
    fails: bool = False


def identity(*xs: Any) -> Any:
    return xs[0] if len(xs) == 1 else xs


def _raise(_x: Any) -> Any:
    raise ValueError("boom")


def _stop(_x: Any) -> Any:
    raise StopIteration


PROGRAMS: dict[str, Program] = {
    **{f"identity of {name}": Program(identity, (name,)) for name in SOURCES},
    **{
        f"batch of {name}": Program(identity, (name,), batch=True)
        for name in ("matrices", "ragged", "empty", "scalars", "sequences", "volumes")
    },
    **{f"to {dtype}": Program(lambda x, dtype=dtype: x.astype(dtype)) for dtype in TYPES},
    "arithmetic": Program(lambda x: x * 2.5 + 1),
    "other shapes": Program(lambda x: np.concatenate([x, x[:, :1]], 1), ("ragged",)),
    "other ndim": Program(lambda x: x.reshape(-1), ("sequences",)),
    "to scalars": Program(lambda x: np.asarray(x.sum(), np.int64), ("ragged",)),
    "by sample": Program(lambda x: x[: 1 + x[0, 0] % 2, : 1 + x[0, 0] % 3]),
    "reversed": Program(lambda x: x[::-1, ::-1], operators=NOT_TORCH),
    "every second": Program(lambda x: x[::2, 1::2], ("images",)),
    "transposed": Program(lambda x: x.T, ("ragged",)),
    "axes moved": Program(lambda x: x.transpose(2, 0, 1), ("images",)),
    "broadcast": Program(lambda x: np.broadcast_to(x[:1], (4, x.shape[1])), operators=ALL[:1]),
    "negative and transposed": Program(lambda x: x[:, ::-1].T[::-1], operators=NOT_TORCH),
    "emptied": Program(lambda x: x[:0]),
    "one-tuple": Program(lambda x: (x,)),
    "two outputs": Program(lambda x: (x, x.astype(np.float32) / 2), args={"num_outputs": 2}),
    "five outputs": Program(
        lambda x: tuple(x[:, :i] for i in range(5)), args={"num_outputs": 5}, inputs=("images",)
    ),
    "two inputs": Program(
        lambda x, y: (y, x.shape[0] + np.zeros(2, np.int64)),
        ("ragged", "floats"),
        {"num_outputs": 2},
    ),
    "256 inputs": Program(lambda *xs: sum(x.astype(np.int64) for x in xs), ("matrices",) * 256),
    "batch of two inputs": Program(
        lambda xs, ys: ([x[:1] for x in xs], [y + 1 for y in ys]),
        ("ragged", "floats"),
        {"num_outputs": 2},
        batch=True,
    ),
    "batch against itself": Program(lambda xs: [x - xs[0] for x in xs], ("floats",), batch=True),
    "a layout": Program(identity, args={"output_layouts": "HW"}),
    "one layout for all": Program(
        lambda x: (x, x + 1), args={"output_layouts": "HW", "num_outputs": 2}
    ),
    "a list of layouts": Program(
        lambda x: (x, x[0]), args={"output_layouts": ["HW", "W"], "num_outputs": 2}
    ),
    "a shorter list": Program(
        lambda x: (x, x + 1, x[0]), args={"output_layouts": ["HW", "XY"], "num_outputs": 3}
    ),
    "all arguments": Program(
        identity, args={"bytes_per_sample_hint": 100, "seed": 3, "preserve": True, "name": "mine"}
    ),
    "raises": Program(_raise, fails=True),
    "raises in a batch": Program(_raise, batch=True, fails=True),
    "raises StopIteration": Program(_stop, fails=True),
    "None": Program(lambda _x: None, fails=True),
    "list for a tuple": Program(lambda x: [x, x], args={"num_outputs": 2}, fails=True),
    "too many": Program(lambda x: (x, x, x), args={"num_outputs": 2}, fails=True),
    "too few": Program(lambda x: (x,), args={"num_outputs": 2}, fails=True),
    "no array": Program(lambda _x: "text", operators=ALL[:1], fails=True),
    "takes nothing": Program(lambda: None, fails=True),
    "short batch": Program(lambda xs: xs[:2], batch=True, fails=True),
    "ndim differs": Program(lambda x: x if x[0, 0] % 2 else x[0], fails=True),
    "type differs": Program(lambda x: x if x[0, 0] % 2 else x.astype(np.int32), fails=True),
}


class _Capsule:
    """A DLPack capsule as the object that numpy.from_dlpack() wants."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _mapped(function: Callable[..., Any], into: Any, out: Any, single: Any) -> Callable[..., Any]:
    """Converts a function of NumPy arrays to one of other tensors."""

    def convert(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(convert(item) for item in value)
        return out(value) if isinstance(value, single) else value

    def mapped(*xs: Any) -> Any:
        return convert(
            function(*([into(i) for i in x] if type(x) is list else into(x) for x in xs))
        )

    return mapped


def _from_numpy(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array)


def adapted(operator: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Converts a function of NumPy arrays to one of the types that the operator passes."""
    if operator == "dl_tensor_python_function":
        return _mapped(
            function,
            lambda c: np.from_dlpack(_Capsule(c)),
            lambda a: (a if a.flags.writeable else a.copy()).__dlpack__(),
            np.ndarray,
        )
    if operator == "torch_python_function":
        return _mapped(function, lambda t: t.numpy(), _from_numpy, np.ndarray)
    return function


def _described(outputs: Any) -> list[dict[str, Any]]:
    return [
        {
            "layout": output.layout(),
            "dtype": int(output.dtype),
            "samples": [np.array(output.at(i)) for i in range(len(output))],
        }
        for output in outputs
    ]


def _pipeline(package: str, options: dict[str, Any] | None = None) -> Any:
    pipeline = importlib.import_module(f"{package}.pipeline")
    still = {"exec_async": False, "exec_pipelined": False}
    return pipeline.Pipeline(BATCH, 2, None, seed=1, **(still if options is None else options))


def _sources(fn: Any, names: Any) -> list[Any]:
    def source(name: str) -> Any:
        samples, layout = SOURCES[name]
        return fn.external_source(lambda: samples, batch=True, layout=layout or None)

    made = {name: source(name) for name in dict.fromkeys(names)}
    return [made[name] for name in names]


def run(package: str, operator: str, name: str, as_class: bool = False) -> Any:
    """Runs a program; returns its outputs and the shapes that the function was called with."""
    program = PROGRAMS[name]
    fn = importlib.import_module(f"{package}.fn")
    shapes: list[Any] = []
    inner = adapted(operator, program.function)

    def function(*xs: Any) -> Any:
        shapes.append(len(xs[0]) if program.batch else None)
        return inner(*xs)

    args = {"function": function, "batch_processing": program.batch, **program.args}
    pipe = _pipeline(package)
    with pipe:
        inputs = _sources(fn, program.inputs)
        if as_class:
            ops = importlib.import_module(f"{package}.ops")
            classes = {"python_function": "PythonFunction"}
            made = getattr(ops, classes.get(operator, "DLTensorPythonFunction"))(**args)(*inputs)
        else:
            made = getattr(fn, operator)(*inputs, **args)
        pipe.set_outputs(*(made if isinstance(made, list) else [made]))
    try:
        pipe.build()
        batches = [_described(pipe.run()) for _ in range(2)]
    except Exception as error:
        bases = [base.__name__ for base in type(error).__mro__]
        return {"bases": bases, "text": str(error)[:1000], "calls": shapes}
    return {"batches": batches, "calls": shapes}


def order_of_calls(package: str, prefetch: bool, batch: bool) -> list[str]:
    """Returns the first calls of functions that follow one another."""
    fn = importlib.import_module(f"{package}.fn")
    calls: list[str] = []

    def logged(name: str) -> Callable[..., Any]:
        def function(*xs: Any) -> Any:
            calls.append(name)
            if xs:
                return xs[0]
            return [np.zeros(2)] * BATCH if batch else np.zeros(2)

        return function

    pipe = _pipeline(package, {"prefetch_queue_depth": 3} if prefetch else None)
    with pipe:
        first = fn.python_function(function=logged("A"), batch_processing=batch)
        second = fn.python_function(first, function=logged("B"), batch_processing=batch)
        copied = fn.copy(second)
        pipe.set_outputs(fn.python_function(copied, function=logged("C"), batch_processing=batch))
    pipe.build()
    for _ in range(4):
        pipe.run()
    return calls[: 4 * 3 * (1 if batch else BATCH)]


def side_effects(package: str) -> dict[str, Any]:
    """Runs functions with unused outputs, and one without outputs."""
    fn = importlib.import_module(f"{package}.fn")
    calls: list[str] = []
    pipe = _pipeline(package)
    with pipe:
        (x,) = _sources(fn, ["matrices"])
        fn.python_function(x, function=lambda x: (calls.append("unused"), x)[1])
        fn.python_function(x, function=lambda _x: calls.append("none"), num_outputs=0)
        pipe.set_outputs(x)
    pipe.build()
    outputs = _described(pipe.run())
    return {"outputs": outputs, "calls": {name: calls.count(name) for name in calls}}


def twice(package: str) -> Any:
    """Uses one operator object at two places."""
    fn = importlib.import_module(f"{package}.fn")
    ops = importlib.import_module(f"{package}.ops")
    pipe = _pipeline(package)
    with pipe:
        double = ops.PythonFunction(function=lambda x: x * 2)
        (x,) = _sources(fn, ["int32"])
        pipe.set_outputs(double(x), double(double(x)))
    pipe.build()
    return _described(pipe.run())
