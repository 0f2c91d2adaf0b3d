# SPDX-License-Identifier: Apache-2.0
"""fn.tensor_resize: any axes of a tensor."""

from __future__ import annotations

import itertools

import pytest
import torch
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op

from torchdali import types
from torchdali.errors import LayoutError

OP = "tensor_resize"
FLOAT = torch.float32
MORE = "DALI resizes at most three axes that follow one another"


FIRST = "DALI 1.35 resizes only the first sample of a batch"


def case(shape, args, layout="", dtype=FLOAT, algorithm="resample", **more):
    if not more.get("no_parity"):
        more["batch"] = 1  # for FIRST
    return OpCase(
        OP,
        layout,
        shape,
        args,
        dtype=dtype,
        algorithm=algorithm,
        dali_op="experimental.tensor_resize",
        **more,
    )


CASES = [
    case((30,), {"sizes": [17]}),
    case((30,), {"sizes": [77.5]}, dtype=torch.uint8),
    case((12, 20), {"sizes": [30, 7]}),
    case((12, 20), {"sizes": [9]}),
    case((12, 20, 3), {"sizes": [30, 7], "axis_names": "HW"}, "HWC", torch.uint8),
    case((12, 20, 3), {"sizes": [30, 7], "axis_names": "WH"}, "HWC", torch.int16, "resample_wide"),
    case((12, 20, 9), {"sizes": [5], "axes": [0]}),
    case((12, 20, 9), {"sizes": [5], "axes": [-1]}),
    case((12, 20, 9), {"sizes": [31], "axes": [1]}),
    case((12, 20, 9), {"sizes": [5, 13], "axes": [2, 0]}),
    case((4, 12, 20, 3), {"sizes": [7, 5, 8], "axes": [0, 1, 2]}),
    case((2, 6, 12, 10, 3), {"sizes": [4, 5, 18], "axis_names": "DHW"}, "FDHWC"),
    case((5, 12, 10, 3), {"sizes": [9], "axis_names": "F"}, "FHWC", torch.uint8),
    case([(12, 20), (5, 9), (30, 4)], {"scales": [1.5, 0.6]}, no_parity=FIRST),
    case((12, 20), {"scales": PerSample([[1.5, 0.6], [0.3, 2.2]])}),
    case((12, 20), {"scales": PerSample([[1.5, 0.6], [0.3, 2.2]])}, no_parity=FIRST),
    case((12, 20), {"scales": [1.55, 0.61], "alignment": [0.0, 1.0]}),
    case((12, 20), {"scales": [1.55], "alignment": PerSample([[0.2, 0.9], [0.9, 0.5]])}),
    case((12, 20), {"scales": [1.55, 0.61], "size_rounding": "truncate"}),
    case((12, 20), {"scales": [1.55, 0.61], "size_rounding": "ceil", "subpixel_scale": False}),
    case((12, 20), {"sizes": [7.3, 9.6], "size_rounding": "ceil", "alignment": [0.3]}),
    case((12, 20), {"scales": [-1.5, 0.5]}),
    case((12, 20), {"sizes": [0, 30]}),
    case((12, 20), {"sizes": [0, 30], "mode": "stretch"}),
    case((12, 20), {"sizes": [30, 30], "mode": "not_larger"}),
    case((12, 20), {"sizes": [30, 30], "mode": "not_smaller", "max_size": [40]}),
    case((12, 20), {"scales": [3, 3], "max_size": [30]}),
    case((12, 20), {"sizes": [6, 9], "roi_start": [2, 15.5], "roi_end": [10, 1]}),
    case(
        (12, 20),
        {"sizes": [6], "axes": [1], "roi_start": [0.2], "roi_end": [0.7], "roi_relative": True},
    ),
    case((12, 20), {"scales": [2, 0.5], "roi_start": [2, 1.5], "roi_end": [10, 17]}),
    case(
        (12, 20),
        {"sizes": [5, 33], "min_filter": types.INTERP_CUBIC, "mag_filter": types.INTERP_LANCZOS3},
    ),
    case((12, 20), {"sizes": [5, 33], "antialias": False}),
    case((12, 20), {"sizes": [5, 33], "dtype": types.FLOAT}, dtype=torch.uint8),
    case((12, 20), {"sizes": [12, 20], "dtype": types.FLOAT}, dtype=torch.uint16),
    case((12, 20), {"sizes": [5, 33], "interp_type": PerSample([0, 1, 3])}, no_parity=FIRST),
    case((12, 20), {"sizes": [5, 33], "interp_type": types.INTERP_NN}, dtype=torch.uint8),
    case((12, 21, 7), {"sizes": [5], "axes": [0], "interp_type": types.INTERP_NN}),
    case((12, 21, 7), {"sizes": [14], "axes": [2], "interp_type": types.INTERP_NN}),
    case((0, 3), {"sizes": [5, 6]}),
    case(
        (12, 20),
        {"sizes": [6, 9], "filter_edges": "cut", "roi_start": [2, 3], "roi_end": [9, 19]},
        no_parity="torchdali only",
    ),
    case(
        (12, 20),
        {"sizes": [12, 9], "interp_type": types.INTERP_GAUSSIAN},
        no_parity="DALI blurs some of the axes that keep their extent",
    ),
    case((3, 4, 5, 6), {"sizes": [5, 2, 7, 3]}, no_parity=MORE),
    case((3, 4, 5, 6), {"sizes": [5, 7], "axes": [0, 3]}, dtype=torch.uint8, no_parity=MORE),
    case((2, 3, 2, 3, 2, 3), {"sizes": [3, 2, 5, 2, 4, 2]}, no_parity=MORE),
    case([(2, 3, 2, 3, 2, 3), (3, 2, 2, 2, 1, 1)], {"scales": [1.5]}, no_parity=MORE),
]


