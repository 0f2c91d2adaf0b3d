# SPDX-License-Identifier: Apache-2.0
"""Definitions with conditions that torchdali and real DALI run (test_conditionals_parity.py).

``fn`` and ``types`` are put into the module by whoever loads it. Each program takes data nodes by
the names of ``INPUTS`` and returns outputs; docs/design/conditionals.md has what DALI refuses.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

fn: Any = None
types: Any = None

BATCHES = 3
INPUTS: dict[str, Any] = {
    "p": np.bool_([True, False, True, True, False]),
    "q": np.bool_([True, True, False, False, True]),
    "r": np.bool_([False, True, True, False, False]),
    "i": np.int32([0, 1, 2, -3, 0]),
    "f": np.float32([0.0, 0.5, np.nan, -0.0, 2.0]),
    "image": np.arange(5 * 2 * 3 * 3, dtype=np.uint8).reshape(5, 2, 3, 3),
}
LAYOUTS = {"image": "HWC"}


def mirrored(x):
    return fn.flip(x, horizontal=1)


def upside_down(x):
    return fn.flip(x, horizontal=0, vertical=1)


# -- statements


def if_alone(p, image):
    if p:
        image = mirrored(image)
    return image


def if_else(p, image):
    if p:
        out = mirrored(image)
    else:
        out = upside_down(image)
    return out


def elif_chain(p, q, r, image):
    if p:
        out = mirrored(image)
    elif q:
        out = upside_down(image)
    elif r:
        out = fn.flip(image, horizontal=1, vertical=1)
    else:
        out = image
    return out, p, q


def elif_without_else(p, q, image):
    out = image
    if p:
        out = mirrored(image)
    elif q:
        out = upside_down(out)
    return out


def nested(p, q, r, image):
    if p:
        if q:
            out = mirrored(image)
        else:
            out = upside_down(image)
            if r:
                out = mirrored(out)
    else:
        if q and not r:
            out = upside_down(mirrored(image))
        else:
            out = image
    return out


def several_variables(p, q, image):
    a, b = image, q
    if p:
        a, b = mirrored(image), p
        c = 1
    else:
        c = 2
    return a, b, c


def in_a_row(p, q, image):
    if p:
        image = mirrored(image)
    if q:
        image = upside_down(image)
    if p:
        image = mirrored(image)
    return image


def result_as_predicate(p, q, r):
    if p:
        s = q
    else:
        s = r
    if s:
        out = 1
    else:
        out = 0
    return out, s


def constants(p):
    if p:
        a, b, c, d = 1, 1.5, True, np.array([1, 2], dtype=np.uint8)
    else:
        a, b, c, d = -2, 2.5, False, np.array([3, 4, 5], dtype=np.uint8)
    return a, b, c, d


def numpy_scalars(p):
    if p:
        a, b = np.float32(1), np.int64(7)
    else:
        a, b = np.float32(2), np.int64(8)
    return a, b


def containers(p, image):
    if p:
        d = {"a": mirrored(image), "b": [1, (2.0, image)]}
    else:
        d = {"a": image, "b": [3, (4.0, upside_down(image))]}
    return d["a"], d["b"][0], d["b"][1][0], d["b"][1][1]


def items_and_attributes(p, image):
    d = {"x": image}
    o = functools.partial(print)
    o.value = image
    if p:
        d["x"] = mirrored(image)
        o.value = upside_down(image)
    else:
        o.value = mirrored(image)
    return d["x"], o.value


def augmented(p):
    count = 3
    if p:
        count = 4
    else:
        count = 5
    return count


def integers_and_floats_as_predicates(i, f):
    if i:
        a = 1
    else:
        a = 2
    if f:
        b = 1
    else:
        b = 2
    return a, b


def loop_over_python(p, q, image):
    for flag in (p, q):
        if flag:
            image = mirrored(image)
        else:
            image = upside_down(image)
    return image


def python_conditions(p, image, factor=2, mode="mirror"):
    if mode == "mirror" and factor > 1:
        if p:
            image = mirrored(image)
    elif mode == "none":
        raise AssertionError
    return image if factor else p


def early_return(p, image):
    if p:
        return mirrored(image)
    image = upside_down(image)
    return image


def early_returns_in_a_row(p, q, image):
    if p:
        return mirrored(image)
    image = upside_down(image)
    if q:
        return image
    return mirrored(image)


def dead_variables(p, image):
    if p:
        name, image = "left", mirrored(image)
    else:
        name, image = "right", upside_down(image)
    return image


def sequel(p, q):
    x = False
    for value in (p, q):
        if value:
            continue
        x = value
    return x


# -- expressions


def logical(p, q, r):
    return p and q, p or q, not p, not (p and q) or r, p and q and r, p or q or r


def logical_with_constants(p):
    return p and True, p and False, p or True, p or False, True and p, False or p, False and p


def negation_of_numbers(i, f):
    return not i, not f


def logical_in_if(p, q, r, image):
    if p and (q or not r):
        image = mirrored(image)
    elif (not p and r) or q:
        image = upside_down(image)
    return image


# -- arithmetic


def chained_comparison(i):
    a = 0 < i <= 2
    if -3 <= i < 1:
        b = 1
    else:
        b = 0
    return a, b


def comparisons(p, i, f):
    if i > 0 and f == f:
        x = i + 1
    else:
        x = i - 1
    return x, i * 2 if False else i, i == 0 or p


def accumulated(p, q, i):
    total = i
    for flag in (p, q, not p):
        if flag:
            total += 10
        else:
            total = total * 2
    return total


# -- what DALI refuses

OURS_ONLY = [
    "early_return_in_two_levels",
    "returns_in_a_chain",
    "ternary",
]


def ternary(p, q, image):
    out = mirrored(image) if p else upside_down(image) if q else image
    return out, 1 if p else 2, [3 if flag else 4 for flag in (p, q)][1]


def returns_in_a_chain(p, q, image):
    if p:
        return mirrored(image), 1
    elif q:
        return upside_down(image), 2
    return image, 3


def early_return_in_two_levels(p, q, image):
    if p:
        if q:
            return mirrored(image)
        image = upside_down(image)
    return image


_HELPERS = ("mirrored", "upside_down")
PROGRAMS = {
    name: value
    for name, value in list(globals().items())
    if getattr(value, "__module__", None) == __name__
    and hasattr(value, "__code__")
    and name not in _HELPERS
}
