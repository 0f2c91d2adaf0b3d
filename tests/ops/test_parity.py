# SPDX-License-Identifier: Apache-2.0
"""Every case of every operator against real DALI 1.35.0 on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from helpers.case_files import all_cases, cases_by_operator, parameters
from helpers.cases import check_each
from helpers.ops import OpCase, run_case, run_dali

CASES = cases_by_operator([case for case in all_cases() if not case.no_parity])

pytestmark = [pytest.mark.dali, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@dataclass(frozen=True)
class Tolerance:
    """How far results may be from DALI's: greatest difference, and share of values that differ.

    `absolute` is in units of the type for integers; for floats it is
    |a - b| <= absolute + relative * |b|.
    """

    absolute: float
    relative: float
    differing: float
    reason: str


EXACT = Tolerance(0, 0, 0, "integer arithmetic, copies, and float formulas that agree exactly")
# (algorithm of the case, type of the output) -> tolerance; without an entry: EXACT.
TOLERANCES: dict[tuple[str, torch.dtype], Tolerance] = {
    ("float16_ties", torch.float16): Tolerance(
        2**-24,  # one subnormal step
        2**-10,
        1,
        "binary16 rounds ties to even (IEEE 754); DALI on the CPU rounds them away from zero",
    ),
    ("resample", torch.uint8): Tolerance(
        1,
        0,
        0.15,
        "fixed point with 8 bits of fraction: about 0.3 % differ; at 2:3 along one axis a sixth of "
        "the values are halves, which the last bit of a float decides",
    ),
    ("resample", torch.float32): Tolerance(3e-3, 0, 1, "1e-5 of the 320 that the data span"),
    ("resample_wide", torch.int16): Tolerance(1, 0, 0.05, "the last bit of a float"),
    ("resample_wide", torch.uint16): Tolerance(1, 0, 0.05, "the last bit of a float"),
    ("resample_wide", torch.float32): Tolerance(0.65, 0, 1, "1e-5 of 65535"),
    ("warp", torch.uint8): Tolerance(
        1, 0, 0.1, "14 bits of weight, and DALI adds up positions along a row (docs/design/warp.md)"
    ),
    ("warp", torch.int16): Tolerance(1, 0, 0.15, "positions, and the last bit of a float"),
    ("warp", torch.int32): Tolerance(1, 0, 0.15, "positions, and the last bit of a float"),
    ("warp", torch.float32): Tolerance(
        1e-2, 0, 1, "DALI's positions are off by up to 1e-5 in 30 pixels; data span 320"
    ),
    ("convolve", torch.uint8): Tolerance(
        1, 0, 0.03, "halves, which the last bit of a float decides"
    ),
    ("convolve", torch.int8): Tolerance(1, 0, 0.03, "the same"),
    ("convolve", torch.int16): Tolerance(1, 0, 0.15, "the last bit of a float"),
    ("convolve", torch.uint16): Tolerance(1, 0, 0.15, "the last bit of a float"),
    ("convolve", torch.float32): Tolerance(0.05, 1e-5, 1, "sums of floats in another order"),
    ("normalize", torch.float32): Tolerance(
        1e-5, 1e-6, 1, "DALI folds `shift` into another constant: the last bit may differ"
    ),
    ("reduction", torch.float32): Tolerance(
        0, 3e-6, 1, "DALI adds up in float32, we in integers and float64"
    ),
    ("affine", torch.float32): Tolerance(
        1e-5, 2e-6, 1, "sums of a few products of float32, added up in another order"
    ),
    ("standardize", torch.float32): Tolerance(
        2e-5, 5e-6, 1, "DALI takes mean and variance in float32, we in integers and float64"
    ),
    **{
        ("standardize", dtype): Tolerance(1, 0, 0.02, "the float32 difference, at halves")
        for dtype in (torch.uint8, torch.uint16, torch.uint32, torch.int8, torch.int16, torch.int32)
    },
    ("normalize", torch.float16): Tolerance(
        1e-3, 2**-10, 1, "the float32 difference, and ties as in float16_ties"
    ),
    ("color", torch.uint8): Tolerance(1, 0, 0.01, "the last bit of a float decides halves"),
    ("color", torch.int16): Tolerance(1, 0, 0.01, "the last bit of a float decides halves"),
    ("color", torch.int32): Tolerance(2**10, 0, 1, "2^-21 of the range: large terms cancel"),
    ("resample_signal", torch.float32): Tolerance(
        3e-4, 0, 1, "DALI adds up positions in float32: docs/design/audio.md"
    ),
    **{
        ("resample_signal", dtype): Tolerance(1, 0, 0.05, "the last bit of a float decides halves")
        for dtype in (torch.int8, torch.uint8, torch.int16, torch.uint16)
    },
    **{
        ("resample_signal", dtype): Tolerance(2**11, 0, 1, "2^-20 of the range: sums of floats")
        for dtype in (torch.int32, torch.uint32)
    },
    ("mel", torch.float32): Tolerance(1e-9, 1e-4, 1, "DALI computes weights in float32"),
    ("decibels", torch.float32): Tolerance(3e-5, 3e-6, 1, "DALI's logarithm, near 0 dB"),
    ("dct", torch.float32): Tolerance(3e-3, 1e-5, 1, "1e-6 of the sum of 80 values up to 60"),
    ("preemphasis", torch.float32): Tolerance(1e-4, 1e-6, 1, "a fused multiplication and addition"),
    ("preemphasis", torch.float64): Tolerance(1e-12, 1e-6, 1, "the same"),
    ("jpeg", torch.uint8): Tolerance(2, 0, 0.05, "another version of libjpeg-turbo"),
    ("color", torch.float32): Tolerance(3e-4, 1e-6, 1, "the last bits of a float matrix"),
    ("spectrum", torch.float32): Tolerance(
        1e-4, 1e-4, 1, "float32 transforms by other algorithms; small values among great ones"
    ),
    ("video", torch.uint8): Tolerance(
        3,
        0,
        1,
        "DALI converts with libswscale's tables, which round each term: docs/design/video.md",
    ),
    ("color", torch.float16): Tolerance(1e-3, 2**-10, 1, "the same, and ties as in float16_ties"),
}

# Operators whose outputs have a layout, which DALI 1.35 forgets.
KEEP_LAYOUTS = {"mel_filter_bank", "to_decibels", "mfcc", "preemphasis_filter", "decoders.video"}


def check(actual: torch.Tensor, expected: torch.Tensor, algorithm: str) -> None:
    """Fails where a sample is further from DALI's than the table allows."""
    assert actual.dtype == expected.dtype
    assert tuple(actual.shape) == tuple(expected.shape)
    tolerance = TOLERANCES.get((algorithm, actual.dtype), EXACT)
    if tolerance is EXACT:
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
        return
    a, b = actual.double(), expected.double()
    torch.testing.assert_close(
        a, b, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True
    )
    differing = ((a != b) & ~(a.isnan() & b.isnan())).double().mean().item() if a.numel() else 0.0
    assert differing <= tolerance.differing, f"{differing:.1%} of the values differ"


@pytest.mark.parametrize("op", parameters(CASES))
def test_results_equal_dali(op):
    def compare(case: OpCase) -> None:
        run = run_case(case)
        outputs = run_dali(case, num_outputs=len(run.layouts))
        for ours, layout, theirs in zip(run.samples(), run.layouts, outputs, strict=True):
            assert layout == theirs.layout or (case.op in KEEP_LAYOUTS and not theirs.layout)
            for actual, expected in zip(ours, theirs.samples, strict=True):
                check(actual, expected, case.algorithm)

    check_each(CASES[op], compare)


def test_every_algorithm_has_a_tolerance():
    known = {"exact"} | {algorithm for algorithm, _ in TOLERANCES}
    assert {case.algorithm for case in all_cases()} <= known
