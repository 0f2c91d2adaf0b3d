# SPDX-License-Identifier: Apache-2.0
"""fn.power_spectrum: frequencies of whole signals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op

from torchdali.errors import ArgumentError, OutOfRangeError

OP = "power_spectrum"


def noise(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=generator) * 2 - 1


def case(shape, args=None, **more):
    return OpCase(
        OP,
        args=args or {},
        make=lambda index: noise(shape, index),
        algorithm="spectrum",
        **more,
    )


CASES = [
    case((60,)),
    case((5, 12)),
    case((5, 12), {"axis": 0}),
    case((40, 33), {"axis": 0, "power": 1}),
    case((40, 33), {"axis": 1, "power": 1}),
    case((3, 18, 5), {"axis": 1}),
    case((2, 3, 400)),
    case((7, 100), {"nfft": 64}),  # cut off
    case((100, 7), {"nfft": 64, "axis": 0}),
    case((7, 100), {"nfft": 150}),  # padded
    case((100, 20), {"nfft": 131, "axis": 0}),
    case((3, 4), {"axis": -2}, no_parity="DALI takes no axis below -1"),
    case((1,), no_parity="DALI takes no transform of one value"),
    case((0, 8), no_parity="DALI has not been asked"),
]


@for_each("case", CASES)
def test_matches_reference(case):
    run = run_case(case)
    assert run.layouts == [""]
    args = case.args
    for index, actual in enumerate(run.samples()[0]):
        x = case.input(index).double().numpy()
        expected = np.abs(np.fft.rfft(x, args.get("nfft"), axis=args.get("axis", -1)))
        expected = expected ** args.get("power", 2)
        assert actual.dtype == torch.float32
        assert tuple(actual.shape) == expected.shape
        error = np.abs(actual.numpy() - expected).max(initial=0)
        assert error <= 2e-6 * expected.max(initial=0)


def test_energy_is_that_of_the_signal():
    """Parseval, for an odd and for an even length."""
    for length in (999, 1000):
        x = noise((length,)).double()
        powers = run_op(OP, x.float()).double()
        total = powers[0] + 2 * powers[1:].sum() - (powers[-1] if length % 2 == 0 else 0)
        torch.testing.assert_close(total / length, (x**2).sum(), rtol=1e-6, atol=0)


def test_a_rotation_changes_phases_only():
    x = noise((500,))
    torch.testing.assert_close(run_op(OP, x.roll(123)), run_op(OP, x), rtol=1e-4, atol=1e-4)


@for_each(
    "case",
    [
        ((4, 5), {"axis": 2}, "axis 2 of `axis` is not in [-2, 1]"),
        ((4, 5), {"power": 0}, "`power` is 0, expected 1 (magnitude) or 2 (power)"),
        ((4, 5), {"nfft": 0}, "`nfft` is 0, expected a positive number"),
        ((4, 0), {}, "the extent of `axis` is 0, expected a positive number"),
    ],
)
def test_wrong_arguments(case):
    shape, args, text = case
    with pytest.raises((ArgumentError, OutOfRangeError)) as error:
        run_op(OP, torch.zeros(shape), **args)
    assert text in str(error.value)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="input `data` is int16, expected float"):
        run_op(OP, torch.zeros(1000, dtype=torch.int16))
