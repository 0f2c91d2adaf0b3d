# SPDX-License-Identifier: Apache-2.0
"""Evaluation of expressions, by torchdali and by DALI."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from helpers import expressions

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]


DALI_TYPES = [*INTEGERS, "float32", "float64", "bool"]  # DALI's CPU has no float16


COMPARISONS = ["a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b"]


@dataclass(frozen=True)
class Result:
    """One output: a sample, its layout."""

    value: np.ndarray
    layout: str = ""


def evaluated(
    evaluate: Any,
    codes: Sequence[str],
    operands: Mapping[str, Any],
    layouts: Mapping[str, str] | None = None,
) -> list[Result]:
    """Returns what the expressions give for one sample, of all in one pipeline."""
    sources = {
        name: ((layouts or {}).get(name, ""), [[torch.from_numpy(np.array(value))]])
        for name, value in operands.items()
    }
    (outputs,) = evaluate(f"({', '.join(codes)},)", sources, batch_size=1)
    return [Result(out.samples[0].numpy(), out.layout) for out in outputs]


compute = functools.partial(evaluated, expressions.evaluate)


def edges(dtype: str) -> np.ndarray:
    """Returns values of a type where operations go wrong: limits, signs, small and large."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        return np.array([0.0, -0.0, 1.5, -2.5, 3.0, 0.3, 1e4, -7.0, np.inf, np.nan], kind)
    limits = np.iinfo(kind)
    wanted = [0, 1, 2, 3, 7, limits.max, limits.max // 2, limits.min, -1, -3, 100]
    return np.array([v for v in wanted if limits.min <= v <= limits.max], kind)


def pairs(left: str, right: str, *, divisor: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Returns all pairs of edges(); with `divisor` none that crashes DALI as it divides."""
    a, b = (x.ravel() for x in np.meshgrid(edges(left), edges(right)))
    if divisor:  # of the promoted type, where uint64 may become -1
        fits = (b != 0) & ~((b.astype(np.float64) == -1) | (b == np.uint64(2**64 - 1)))
        a, b = a[fits], b[fits]
    return a, b
