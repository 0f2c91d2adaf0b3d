# SPDX-License-Identifier: Apache-2.0
"""fn.to_decibels: multiplier * log10(x / reference), but not below a cutoff."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op

INF, NAN = math.inf, math.nan
ODD = [0.0, 1e-45, 1e-39, 1e-30, 1e-3, 0.5, 0.99999994, 1.0, 1.0000001, 2.0, 100.0, 3e38, -1.0]


def spread(shape):
    """Values over many orders of magnitude."""

    def make(i):
        generator = torch.Generator().manual_seed(i)
        return 10 ** (torch.rand(shape, generator=generator) * 30 - 20)

    return make


def values(*numbers):
    return lambda _: torch.tensor(numbers, dtype=torch.float32)


CASES = [
    OpCase("to_decibels", layout, make=make, args=args, algorithm="decibels")
    for layout, make, args in [
        ("ft", spread((80, 37)), {}),
        ("tf", spread((37, 80)), {"reference": 1.0}),
        ("", spread((2, 3, 4, 5)), {"multiplier": 20.0, "reference": 2.0, "cutoff_db": -80.0}),
        ("t", values(*ODD), {"reference": 1.0}),
        ("t", values(*ODD), {}),
        ("t", values(*ODD), {"reference": 1.0, "cutoff_db": -1000.0}),
        ("t", values(*ODD), {"reference": 2.0, "cutoff_db": -400.0}),
        ("t", values(0, 1, 20, 100), {"multiplier": -20.0, "reference": 2.0, "cutoff_db": -80.0}),
        ("t", values(0, 1, 20, 100), {"reference": -2.0}),
        ("t", values(0, 1, 20, 100), {"reference": 2.0, "cutoff_db": 5.0}),
        ("t", values(NAN, 1, 2, 0.5, -INF), {}),
        ("t", values(INF, 1, NAN), {"reference": 1.0}),
        ("t", values(INF, 1, NAN), {}),
        ("t", values(0, 0), {}),
        ("t", values(-1, -0.5), {}),
        ("", lambda _: torch.tensor(3.0), {}),
        ("ft", lambda _: torch.zeros(3, 0), {}),
        ("ft", lambda i: spread((5 + i, 3))(i), {}),
    ]
]


@for_each("case", CASES)
def test_matches_reference(case):
    multiplier, cutoff = case.args.get("multiplier", 10.0), case.args.get("cutoff_db", -200.0)
    least = max(np.float64(10) ** (cutoff / multiplier), 2.0**-149)
    for i, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(i).double().numpy()
        reference = case.args.get("reference", 0.0)
        with np.errstate(all="ignore"):
            if reference == 0:
                reference = np.nanmax(x, initial=0)
            ratio = np.fmax(np.nan_to_num(x / reference, nan=-1, posinf=INF), least)
            expected = multiplier * np.log10(ratio)
        np.testing.assert_allclose(actual, expected, rtol=3e-7, atol=3e-6)


def test_is_monotone():
    x = torch.logspace(-6, 6, 20000)
    out = run_op("to_decibels", x, reference=1.0)
    assert bool((out.diff() >= 0).all())
    # A factor of ten is ten decibels.
    torch.testing.assert_close(run_op("to_decibels", 10 * x, reference=1.0), out + 10)


def test_the_maximum_is_zero():
    outputs = run_op("to_decibels", [spread((7, 5))(i) for i in range(3)], layout="ft")
    assert [out.max().item() for out in outputs] == [0, 0, 0]


def test_other_inputs_are_refused():
    with pytest.raises(TypeError, match="is int16, expected float32"):
        run_op("to_decibels", torch.ones(3, dtype=torch.int16))
    with pytest.raises(ValueError, match="`cutoff_db` is nan, expected a finite number"):
        run_op("to_decibels", torch.ones(3), cutoff_db=NAN)