@for_each("shape", [(5, 4, 3), (4, 3, 2, 5), (2, 3, 4, 2, 3, 2)])
def test_axes_are_independent(shape):
    """All at once are the axes one by one, whichever passes are made."""
    x = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    for count in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            sizes = [shape[a] * 2 - 1 if a % 2 else max(shape[a] - 1, 1) for a in axes]
            actual = run_op(OP, x, sizes=sizes, axes=list(axes))
            expected = x
            for a, size in zip(axes, sizes, strict=True):
                rows = expected.movedim(a, 0)
                flat = rows.reshape(rows.shape[0], -1, 1).contiguous()
                flat = run_op("resize", flat, layout="HWC", resize_y=size, mode="stretch")
                expected = flat.reshape(size, *rows.shape[1:]).movedim(0, a)
            torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


def test_arguments_belong_to_the_listed_axes():
    """In DALI 1.35, `alignment` moves to other axes, and some modes change axes not listed."""
    x = torch.rand(2, 6, 5, generator=torch.Generator().manual_seed(3))
    every = run_op(OP, x, scales=[1.0, 0.8, 1.0], alignment=[0.5, 1.0, 0.5])
    assert torch.equal(run_op(OP, x, axes=[1], scales=[0.8], alignment=[1.0]), every)
    grown = run_op(OP, x, axes=[0, 1], sizes=[4, 0], mode="not_smaller")
    assert tuple(grown.shape) == (4, 12, 5)


def test_an_image_is_that_of_resize():
    x = torch.arange(40 * 31 * 3).mul(7).remainder(251).to(torch.uint8).reshape(40, 31, 3)
    for args in ({}, {"interp_type": types.INTERP_CUBIC}, {"dtype": types.FLOAT}):
        ours = run_op(OP, x, layout="HWC", axis_names="HW", sizes=[20, 50], **args)
        assert torch.equal(ours, run_op("resize", x, layout="HWC", size=[20, 50], **args))


def test_axes_that_stay_are_copied_exactly():
    x = torch.rand(3, 40, 5, generator=torch.Generator().manual_seed(2))
    for filter_ in (types.INTERP_GAUSSIAN, types.INTERP_LANCZOS3):
        assert torch.equal(run_op(OP, x, sizes=[3, 40, 5], interp_type=filter_), x)
        both = run_op(OP, x, sizes=[6, 10], axes=[0, 2], interp_type=filter_)
        for i in (0, 39):
            alone = run_op(OP, x[:, i].contiguous(), sizes=[6, 10], interp_type=filter_)
            torch.testing.assert_close(both[:, i], alone, rtol=1e-6, atol=1e-6)


def test_one_axis_of_a_long_tensor():
    x = torch.rand(3, 10007, 2, generator=torch.Generator().manual_seed(3))
    actual = run_op(OP, x, sizes=[2], axes=[0], antialias=False)
    low, high = 0.75 * x[0] + 0.25 * x[1], 0.25 * x[1] + 0.75 * x[2]
    torch.testing.assert_close(actual, torch.stack([low, high]), rtol=1e-5, atol=1e-5)


def test_dali_s_old_name_works():
    x = torch.arange(24.0).reshape(4, 6)
    with pytest.warns(DeprecationWarning, match="tensor_resize"):
        old = run_op("experimental.tensor_resize", x, sizes=[8, 3])
    assert torch.equal(old, run_op(OP, x, sizes=[8, 3]))


def test_wrong_arguments_are_errors():
    x = torch.arange(24.0).reshape(4, 6)
    for args, text in [
        ({}, "expected exactly one of `sizes` and `scales`"),
        ({"sizes": [3], "scales": [3]}, "expected exactly one of `sizes` and `scales`"),
        ({"sizes": [3, 4, 5]}, "`sizes` has 3 values, expected 1 or 2"),
        ({"sizes": [3], "roi_start": [1]}, "`roi_start` and `roi_end` must be given together"),
        ({"sizes": [3], "axes": [0], "axis_names": "H"}, "exclude each other"),
        ({"sizes": [3, 3], "axes": [1, 1]}, "axis 1 is given twice"),
        ({"sizes": [3], "size_rounding": "up"}, '`size_rounding` is "up"'),
        ({"sizes": [3], "mode": "larger"}, '`mode` is "larger"'),
        ({"sizes": [float("nan")]}, "`sizes` must be finite"),
        ({"scales": [1e30]}, "cannot resize to an extent of 4e\\+30"),
    ]:
        with pytest.raises(ValueError, match=text):
            run_op(OP, x, **args)
    with pytest.raises(RuntimeError, match="is too large"):
        run_op(OP, x, sizes=[2**30, 2**30])
    with pytest.raises(ValueError, match="at least one axis"):
        run_op(OP, torch.tensor(3.0), sizes=[3])
    with pytest.raises(TypeError, match="the input has type int32"):
        run_op(OP, x.int(), sizes=[3])
    with pytest.raises(IndexError, match="axis 2 of `axes`"):
        run_op(OP, x, sizes=[3], axes=[2])
    with pytest.raises(LayoutError, match="`axis_names` is not in the layout"):
        run_op(OP, x, layout="HW", sizes=[3], axis_names="C")
