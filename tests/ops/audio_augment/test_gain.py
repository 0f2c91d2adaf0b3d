# SPDX-License-Identifier: Apache-2.0
"""fn.gain: makes signals louder or quieter, by a factor or to a level."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_op

OP = "gain"


def signal(index: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(index)) * 0.3


def case(layout: str, shape: tuple[int, ...], args=None, **options) -> OpCase:
    options.setdefault("make", lambda index: signal(index, *shape))
    return OpCase(OP, layout, None, args or {}, no_parity="DALI has no such operator", **options)


CASES = [
    case("t", (1000,)),
    case("t", (1000,), {"db": -6.0}),
    case("t", (1000,), {"db": 20.0, "clip": True}),
    case("t", (1000,), {"factor": -0.5}),
    case("tc", (500, 2), {"factor": 3.0, "db": -3.0, "clip": True}),
    case("tc", (20_001, 2), {"normalize": "rms", "db": -20.0}),
    case("t", (20_001,), {"normalize": "peak"}),
    case("t", (1000,), {"normalize": "peak", "db": 3.0, "clip": True}),
    case("t", (0,), {"normalize": "rms"}),
    case("", (), {"db": 6.0}),
    case("t", (900,), {"normalize": "rms"}, make=lambda _: torch.zeros(900)),
    case("t", (900,), {"db": PerSample([-6.0, 6.0]), "factor": PerSample([1.0, 0.5, 0.0])}),
]


@for_each("case", CASES)
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        args = {
            n: float(a.at(index)) if isinstance(a, PerSample) else a for n, a in case.args.items()
        }
        x = case.input(index).numpy()
        wide = x.astype(np.float64)
        by = args.get("factor", 1.0) * 10 ** (args.get("db", 0.0) / 20)
        normalize = args.get("normalize", "none")
        if normalize != "none" and x.size and x.any():
            by /= np.abs(wide).max() if normalize == "peak" else math.sqrt((wide**2).mean())
        expected = x * np.float32(by)
        if args.get("clip"):
            expected = expected.clip(-1, 1)
        np.testing.assert_allclose(actual.numpy(), expected, rtol=2e-7, atol=0)


def test_levels_are_those_asked_for():
    x = signal(3, 40_000)
    loud = run_op(OP, x, layout="t", normalize="rms", db=-26.0).double()
    assert 20 * math.log10(loud.square().mean().sqrt()) == pytest.approx(-26, abs=1e-5)
    loud = run_op(OP, x, layout="t", normalize="peak", db=-1.0)
    assert 20 * math.log10(loud.abs().max()) == pytest.approx(-1, abs=1e-5)


def test_values_that_are_no_numbers():
    x = torch.tensor([math.nan, math.inf, -math.inf, 0.5])
    out = run_op(OP, x, layout="t", db=20.0, clip=True).tolist()
    assert math.isnan(out[0])
    assert out[1:] == [1.0, -1.0, 1.0]
    # The largest absolute value ignores NaN.
    assert run_op(OP, x[::3].contiguous(), layout="t", normalize="peak")[1] == 1.0


@for_each(
    ("args", "message"),
    [
        ({"normalize": "lufs"}, '`normalize` is "lufs", expected "none", "peak" or "rms"'),
        ({"db": math.inf}, "`db` is inf and `factor` is 1, which is no finite gain"),
        ({"db": torch.tensor(math.nan)}, "`db` is nan"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, signal(1, 5), layout="t", **args)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="input `audio` is int16, expected float32"):
        run_op(OP, torch.zeros(5, dtype=torch.int16), layout="t")
