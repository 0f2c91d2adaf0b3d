# SPDX-License-Identifier: Apache-2.0
"""Pipelines against real DALI: sizes, shapes, layouts and types of outputs, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers import dali_oracle
from helpers.cases import for_each

from torchdali import Pipeline, errors, fn, types

pytestmark = pytest.mark.dali

TYPES = ["bool", "float16", "float32", "float64"]
TYPES += [f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)]


def function_of(name):
    function = fn
    for part in name.split("."):
        function = getattr(function, part)
    return function


def run_ours(nodes, outputs, sources, *, batch_size, iterations=1, options=None):
    """Runs a graph like dali_oracle.run_graph, with torchdali."""
    pipe = Pipeline(batch_size, 2, None, seed=1, **(options or {}))
    with pipe:
        values = {
            name: fn.external_source(
                name=name, layout=source.get("layout"), **source.get("args", {})
            )
            for name, source in sources.items()
        }
        for node in nodes:
            tensors = {k: values[v] for k, v in node.get("tensors", {}).items()}
            made = function_of(node["op"])(
                *(values[name] for name in node.get("inputs", [])),
                **node.get("args", {}),
                **tensors,
            )
            made = made if isinstance(made, list) else [made]
            values.update(zip(node["outputs"], made, strict=True))
        pipe.set_outputs(*(values[name] for name in outputs))
    taken = []
    for index in range(iterations):
        for name, source in sources.items():
            pipe.feed_input(name, source["batches"][index], layout=source.get("fed_layout"))
        taken.append([(batch.as_torch_list(), batch.layout()) for batch in pipe.run()])
    return taken


def assert_equal_dali(nodes, outputs, sources, **kwargs):
    ours = run_ours(nodes, outputs, sources, **kwargs)
    theirs = dali_oracle.run_graph(nodes, outputs, sources, **kwargs)
    for mine, reference in zip(ours, theirs, strict=True):
        for (samples, layout), output in zip(mine, reference, strict=True):
            assert layout == output.layout
            assert len(samples) == len(output.samples)
            for a, b in zip(samples, output.samples, strict=True):
                assert a.dtype == b.dtype
                assert tuple(a.shape) == tuple(b.shape)
                assert torch.equal(a, b)


def image(index, height=3, width=4):
    return np.arange(index, index + height * width * 3, dtype=np.uint8).reshape(height, width, 3)


CHAIN = [
    {"op": "flip", "inputs": ["data"], "args": {"horizontal": 1}, "outputs": ["flipped"]},
    {"op": "cast", "inputs": ["flipped"], "args": {"dtype": types.FLOAT}, "outputs": ["cast"]},
    {"op": "copy", "inputs": ["data"], "outputs": ["copy"]},
]


@pytest.mark.parametrize("sizes", [[4, 1, 3, 4, 2], [1, 4], [3]])
def test_batches_of_any_size_equal_dali(sizes):
    batches = [[image(n + i) for i in range(n)] for n in sizes]
    assert_equal_dali(
        CHAIN,
        ["flipped", "cast", "copy", "data"],
        {"data": {"batches": batches, "layout": "HWC"}},
        batch_size=4,
        iterations=len(sizes),
    )


def test_samples_of_any_size_equal_dali():
    shapes = [(3, 4), (0, 4), (5, 1), (2, 0)]
    assert_equal_dali(
        CHAIN,
        ["flipped", "cast", "copy"],
        {"data": {"batches": [[image(0, *shape) for shape in shapes]], "layout": "HWC"}},
        batch_size=4,
    )


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3), ()])
def test_empty_samples_and_scalars_equal_dali(shape):
    batch = np.zeros((3, *shape), np.int16)
    assert_equal_dali(
        [{"op": "copy", "inputs": ["data"], "outputs": ["copy"]}],
        ["copy", "data"],
        {"data": {"batches": [batch]}},
        batch_size=3,
    )


@for_each("dtype", TYPES)
def test_element_types_equal_dali(dtype):
    batch = np.array([[0, 1, 2], [3, 100, 127]]).astype(dtype)
    assert_equal_dali(
        [{"op": "copy", "inputs": ["data"], "outputs": ["copy"]}],
        ["data", "copy"],
        {"data": {"batches": [batch]}},
        batch_size=2,
    )


@for_each(
    ("declared", "fed"),
    [(None, None), ("HWC", None), (None, "HWC"), ("HWC", "HWC"), ("HWC", ""), (None, "")],
)
def test_layouts_equal_dali(declared, fed):
    source = {"batches": [[image(0)]], "layout": declared, "fed_layout": fed}
    assert_equal_dali(
        [{"op": "copy", "inputs": ["data"], "outputs": ["copy"]}],
        ["data", "copy"],
        {"data": source},
        batch_size=1,
    )


def test_repeated_outputs_and_pruning_equal_dali():
    nodes = [*CHAIN, {"op": "random.uniform", "args": {"shape": [3]}, "outputs": ["unused"]}]
    assert_equal_dali(
        nodes,
        ["copy", "copy", "data", "flipped", "copy"],
        {"data": {"batches": [[image(0)]], "layout": "HWC"}},
        batch_size=1,
    )


@for_each(
    "options",
    [
        {"exec_pipelined": False, "exec_async": False},
        {"exec_pipelined": True, "exec_async": True, "prefetch_queue_depth": 1},
        {"set_affinity": True},
        {"max_streams": 1, "bytes_per_sample": 1000, "default_cuda_stream_priority": 0},
        {"output_dtype": types.UINT8, "output_ndim": 3},
        {"output_dtype": [types.UINT8], "output_ndim": [None]},
    ],
)
def test_options_do_not_change_the_outputs(options):
    assert_equal_dali(
        CHAIN[:1],
        ["flipped"],
        {"data": {"batches": [[image(i)] for i in range(3)], "layout": "HWC"}},
        batch_size=1,
        iterations=3,
        options=options,
    )


def fed(batch, *, options=None, **source):
    return [], ["data"], {"data": {"batches": [batch], **source}}, options


@for_each(
    ("graph", "cls"),
    [
        (fed(np.zeros((3, 2))), ValueError),
        (fed([np.zeros(1)] * 3), ValueError),
        (fed(np.zeros((0, 2))), ValueError),
        (fed([]), ValueError),
        (fed(np.zeros((2, 3, 3)), fed_layout="HWC"), ValueError),
        (fed(np.zeros((2, 3, 3)), layout="HW", fed_layout="AB"), ValueError),
        (fed(np.zeros((2, 3, 3)), args={"ndim": 3}), ValueError),
        (fed(np.zeros((2, 3)), args={"dtype": types.FLOAT}), TypeError),
        (fed([np.zeros(2), np.zeros((2, 2))]), TypeError),
        (fed([np.zeros(2), np.zeros(2, np.int32)]), TypeError),
        (fed(np.zeros((2, 2)), options={"output_dtype": types.INT32}), RuntimeError),
        (fed(np.zeros((2, 2)), options={"output_ndim": 3}), RuntimeError),
        (fed(np.zeros((2, 2)), options={"output_ndim": [1, 1]}), RuntimeError),
        (fed(np.zeros((2, 2)), options={"output_ndim": -1}), ValueError),
        (fed(np.zeros((2, 2)), options={"prefetch_queue_depth": 0}), RuntimeError),
        (fed(np.zeros((2, 2)), options={"prefetch_queue_depth": "2"}), TypeError),
        (
            fed(np.zeros((2, 2)), options={"prefetch_queue_depth": {"cpu_size": 1, "gpu_size": 1}}),
            ValueError,  # exec_async is off
        ),
        (
            (
                [],
                ["a", "b"],
                {"a": {"batches": [np.zeros((2, 1))]}, "b": {"batches": [np.zeros((1, 1))]}},
                None,
            ),
            RuntimeError,
        ),
    ],
)
def test_definitions_that_dali_rejects_are_errors(graph, cls):
    nodes, outputs, sources, options = graph
    with pytest.raises(dali_oracle.DaliError):
        dali_oracle.run_graph(nodes, outputs, sources, batch_size=2, options=options)
    options = {"exec_async": False, "exec_pipelined": False, **(options or {})}
    with pytest.raises(cls) as caught:
        run_ours(nodes, outputs, sources, batch_size=2, options=options)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, errors.TorchdaliError)
