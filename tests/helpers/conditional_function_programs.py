# SPDX-License-Identifier: Apache-2.0
"""As conditional_programs.py: programs that call functions, methods and objects.

DALI's process loads this file alone, so it repeats two functions.
"""

from __future__ import annotations

import functools
from typing import Any

fn: Any = None
types: Any = None

# DALI refuses them.
OURS_ONLY = ["calls_a_method_above"]


def mirrored(x):
    return fn.flip(x, horizontal=1)


def upside_down(x):
    return fn.flip(x, horizontal=0, vertical=1)


class Augmenter:
    """Methods and objects that are called are rewritten too."""

    def __init__(self, vertical):
        self.vertical = vertical

    def apply(self, flag, image):
        if flag:
            image = fn.flip(image, horizontal=0, vertical=self.vertical)
        return image

    def __call__(self, flag, image):
        return self.apply(not flag, image)

    @staticmethod
    def chosen(flag, a, b):
        if flag:
            return a
        return b


class Derived(Augmenter):
    def apply(self, flag, image):
        self.__private = 1
        if flag:
            image = fn.flip(super().apply(flag, image), horizontal=self.__private)
        return image


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@logged
def decorated(flag, image, *, flipped=mirrored):
    if flag:
        image = flipped(image)
    return image


def calls_a_function(p, q, image):
    return decorated(p, image), decorated(q, image, flipped=upside_down)


def calls_methods(p, q, image):
    augmenter = Augmenter(1)
    image = augmenter(q, augmenter.apply(p, image))
    return image, Augmenter.chosen(p, image, mirrored(image))


def calls_a_partial(p, image):
    return functools.partial(decorated, p)(image=image)


def calls_a_closure(p, q, image):
    turns = 0

    def turned(flag, image):
        nonlocal turns
        turns += 1
        if flag:
            image = mirrored(image)
        return image

    a = turned(p, image)
    if q:
        b = turned(p, image)
    else:
        b = turned(not p, image)
    assert turns == 3
    return a, b


def calls_a_recursive_function(p, q, image):
    def apply(flags, image):
        if not flags:
            return image
        if flags[0]:
            image = mirrored(image)
        else:
            image = upside_down(image)
        return apply(flags[1:], image)

    return apply([p, q], image)


def function_in_a_branch(p, q, image):
    if p:
        image = decorated(q, image)
    else:
        image = upside_down(image)
    return image


def random_in_a_branch(p):
    if p:
        x = fn.cast(fn.random.coin_flip(probability=1, seed=1), dtype=types.FLOAT)
    else:
        x = fn.cast(fn.random.coin_flip(probability=0, seed=1), dtype=types.FLOAT)
    return x


def argument_from_outside(p, image):
    vertical = fn.cast(p, dtype=types.INT32)
    if p:
        image = fn.flip(image, horizontal=0, vertical=vertical)
    return image


def calls_a_method_above(p, image):
    return Derived(1).apply(p, image)


_HELPERS = ("mirrored", "upside_down", "logged", "decorated")
PROGRAMS = {
    name: value
    for name, value in list(globals().items())
    if getattr(value, "__module__", None) == __name__
    and hasattr(value, "__code__")
    and name not in _HELPERS
}
