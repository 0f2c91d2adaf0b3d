# SPDX-License-Identifier: Apache-2.0
"""fn.mel_filter_bank: from frequencies to bands on the mel scale."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, run_case, run_op

from torchdali.errors import LayoutError

SLANEY = {"nfilter": 80, "sample_rate": 16000.0}


def powers(shape):
    return lambda i: torch.rand(shape, generator=torch.Generator().manual_seed(i)) * (10.0**i)


CASES = [
    OpCase("mel_filter_bank", layout, make=powers(shape), args=args, algorithm="mel")
    for layout, shape, args in [
        ("ft", (257, 37), SLANEY),
        ("tf", (37, 257), SLANEY),
        ("", (257, 16), {**SLANEY, "mel_formula": "htk", "normalize": False}),
        ("", (2, 65, 5), {"nfilter": 8, "normalize": False}),
        ("", (2, 3, 33, 4), {"nfilter": 8}),
        ("tfc", (5, 33, 2), {"nfilter": 8}),
        ("", (1025,), {}),
        ("ft", (129, 3), {"nfilter": 12, "freq_low": 50.0, "freq_high": 7600.0}),
        ("ft", (130, 3), {"nfilter": 5, "freq_high": 30000.0}),  # above half of the rate
        ("ft", (33, 3), {"nfilter": 5, "freq_high": -1.0}),
        ("ft", (17, 20), {"nfilter": 64}),  # filters without a frequency
        ("ft", (2, 3), {"nfilter": 4}),
        ("ft", (1, 3), {"nfilter": 4}),
        ("ft", (33, 0), {"nfilter": 4}),
    ]
]
CASES += [
    OpCase("mel_filter_bank", "ft", (0, 5), {"nfilter": 4}, torch.float32).replace(
        no_parity="DALI leaves the output as it is"
    ),
    OpCase(
        "mel_filter_bank",
        "ft",
        make=lambda i: powers((33 + 10 * i, 4 + i))(i),
        args={"nfilter": 8},
        algorithm="mel",
    ),
]


def hz_of(mel: np.ndarray, formula: str) -> np.ndarray:
    if formula == "htk":
        return 700 * (10 ** (mel / 2595) - 1)
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def mel_of(hz: np.ndarray, formula: str) -> np.ndarray:
    if formula == "htk":
        return 2595 * np.log10(1 + hz / 700)
    return np.where(
        hz < 1000, hz * 3 / 200, 15 + np.log(np.maximum(hz, 1) / 1000) * 27 / np.log(6.4)
    )


def filters(bins: int, args) -> np.ndarray:
    """The filters as in librosa.filters.mel and torchaudio.functional.melscale_fbanks."""
    rate, formula = args.get("sample_rate", 44100.0), args.get("mel_formula", "slaney")
    low, high = args.get("freq_low", 0.0), args.get("freq_high", 0.0)
    high = high if high > 0 else rate / 2
    count = args.get("nfilter", 128)
    ends = mel_of(np.array([low, high]), formula)
    hz = hz_of(np.linspace(ends[0], ends[1], count + 2), formula)
    at = np.linspace(0, rate / 2, bins)
    rising = (at - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    falling = (hz[2:, None] - at) / (hz[2:] - hz[1:-1])[:, None]
    weights = np.maximum(0, np.minimum(rising, falling))
    if args.get("normalize", True):
        weights *= 2 / (hz[2:] - hz[:-2])[:, None]
    return weights


@for_each("case", [case for case in CASES if 0 not in case.input().shape])
def test_matches_reference(case):
    for i, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(i).double().numpy()
        axis = case.layout.find("f") if case.layout else max(x.ndim - 2, 0)
        weights = filters(x.shape[axis], case.args)
        expected = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-12)


# Hz -> mel. Slaney: librosa.hz_to_mel's documentation has 60 Hz = 0.9 and 440 Hz = 6.6.
# HTK: 1000 Hz are 1000 mel, by its definition.
@for_each(
    "formula, hz, mel",
    [("slaney", 60, 0.9), ("slaney", 440, 6.6), ("slaney", 6400, 42), ("htk", 1000, 999.9855)],
)
def test_scales(formula, hz, mel):
    """A filter bank of one filter has its peak in the middle of the scale."""
    high = float(hz_of(np.array(2.0 * mel), formula))
    size = 20001
    out = run_op(
        "mel_filter_bank",
        torch.eye(size)[:, round(hz / high * (size - 1)) + torch.arange(-3, 4)],
        layout="ft",
        nfilter=1,
        sample_rate=2 * high,
        normalize=False,
        mel_formula=formula,
    )
    assert out.max() == pytest.approx(1, abs=1e-3)
    assert abs(int(out.argmax()) - 3) <= 1


@for_each("layout, axis", [("ft", 0), ("tf", 1)])
def test_neighbours_add_up_to_one(layout, axis):
    out = run_op("mel_filter_bank", torch.eye(257), layout=layout, **SLANEY, normalize=False).sum(
        axis
    )
    hz = torch.linspace(0, 8000, 257)
    peaks = hz_of(np.linspace(0, mel_of(np.array(8000.0), "slaney"), 82), "slaney")
    inside = (hz >= peaks[1]) & (hz <= peaks[-2])
    torch.testing.assert_close(out[inside], torch.ones(int(inside.sum())))


def test_is_linear():
    a, b = powers((129, 20))(0), powers((129, 20))(1)
    both = [run_op("mel_filter_bank", x, layout="ft", nfilter=20) for x in (a, b, 2 * a + b)]
    torch.testing.assert_close(2 * both[0] + both[1], both[2], rtol=1e-5, atol=0)


@for_each(
    "args, text",
    [
        ({"nfilter": 0}, "`nfilter` is 0, expected a number from 1"),
        ({"sample_rate": 0.0}, "`sample_rate` is 0, expected a positive"),
        ({"freq_low": -1.0}, "`freq_low` is -1, expected at least 0"),
        ({"freq_low": 9000.0, "freq_high": 8000.0}, r"`freq_high` is 8000 .*`freq_low` \(9000"),
        ({"mel_formula": "HTK"}, 'is "HTK", expected "slaney" or "htk"'),
    ],
)
def test_wrong_arguments(args, text):
    with pytest.raises(ValueError, match=text):
        run_op("mel_filter_bank", torch.ones(9, 2), layout="ft", **args)


def test_wrong_inputs():
    with pytest.raises(LayoutError, match='layout "HW", expected one with the axis "f"'):
        run_op("mel_filter_bank", torch.ones(9, 2), layout="HW")
    with pytest.raises(TypeError, match="is int32, expected float32"):
        run_op("mel_filter_bank", torch.ones(9, 2, dtype=torch.int32), layout="ft")
    with pytest.raises(ValueError, match="is a scalar"):
        run_op("mel_filter_bank", torch.tensor(1.0))
