# SPDX-License-Identifier: Apache-2.0
"""Subscripts of data nodes, shape() and properties."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.expressions import check_against_dali, evaluate, evaluate_in_dali
from helpers.inputs import ramp
from helpers.parts import nodes_of

import torchdali
from torchdali import Pipeline, fn, newaxis, types

X = ("HWC", [[ramp((2, 3, 4)), ramp((4, 5, 3)) + 100]])
INDEX = ("", [[torch.tensor(1), torch.tensor(-2)]])
SOURCES = {"x": X, "i": INDEX}

IN_DALI = [
    "x[0], x[-1], x[:, 1], x[:, :, -2], x[1, 2, 0]",
    "x[:], x[:, :, :], x[1:], x[:, 1:3], x[:, 1:-1], x[:, 2:1], x[:, 0:9], x[:, -9:2]",
    "x[:, -9:-7], x[0, 1:3], x[1:, 0], x[::1], x[::-1], x[:, ::-1]",
    "x[newaxis], x[newaxis('N')], x[:, newaxis], x[:, newaxis('N'), 0], x[newaxis, 0, newaxis]",
    "x[newaxis('a'), 0, newaxis('b')], x[:, :, :, newaxis], x[newaxis('H')]",
    "x[i], x[:, i], x[i:], x[:, :i], x[0, i], x[:, types.Constant(1):types.Constant(2)]",
    "x[types.Constant(1)], x[np.int64(1)], x[True], x[()]",
    "fn.shapes(x), fn.shapes(x[0]), fn.shapes(x[0, 0, 0]), fn.shapes(x, dtype=types.FLOAT)[1]",
    "fn.get_property(x, key='layout'), fn.get_property(x[0], key='layout')",
    "fn.get_property(x[newaxis], key='layout'), fn.get_property(x, key='source_info')",
    "fn.tensor_subscript(x, at_1=1), fn.tensor_subscript(x, at_0=i, num_subscripts=2)",
    "fn.subscript_dim_check(x, num_subscripts=2), x[fn.cast(i, dtype=types.INT8)]",
]


@pytest.mark.dali
@for_each("expression", IN_DALI)
def test_equals_dali(expression):
    check_against_dali(f"{expression},", SOURCES)


# Torch has no negative steps, so NumPy is the reference.
MORE_THAN_DALI = [
    "x[...], x[..., 0], x[0, ...], x[0, ..., 1], x[..., 0, 1], x[1, ..., 0, 0]",
    "x[::2], x[:, ::2, ::-1], x[::-2], x[:, 3:0:-2], x[:, -1::-1], x[:, ::-9], x[:, 1::2, 2]",
    "x[..., newaxis], x[newaxis, ..., newaxis], x[..., newaxis, 0], x[0, ..., newaxis, :]",
    "x[..., 1:3], x[..., ::2, :], x[..., newaxis, :, newaxis], x[newaxis, ..., 0, newaxis]",
    "x[9:], x[:, 5:], x[:, 7:9], x[:, :, 4:9]",
]


@pytest.mark.parametrize("expression", MORE_THAN_DALI)
def test_matches_numpy(expression):
    (outputs,) = evaluate(f"{expression},", SOURCES)
    for sample, x in enumerate(X[1][0]):
        expected = eval(f"{expression},", {"x": x.numpy(), "newaxis": np.newaxis})
        for actual, wanted in zip(outputs, expected, strict=True):
            assert np.array_equal(actual.samples[sample].numpy(), wanted)


@pytest.mark.dali
def test_ranges_that_start_after_the_end_differ_from_dali():
    """For a range that starts after the end, DALI takes the last element, Python none."""
    expression, sources = "x[:, 7:9],", {"x": ("", [[ramp((2, 3))]])}
    theirs = evaluate_in_dali(expression, sources, batch_size=1)[0][0].samples[0]
    ours = evaluate(expression, sources, batch_size=1)[0][0].samples[0]
    assert (tuple(theirs.shape), tuple(ours.shape)) == ((2, 1), (2, 0))


@for_each(
    ("expression", "layout"),
    [
        ("x[..., 0]", "HW"),
        ("x[..., newaxis('N')]", "HWCN"),
        ("x[newaxis('N'), ..., 0, newaxis('M')]", "NHWM"),
        ("x[0, ..., newaxis('M'), :]", "WMC"),
        ("x[..., newaxis]", ""),
        ("x[0, 0, 0]", ""),
        ("x[::2, ::-1]", "HWC"),
    ],
)
def test_subscripts_keep_the_layout_of_the_remaining_axes(expression, layout):
    assert evaluate(f"{expression},", SOURCES)[0][0].layout == layout


def test_bounds_may_be_data_nodes():
    sources = {
        "x": ("", [[ramp((6,)), ramp((9,))]]),
        "i": ("", [[torch.tensor(1), torch.tensor(-4)]]),
    }
    (outputs,) = evaluate("x[i::2], x[:i], x[::i], x[-1:i:-1]", sources)
    for sample, (x, i) in enumerate(zip(sources["x"][1][0], (1, -4), strict=True)):
        x = x.numpy()
        for actual, wanted in zip(outputs, (x[i::2], x[:i], x[::i], x[-1:i:-1]), strict=True):
            assert np.array_equal(actual.samples[sample].numpy(), wanted)


@pytest.fixture
def node():
    return fn.external_source(name="x", layout="HWC")


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (None, TypeError, "got None"),
        (1.5, TypeError, "got 1.5 \\(float\\)"),
        ("a", TypeError, "got 'a' \\(str\\)"),
        ([0, 1], TypeError, "got \\[0, 1\\]"),
        (np.array([0]), TypeError, "ndarray"),
        (slice(1.5, None), ValueError, "`lo_0` takes a whole number"),
        (slice("a", None), TypeError, "`lo_0` takes an integer"),
        (types.Constant(1.5), ValueError, "`at_0` takes a whole number"),
        ((..., 0, ...), IndexError, "one ellipsis at most"),
        ((newaxis("a"), newaxis), ValueError, "either all new axes have a name or none"),
        ((0,) * 17, TypeError, "unexpected argument `at_16`"),
    ],
    ids=str,
)
def test_wrong_subscripts_are_errors_of_the_definition(node, key, error, text):
    with pytest.raises(error, match=f"fn.tensor_subscript: .*{text}(?s:.*)test_subscripts.py"):
        node[key]


NOT_THERE = [
    "x[9]",
    "x[:, -9]",
    "x[0, 0, 0, 0]",
    "x[:, :, :, :]",
    "x[:, :, :, :, newaxis]",
    "x[:, :, :, newaxis, :]",
    "x[..., 9]",
    "x[0, 0, ..., 0, 0]",
    "x[:, :, ..., :, :]",
]


@for_each("expression", NOT_THERE)
def test_indices_out_of_range_are_index_errors(expression):
    with pytest.raises(IndexError, match="sample 0 of 2"):
        evaluate(f"{expression},", SOURCES)


def test_newaxis_inserts_axes():
    assert torchdali.newaxis is torchdali.data_node.newaxis
    assert newaxis.name is None
    assert newaxis("C").name == "C"
    assert newaxis("C")().name is None
    assert (repr(newaxis), repr(newaxis("C"))) == ("newaxis", 'newaxis("C")')
    with pytest.raises(ValueError, match="one letter"):
        newaxis("CD")
    with pytest.raises(TypeError, match="one letter"):
        newaxis(3)


def test_full_slices_make_no_operator(node):
    assert node[...] is node
    assert node[()] is node


def test_equal_subscripts_are_merged():
    pipe = Pipeline(1, 1, None)
    with pipe:
        x = fn.external_source(name="x", layout="HWC")
        pipe.set_outputs(x[0, 1:], x[0, 1:], x[0, 2:])
    pipe.build()
    assert sum(n.schema.name == "tensor_subscript" for n in nodes_of(pipe)) == 2
    pipe.close()


# -- shape() and properties


def test_nodes_have_shape_and_properties():
    (outputs,) = evaluate(
        "x.shape(), x.shape(dtype=types.INT32), x.property('layout'), x.source_info(), "
        "x.shape()[0]",
        SOURCES,
    )
    shapes, narrow, layout, source, heights = outputs
    assert [s.tolist() for s in shapes.samples] == [[2, 3, 4], [4, 5, 3]]
    assert shapes.samples[0].dtype == torch.int64
    assert narrow.samples[0].dtype == torch.int32
    assert [bytes(s.numpy()) for s in layout.samples] == [b"HWC", b"HWC"]
    assert [s.numel() for s in source.samples] == [0, 0]
    assert [s.item() for s in heights.samples] == [2, 4]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.shape(device="gpu"),
        lambda x: x.property("layout", device="gpu"),
        lambda x: x.source_info(device="gpu"),
    ],
)
def test_shapes_are_on_the_requested_device(node, call):
    assert call(node).device == "gpu"
    assert [input.device for input in call(node).source.inputs] == ["cpu"]


def test_unknown_properties_are_errors_of_the_build(node):
    pipe = Pipeline(1, 1, None)
    pipe.set_outputs(node.property("name"))
    with pytest.raises(ValueError, match="fn.get_property: `key` is"):
        pipe.build()
