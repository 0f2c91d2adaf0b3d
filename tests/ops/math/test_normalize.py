# SPDX-License-Identifier: Apache-2.0
"""fn.normalize: subtracts a mean and divides by a standard deviation."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import random_tensor
from helpers.ops import OpCase, PerSample, run_case, run_op
from helpers.reference import convert
from hypothesis import given
from hypothesis import strategies as st

from torchdali import Pipeline, fn, types

OP = "normalize"
DTYPES = [torch.uint16, torch.uint32, torch.int8, torch.int16, torch.int32, torch.float32]
# DALI rejects these.
MORE_DTYPES = [torch.uint64, torch.int64, torch.float16, torch.float64, torch.bool]
OUT_DTYPES = [types.UINT16, types.UINT32, types.INT8, types.INT16, types.INT32]
MORE_OUT_DTYPES = [types.UINT64, types.INT64, types.FLOAT16, types.FLOAT64, types.BOOL]
NO_DTYPE = "DALI refuses the type"


def case(layout="HWC", shape=(9, 14, 3), args=None, **more):
    args = args or {}
    batch = args.get("batch", False)
    return OpCase(OP, layout, shape, args, algorithm="standardize", sees_batch=batch, **more)


def filled(shape, value):
    return torch.full(shape, value) + torch.arange(math.prod(shape)).reshape(shape) / 8


CASES = [
    case(args=args)
    for args in [
        {},
        {"axes": [0, 1]},
        {"axes": 2},
        {"axes": [0, 2], "ddof": 1},
        {"axes": [0, 1], "batch": True},
        {"axis_names": "HW", "epsilon": 100.0, "scale": 60.0, "shift": -3.5},
        {"axis_names": "W", "mean": 100.0},
        {"axis_names": "WC", "stddev": 20.0, "batch": True},
        {"mean": 100.0, "stddev": 2.0},
        {"mean": 100.0, "stddev": -2.0, "batch": True},
        {"stddev": 20.0, "epsilon": 10.0},
        {"mean": 90.0, "batch": True, "ddof": 1},
        {"ddof": 9 * 14 * 3},
        {"mean": PerSample([filled((1, 1, 3), 100.0)])},
        {"mean": PerSample([filled((1, 1, 3), 100.0), filled((1, 1, 3), 90.0)]), "axes": [0, 1]},
        {"stddev": PerSample([filled((9, 1, 1), 30.0)])},
        {
            "mean": PerSample([filled((1, 14, 3), 0.0)]),
            "stddev": PerSample([filled((1, 14, 3), 0.0)]),
        },
        {"mean": PerSample([filled((1, 14, 3), 9.0)]), "stddev": 7.0, "epsilon": 3.0},
        {"stddev": PerSample([filled((1, 1, 3), 0.0)]), "axes": [0, 1], "epsilon": 3.0},
    ]
]
CASES += [
    case(shape=[(9, 14, 3), (20, 30, 3), (5, 5, 3)], args=args)
    for args in [{}, {"axes": [0, 1]}, {"axes": [0, 1], "batch": True}, {"batch": True}]
]
CASES += [
    case("FDHWC", (2, 3, 4, 5, 3), {"axis_names": "DHW"}),
    case("CHW", (3, 20, 30), {"axis_names": "HW"}),
    case("CHW", (3, 20, 100), {"axis_names": "HW", "batch": True}),
    case("ABCD", (3, 4, 5, 6), {"axes": [0, 2]}),
    case("ABCD", (3, 4, 5, 6), {"axes": [1, 3]}),
    case("", (7, 3000), {"axes": 0}),
    case("", (7, 3000), {"axes": 1}),
    case("", (0, 3)),
    case("", (0, 3), {"axes": 0}),
    case("", (3, 1, 1), {"axes": [1]}),
]
CASES += [case(args={"axes": [0, 1]}, dtype=dtype) for dtype in DTYPES]
CASES += [case(args={"axes": [0, 1]}, dtype=dtype, no_parity=NO_DTYPE) for dtype in MORE_DTYPES]
CASES += [
    case(args={"scale": 60.0, "shift": 128.0, "dtype": dtype}, no_parity=reason)
    for dtypes, reason in [([types.UINT8, *OUT_DTYPES], ""), (MORE_OUT_DTYPES, NO_DTYPE)]
    for dtype in dtypes
]
CASES += [
    case(args={"mean": PerSample([100.0, 90.0]), "axes": [0, 1]}, no_parity="DALI takes no 0-D"),
    case(args={"axes": [-3, -2]}, no_parity="DALI takes no negative axes"),
]


def reference(x: torch.Tensor, args: dict[str, object], layout: str, index: int) -> torch.Tensor:
    axes = args.get("axes", range(x.ndim))
    axes = [layout.index(n) for n in args["axis_names"]] if "axis_names" in args else axes
    axes = [axes] if isinstance(axes, int) else list(axes)
    given = {n: args[n].at(index) for n in ("mean", "stddev") if isinstance(args.get(n), PerSample)}
    if "axes" not in args and given:
        shape = next(iter(given.values())).shape
        axes = [i for i, extent in enumerate(shape) if extent == 1]
    given = {
        n: torch.as_tensor(args[n]) for n in ("mean", "stddev") if n in args.keys() - given
    } | given
    x, count = x.float().double(), math.prod(x.shape[a] for a in axes)
    mean = given["mean"].double() if "mean" in given else x.mean(dim=axes, keepdim=True).float()
    epsilon = args.get("epsilon", 0.0)
    if "stddev" in given:
        stddev = given["stddev"].double()
        stddev = (stddev**2 + epsilon).sqrt() if epsilon else stddev
    else:
        square = ((x - mean) ** 2).sum(dim=axes, keepdim=True)
        divisor = count - args.get("ddof", 0)
        stddev = (square / divisor + epsilon).sqrt() if divisor > 0 else torch.zeros(1)
    factor = torch.where(stddev == 0, 0.0, args.get("scale", 1.0) / stddev)
    return (x - mean) * factor + args.get("shift", 0.0)


@for_each("case", [c for c in CASES if "batch" not in c.args])
def test_matches_reference(case):
    for index, actual in enumerate(run_case(case).samples()[0]):
        x = case.input(index)
        if not x.numel():
            continue
        expected = reference(x, case.args, case.layout, index)
        if actual.dtype.is_floating_point:
            tolerance = 2e-3 if actual.dtype == torch.float16 else 2e-5
            torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=tolerance)
        else:
            difference = actual.double() - convert(expected.float(), actual.dtype).double()
            assert difference.abs().max() <= 1


def test_batch_normalization_equals_that_of_the_joined_samples():
    samples = [random_tensor((h, 8, 3), torch.float32, h) for h in (3, 9, 5)]
    whole = run_op(OP, torch.cat(samples), axes=[0, 1], ddof=1)
    parts = run_op(OP, samples, axes=[0, 1], ddof=1, batch=True)
    torch.testing.assert_close(torch.cat(parts), whole, rtol=1e-6, atol=1e-6)


@given(
    shape=st.tuples(st.integers(1, 6), st.integers(1, 80), st.integers(1, 5)),
    axes=st.sets(st.integers(0, 2), min_size=1),
    dtype=st.sampled_from([torch.uint8, torch.int16, torch.float32]),
)
def test_normalized_data_has_mean_0_and_variance_1(shape, axes, dtype):
    x = random_tensor(shape, dtype, 5)
    y = run_op(OP, x, axes=sorted(axes)).double()
    mean = y.mean(dim=sorted(axes))
    variance = (y**2).mean(dim=sorted(axes))
    torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0, atol=1e-4)
    constant = x.double().var(dim=sorted(axes), correction=0) == 0
    torch.testing.assert_close(
        variance[~constant], torch.ones_like(variance[~constant]), rtol=1e-5, atol=0
    )


def test_the_mean_of_a_sequence_covers_all_its_frames():
    x = random_tensor((2, 4, 5, 3), torch.float32, 1)
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        data = fn.external_source(name="x", layout="FHWC")
        mean = fn.reductions.mean(data, axis_names="HW", keep_dims=True)
        pipe.set_outputs(fn.normalize(data, axis_names="HW", mean=mean))
    pipe.build()
    pipe.feed_input("x", [x])
    (out,) = pipe.run()
    expected = (x - x.mean(dim=(1, 2), keepdim=True)) / x.std(
        dim=(1, 2), correction=0, keepdim=True
    )
    torch.testing.assert_close(out.as_torch_list()[0], expected, rtol=1e-5, atol=1e-5)
    pipe.close()


def test_constant_data_becomes_the_shift():
    x = torch.full((5, 7), 7.1)
    assert run_op(OP, x, shift=3.0).unique().tolist() == [3.0]
    assert run_op(OP, x, axes=1, stddev=torch.zeros(5, 1), mean=1.0).unique().tolist() == [0.0]


@for_each(
    ("args", "message"),
    [
        ({"axes": []}, "`axes` is an empty list"),
        ({"axes": [0, 0]}, "axis 0 is named twice"),
        ({"axes": [3]}, "`axes` has 3, expected an axis"),
        ({"axis_names": "Q"}, '`axis_names` has "Q"'),
        ({"axis_names": "H", "axes": [0]}, "`axes` excludes `axis_names`"),
        ({"axes": [0], "mean": 1.0, "stddev": 1.0}, "have no meaning"),
        ({"batch": True, "mean": torch.zeros(1, 1, 4)}, "`batch` excludes tensors"),
        ({"axes": [0], "mean": torch.zeros(1, 1, 4)}, r"expected \[1, 3, 4\]"),
        ({"mean": torch.zeros(1, 2, 4)}, r"`mean` has shape \[1, 2, 4\], expected \[1, 3, 4\]"),
        ({"mean": torch.zeros(4)}, r"`mean` has shape \[4\], expected \[1, 1, 1\]"),
        (
            {"mean": torch.zeros(1, 1, 4), "stddev": torch.zeros(1, 3, 1)},
            r"`stddev` has shape \[1, 3, 1\], expected \[1, 1, 4\]",
        ),
    ],
)
def test_wrong_arguments_are_errors_that_name_them(args, message):
    with pytest.raises(ValueError, match=message):
        run_op(OP, torch.zeros(2, 3, 4), layout="HWC", **args)


def test_batches_of_incompatible_samples_are_errors():
    with pytest.raises(ValueError, match=r"sample 1 has shape \[2, 4\], one before it \[2, 3\]"):
        run_op(OP, [torch.zeros(2, 3), torch.zeros(2, 4)], axes=0, batch=True)


def test_arrays_as_arguments_apply_to_every_sample():
    x = random_tensor((4, 5, 3), torch.uint8, 1)
    mean = torch.tensor([[[1.0, 2.0, 3.0]]])
    pipe = Pipeline(2, 1, device_id=None)
    with pipe:
        data = fn.external_source(source=lambda: [x, x], batch=True, layout="HWC")
        args = {"mean": mean.numpy(), "stddev": torch.full((1, 1, 3), 2.0)}
        pipe.set_outputs(fn.normalize(data, axes=[0, 1], **args))
    pipe.build()
    for sample in pipe.run()[0].as_torch_list():
        torch.testing.assert_close(sample, (x - mean) / 2)
    pipe.close()
