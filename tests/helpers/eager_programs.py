# SPDX-License-Identifier: Apache-2.0
"""Calls of the eager mode that run in torchdali and, by dali_oracle.call(), in real DALI."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


class _Modules:
    """The modules of a package that calls use."""

    def __init__(self, package: str) -> None:
        self.eager = importlib.import_module(f"{package}.experimental.eager")
        self.types = importlib.import_module(f"{package}.types")
        self.batch = importlib.import_module(f"{package}.tensors").TensorListCPU


def images(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (2, 12, 10, 3), np.uint8)


def _numbers(m: Any) -> Any:
    return m.batch(np.array([[1, 250], [7, 128]], np.uint8))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "flip": lambda m, x: m.eager.flip(x, horizontal=1),
    "flip_of_array": lambda m, _: m.eager.flip(images(), vertical=1, horizontal=0),
    "flip_of_list": lambda m, _: m.eager.flip(list(images())),
    "flip_for_each": lambda m, x: m.eager.flip(x, horizontal=m.batch(np.array([1, 0], np.int32))),
    "crop": lambda m, x: m.eager.crop(x, crop=[5, 6], crop_pos_x=0.25, crop_pos_y=1.0),
    "crop_to_array": lambda m, x: m.eager.crop(x, crop=np.array([5, 6], np.float32)),
    "normalize": lambda m, x: m.eager.crop_mirror_normalize(
        x, mean=[1.0, 2.0, 3.0], std=[2.0, 4.0, 8.0], dtype=m.types.FLOAT, mirror=1
    ),
    "slice": lambda m, x: m.eager.slice(
        x, [np.array([0.0, 0.5], np.float32)] * 2, [np.array([0.5, 0.5], np.float32)] * 2
    ),
    "cast": lambda m, x: m.eager.cast(x, dtype=m.types.INT16),
    "cat": lambda m, x: m.eager.cat(x, images(1), axis=0),
    "reshape": lambda m, x: m.eager.reshape(x, shape=[-1], layout="X"),
    "transpose": lambda m, x: m.eager.transpose(x, perm=[2, 0, 1]),
    "sum": lambda m, x: m.eager.reductions.sum(x, axis_names="HW"),
    "rotation": lambda m, _: m.eager.transforms.translation(offset=[3.0, 4.0], batch_size=3),
    "add": lambda m, _: _numbers(m) + 1,
    "add_float": lambda m, x: 0.5 + x,
    "subtract_from": lambda m, x: 2 - x,
    "multiply_batches": lambda m, _: _numbers(m) * _numbers(m),
    "divide": lambda m, x: x / 4,
    "floor_divide": lambda m, x: x // 3,
    "power": lambda m, _: _numbers(m) ** 2,
    "negate": lambda m, _: -_numbers(m),
    "compare": lambda m, x: x < 128,
    "equal": lambda m, x: x == x,
    "bits": lambda m, x: (x & 12) | 1,
    "add_array": lambda m, x: x + np.array([1, 2, 3], np.float32),
    "sqrt": lambda m, x: m.eager.math.sqrt(x),
    "clamp": lambda m, x: m.eager.math.clamp(x, 3, 77),
}
REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "batch_size": lambda m, x: m.eager.flip(x, batch_size=3),
    "no_batch_size": lambda m, _: m.eager.transforms.rotation(angle=30.0),
    "preserve": lambda m, x: m.eager.flip(x, preserve=True),
    "seed": lambda m, _: m.eager.rng_state(1).random.uniform(batch_size=2, seed=3),
    "unknown": lambda m, x: m.eager.flip(x, horizonal=1),
    "positive": lambda m, x: +x,
    "number": lambda m, _: m.eager.math.sqrt(4.0),
    "other_size": lambda m, x: m.eager.cat(x, np.zeros((3, 12, 10, 3), np.uint8), axis=0),
    "window": lambda m, x: m.eager.crop(x, crop=[50, 50]),
    "input_of_reader": lambda m, x: m.eager.readers.file(x, file_root=".", batch_size=2),
    "random_function": lambda m, x: m.eager.random_resized_crop(x, size=[4, 4]),
    "method": lambda m, x: m.eager.rng_state(1).flip(x),
}


def run(package: str, name: str) -> list[Any]:
    """Returns the layout of the result of one call, and its samples."""
    modules = _Modules(package)
    with modules.eager.arithmetic(enabled=True):
        made = CALLS[name](modules, modules.batch(images(), layout="HWC"))
    return [made.layout(), [np.array(made.at(i)) for i in range(len(made))]]


def refuse(package: str, name: str) -> str:
    """Returns whether a call is refused, and by an error of which kind."""
    modules = _Modules(package)
    try:
        with modules.eager.arithmetic(enabled=True):
            REFUSED[name](modules, modules.batch(images(), layout="HWC"))
    except Exception as error:
        kinds = (AttributeError, IndexError, TypeError, ValueError, RuntimeError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return "no error"


def arithmetic(package: str) -> list[bool]:
    """Returns where operators on batches work: at first, inside `with`, after it, and so on."""
    m = _Modules(package)
    batch = m.batch(images())
    found = []

    def note() -> None:
        try:
            found.append(len(batch + 1) == 2 and bool(m.eager.arithmetic.enabled))
        except TypeError:
            found.append(False)

    note()
    with m.eager.arithmetic(enabled=True):
        note()
        with m.eager.arithmetic(enabled=False):
            note()
        note()
    note()
    m.eager.arithmetic(enabled=True)
    note()
    m.eager.arithmetic(enabled=False)
    note()
    return found
