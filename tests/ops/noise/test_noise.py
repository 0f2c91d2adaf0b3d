# SPDX-License-Identifier: Apache-2.0
"""fn.noise.gaussian, fn.noise.salt_and_pepper and fn.noise.shot: laws, distributions, seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali import fn, pipeline_def

OPERATORS = ["noise.gaussian", "noise.salt_and_pepper", "noise.shot"]

GAUSSIAN, SALT, SHOT = "noise.gaussian", "noise.salt_and_pepper", "noise.shot"
NO_PARITY = "random values: DALI draws others; its laws are tested here"
DTYPES = [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16]
DTYPES += [torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, torch.bool]


def case(op: str, layout: str, shape, args=None, **options) -> OpCase:
    return OpCase(op, layout, shape, args or {}, no_parity=NO_PARITY, **options)


CASES = [
    case(op, "HWC", (5, 61, 3), dtype=dtype) for op in (GAUSSIAN, SALT, SHOT) for dtype in DTYPES
]
CASES += [case(op, "FHWC", (2, 9, 7, 3)) for op in (GAUSSIAN, SALT, SHOT)]
CASES += [case(op, "", (), batch=2) for op in (GAUSSIAN, SALT, SHOT)]
CASES += [case(op, "HWC", (0, 7, 3)) for op in (GAUSSIAN, SALT, SHOT)]
CASES += [
    case(
        GAUSSIAN,
        "HWC",
        [(5, 61, 3), (9, 7, 1)],
        {"mean": PerSample([5.0, -9.0]), "stddev": PerSample([3.0, 50.0, 0.0])},
    ),
    case(SALT, "HWC", (70, 61, 3), {"prob": 0.5, "per_channel": True}),
    case(SALT, "HWC", (70, 61, 4), {"prob": 0.5, "salt_val": 300.0, "pepper_val": 7.5}),
    case(SALT, "CHW", (3, 9, 61), {"prob": 0.5, "salt_vs_pepper": 0.9}, dtype=torch.int16),
    case(SALT, "FCHW", (2, 3, 9, 61), {"prob": 0.5}),
    case(SALT, "HW", (9, 61), {"prob": 0.5}),
    case(
        SALT,
        "HWC",
        [(5, 61, 3), (9, 7, 1)],
        {
            "prob": PerSample([0.1, 0.9]),
            "salt_vs_pepper": PerSample([0.2, 1.0]),
            "salt_val": PerSample([200.0, 3.0]),
            "pepper_val": PerSample([1.0, 2.0]),
        },
    ),
    case(SHOT, "HWC", (128, 128, 3), {"factor": 5.0}),
    case(SHOT, "HWC", (128, 128, 3), {"factor": 5.0}, dtype=torch.int8),
    case(SHOT, "HWC", [(5, 61, 3), (9, 7, 1)], {"factor": PerSample([20.0, 0.0, 0.01])}),
]


def flat(value: float, count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full((count,), value, dtype=dtype)


# Kolmogorov and Smirnov: 2.2 / sqrt(n) is exceeded by one seed in 10,000.
def assert_distribution(values: np.ndarray, cdf: np.ndarray) -> None:
    """Compares the distribution function of sorted values with the expected one."""
    assert np.abs(cdf - (np.arange(values.size) + 0.5) / values.size).max() < 2.2 / math.sqrt(
        values.size
    )


def test_gaussian_noise_is_normal():
    noisy = run_op(GAUSSIAN, flat(7.0, 200_000), mean=3.0, stddev=2.0, pipeline_seed=5)
    z = ((noisy.double() - 10) / 2).sort().values
    assert_distribution(z.numpy(), (0.5 * (1 + torch.erf(z / math.sqrt(2)))).numpy())
    assert abs(z.mean()) < 0.01
    assert abs(z.var() - 1) < 0.02
    assert abs((z**3).mean()) < 0.03
    assert abs((z**4).mean() - 3) < 0.1


def test_gaussian_noise_of_neighbors_is_independent():
    noise = run_op(GAUSSIAN, flat(0.0, 200_000), pipeline_seed=6).double()
    for distance in (1, 2, 64, 128, 192, 256):
        assert abs((noise[distance:] * noise[:-distance]).mean()) < 0.01
        assert abs((noise[distance:] ** 2 * noise[:-distance] ** 2).mean() - 1) < 0.05


def test_noise_keeps_all_digits_of_wide_integers():
    x = flat(2**40 + 1, 100, torch.int64)
    assert torch.equal(run_op(GAUSSIAN, x, stddev=0.0), x)
    assert (run_op(GAUSSIAN, x) - x).abs().max() < 7


def test_salt_and_pepper_have_the_requested_frequency():
    x = flat(100, 200_000, torch.uint8)
    noisy = run_op(SALT, x, layout="X", prob=0.3, salt_vs_pepper=0.9, pipeline_seed=3)
    shares = [(noisy == value).double().mean().item() for value in (0, 100, 255)]
    for share, expected in zip(shares, (0.03, 0.7, 0.27), strict=True):
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / 200_000)


@pytest.mark.parametrize(
    ("layout", "shape", "axis"),
    [
        ("HWC", (40, 50, 3), 2),
        ("CHW", (3, 40, 50), 0),
        ("FCHW", (2, 3, 40, 50), 1),
        ("", (900, 5), 1),
    ],
)
def test_per_channel_false_changes_whole_pixels(layout, shape, axis):
    x = torch.full(shape, 100, dtype=torch.uint8)
    kinds = run_op(SALT, x, layout=layout, prob=0.5)
    assert kinds.unique().tolist() == [0, 100, 255]
    assert torch.equal(kinds, kinds.narrow(axis, 0, 1).expand(shape))
    alone = run_op(SALT, x, layout=layout, prob=0.5, per_channel=True)
    assert not torch.equal(alone, alone.narrow(axis, 0, 1).expand(shape))


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"prob": 0.0}, {100}),
        ({"prob": 1.0}, {0, 255}),
        ({"prob": 1.0, "salt_vs_pepper": 1.0}, {255}),
        ({"prob": 1.0, "salt_vs_pepper": 0.0}, {0}),
        ({"prob": 1.0, "salt_val": 300.0, "pepper_val": 7.5}, {8, 255}),
    ],
)
def test_probability_one_changes_every_value(args, expected):
    assert set(run_op(SALT, flat(100, 5000, torch.uint8), layout="X", **args).tolist()) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_salt_and_pepper_of_floating_types_are_one_and_minus_one(dtype):
    values = run_op(SALT, flat(0.5, 5000, dtype), layout="X", prob=0.5).unique().tolist()
    assert values == [-1.0, 0.5, 1.0]


@for_each(
    ("value", "factor", "dtype"),
    [
        (100, 20.0, torch.uint8),
        (30, 2.0, torch.uint8),
        (40, 4.0, torch.int8),
        (100, 20.0, torch.float32),
        (9, 0.5, torch.float32),
        (300, 1.0, torch.float32),
        (3, 0.001, torch.float64),
    ],
)
def test_shot_noise_has_a_poisson_distribution(value, factor, dtype):
    count = 100_000
    noisy = run_op(SHOT, flat(value, count, dtype), factor=factor, pipeline_seed=4)
    draws, mean = np.round(noisy.double().numpy() / factor), value / factor
    assert abs(draws.mean() - mean) < 4 * math.sqrt(mean / count)
    assert abs(draws.var() - mean) < 6 * math.sqrt((2 * mean**2 + mean) / count)
    k = np.arange(int(mean + 20 * math.sqrt(mean)) + 20)
    logs = np.log(mean) - np.log(np.maximum(k, 1))
    logs[0] = -mean
    seen = np.searchsorted(np.sort(draws), k, side="right") / count
    assert np.abs(seen - np.cumsum(np.exp(np.cumsum(logs)))).max() < 2.2 / math.sqrt(count)


def test_shot_noise_has_the_documented_factor_by_default():
    """DALI 1.35 documents 20, too, and uses 12."""
    x = flat(100, 1000, torch.float32)
    assert torch.equal(run_op(SHOT, x, seed=3), run_op(SHOT, x, seed=3, factor=20.0))


def test_shot_noise_of_bytes_equals_that_of_floats():
    """Bytes use tables, floats the general sampler."""
    x = torch.arange(256, dtype=torch.uint8).repeat(1000)
    for factor in (0.3, 3.0, 40.0):
        bytes_ = run_op(SHOT, x, factor=factor).reshape(-1, 256).double()
        floats = run_op(SHOT, x.float(), factor=factor).reshape(-1, 256).double()
        floats = floats.add(0.5).floor().clamp(0, 255)
        spread = (factor * torch.arange(256)).sqrt() + 0.3
        assert ((bytes_.mean(0) - floats.mean(0)).abs() < 6 * spread / math.sqrt(500)).all()
        assert (bytes_[:, 0] == 0).all()


def test_shot_noise_of_zero_is_zero():
    x = torch.tensor([-5.0, 0.0, math.nan, math.inf, 1e30])
    noisy = run_op(SHOT, x).tolist()
    assert noisy[:2] == [0.0, 0.0]
    assert math.isnan(noisy[2])
    assert noisy[3] == math.inf
    assert noisy[4] == pytest.approx(1e30, rel=1e-3)
    assert torch.equal(run_op(SHOT, x[:2], factor=0.0), x[:2])


def test_values_of_a_seed_equal_the_golden_values():
    gaussian = run_op(GAUSSIAN, flat(0.0, 300), seed=1234)
    assert [round(v, 5) for v in gaussian[[0, 1, 64, 128, 299]].tolist()] == GOLDEN_GAUSSIAN
    salt = run_op(SALT, flat(9, 60, torch.uint8), layout="X", seed=1234, prob=0.5)
    assert salt[:20].tolist() == GOLDEN_SALT
    shot = run_op(SHOT, flat(90, 40, torch.uint8), seed=1234, factor=5.0)
    assert shot[:12].tolist() == GOLDEN_SHOT
    shot = run_op(SHOT, flat(90, 40_000, torch.uint8), seed=1234, factor=5.0)
    assert shot[:12].tolist() == GOLDEN_SHOT_TABLE
    assert run_op(SHOT, flat(9.0, 6), seed=1234, factor=5.0).tolist() == GOLDEN_SHOT_RARE


GOLDEN_GAUSSIAN = [1.22916, -0.2859, -1.61649, 0.46462, -0.83892]
GOLDEN_SALT = [255, 9, 9, 9, 0, 9, 0, 0, 9, 9, 0, 9, 9, 255, 9, 9, 9, 255, 255, 9]
GOLDEN_SHOT = [60, 110, 90, 100, 75, 90, 85, 80, 95, 105, 100, 95]
GOLDEN_SHOT_TABLE = [65, 110, 90, 100, 75, 135, 85, 80, 90, 105, 85, 95]
GOLDEN_SHOT_RARE = [0.0, 15.0, 10.0, 10.0, 5.0, 25.0]


def test_samples_of_a_stream_differ():
    noisy = run_case(case(GAUSSIAN, "X", (50,), batch=4, make=lambda _: flat(0.0, 50))).samples()[0]
    assert len({tuple(sample.tolist()) for sample in noisy}) == 4


@for_each(
    ("op", "args", "message"),
    [
        (SALT, {"prob": 1.5}, "`prob` is 1.5, expected 0 to 1"),
        (SALT, {"prob": math.nan}, "`prob` is nan, expected 0 to 1"),
        (SALT, {"salt_vs_pepper": -0.5}, "`salt_vs_pepper` is -0.5, expected 0 to 1"),
        (SHOT, {"factor": -1.0}, "`factor` is -1, expected a finite number"),
        (SHOT, {"factor": math.inf}, "`factor` is inf, expected a finite number"),
        (SHOT, {"factor": torch.tensor(math.nan)}, "`factor` is nan, expected a finite number"),
    ],
)
def test_unsuitable_inputs_are_errors(op, args, message):
    with pytest.raises(ValueError, match=message):
        run_op(op, flat(1.0, 4), **args)


@pytest.mark.parametrize("value", [math.nan, math.inf, 3e38])
def test_infinite_noise_saturates(value):
    for dtype in DTYPES:
        for args in ({"mean": value}, {"stddev": value}):
            assert run_op(GAUSSIAN, flat(1, 300, dtype), **args).shape == (300,)


@for_each("shape", [(), (1,), (15,), (16,), (17,), (256,), (300,), (40, 70, 3)])
@for_each("dtype", [torch.float32, torch.uint8, torch.int16])
def test_gaussian_noise_is_that_of_random_normal(shape, dtype):
    @pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=5)
    def definition():
        data = fn.external_source(lambda: [torch.full(shape, 100, dtype=dtype)] * 3)
        noise = {"mean": 2.5, "stddev": fn.random.uniform(range=[1.0, 9.0]), "seed": 8}
        added = data + fn.random.normal(data, **noise)
        return fn.noise.gaussian(data, **noise), fn.cast_like(added, data)

    pipe = definition()
    for _ in range(2):
        noisy, expected = (output.as_tensor().as_torch() for output in pipe.run())
        assert torch.equal(noisy, expected)
