# SPDX-License-Identifier: Apache-2.0
"""fn.mfcc: a discrete cosine transform along an axis, with liftering."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op


def decibels(shape):
    return lambda i: -60 * torch.rand(shape, generator=torch.Generator().manual_seed(i))


CASES = [
    OpCase("mfcc", layout, make=decibels(shape), args=args, algorithm="dct")
    for layout, shape, args in [
        ("ft", (80, 37), {}),
        ("ft", (80, 37), {"n_mfcc": 13, "normalize": True, "lifter": 22.0}),
        ("tf", (37, 80), {"axis": 1, "n_mfcc": 40}),
        ("", (2, 9, 5), {"axis": 1, "n_mfcc": 4}),
        ("", (2, 3, 9, 5), {"axis": 3, "n_mfcc": 4, "lifter": -3.5}),
        ("ft", (5, 3), {"n_mfcc": 20}),  # as many as there are
        ("ft", (9, 0), {"n_mfcc": 4}),
        ("ft", (0, 4), {"n_mfcc": 4}),
        ("ft", (1, 4), {}),
        *(("ft", (8, 3), {"dct_type": kind, "n_mfcc": 8}) for kind in (1, 2, 3, 4)),
        *(("ft", (7, 3), {"dct_type": kind, "n_mfcc": 7, "normalize": True}) for kind in (2, 3, 4)),
    ]
]
CASES += [
    OpCase("mfcc", layout, make=decibels(shape), args=args, algorithm="dct", no_parity=reason)
    for layout, shape, args, reason in [
        ("tf", (5, 9), {"axis": -1}, "DALI refuses negative axes"),
        ("", (9,), {}, "DALI refuses one dimension"),
        ("", (2, 1, 2, 9, 5), {"axis": 3}, "DALI refuses five dimensions"),
    ]
]


def matrix(kind: int, size: int, normalize: bool) -> np.ndarray:
    """Rows of the transforms of DALI: half of those in scipy.fft.dct."""
    k, n = np.mgrid[:size, :size].astype(float)
    if kind == 1:
        rows = np.cos(np.pi * k * n / max(size - 1, 1))
        rows[:, [0, -1]] /= 2
    elif kind == 2:
        rows = np.cos(np.pi / size * (n + 0.5) * k)
    elif kind == 3:
        rows = np.cos(np.pi / size * n * (k + 0.5))
        rows[:, 0] /= 2
    else:
        rows = np.cos(np.pi / size * (n + 0.5) * (k + 0.5))
    if normalize:
        rows *= np.sqrt(2 / size)
        if kind == 2:
            rows[0] /= np.sqrt(2)
        if kind == 3:
            rows[:, 0] *= np.sqrt(2)
    return rows


@for_each("case", [case for case in CASES if 0 not in case.input().shape])
def test_matches_reference(case):
    for i, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(i).double().numpy()
        axis = case.args.get("axis", 0) % x.ndim
        rows = matrix(
            case.args.get("dct_type", 2), x.shape[axis], case.args.get("normalize", False)
        )[: case.args.get("n_mfcc", 20)]
        if lifter := case.args.get("lifter", 0.0):
            k = np.arange(len(rows))[:, None]
            rows = rows * (1 + lifter / 2 * np.sin(np.pi * (k + 1) / lifter))
        expected = np.moveaxis(np.tensordot(rows, x, (1, axis)), 0, axis)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=2e-3)


@for_each("kind, inverse", [(2, 3), (3, 2), (4, 4)])
def test_normalized_transforms_are_orthonormal(kind, inverse):
    x = torch.randn(40, 7, generator=torch.Generator().manual_seed(1))
    there = run_op("mfcc", x, n_mfcc=40, dct_type=kind, normalize=True)
    torch.testing.assert_close(there.norm(dim=0), x.norm(dim=0))
    back = run_op("mfcc", there, n_mfcc=40, dct_type=inverse, normalize=True)
    torch.testing.assert_close(back, x, rtol=0, atol=1e-5)


@for_each(
    "args, text",
    [
        ({"n_mfcc": 0}, "`n_mfcc` is 0, expected a positive number"),
        ({"dct_type": 5}, "`dct_type` is 5, expected 1, 2, 3 or 4"),
        ({"dct_type": 1, "normalize": True}, "not possible with `dct_type` 1"),
    ],
)
def test_wrong_arguments(args, text):
    with pytest.raises(ValueError, match=text):
        run_op("mfcc", torch.ones(9, 2), **args)


def test_wrong_inputs():
    with pytest.raises(IndexError, match=r"axis 2 of `axis` is not in \[-2, 1\]"):
        run_op("mfcc", torch.ones(9, 2), axis=2)
    with pytest.raises(ValueError, match="needs at least 2 values"):
        run_op("mfcc", torch.ones(1, 2), dct_type=1)
    with pytest.raises(TypeError, match="is float64, expected float32"):
        run_op("mfcc", torch.ones(9, 2, dtype=torch.float64))
