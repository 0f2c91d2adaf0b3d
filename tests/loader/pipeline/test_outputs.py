# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: structures, labels and ragged outputs."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import PipelineLoader, fn, pipeline_def
from torchdali.loader._pipeline.pipeline_loader import Padded


class Pair(NamedTuple):
    image: Any
    label: Any


@dataclass(frozen=True)
class Sample:
    image: Any
    target: Any
    name: str = "train"


def number(value, shape=(2, 3), dtype=np.float32):
    return fn.external_source(source=lambda i: [np.full(shape, value + i, dtype)] * 2, cycle=False)


def first_batch(make, **options):
    made = pipeline_def(make, batch_size=2, num_threads=1)()
    return next(iter(PipelineLoader(made, **options)))


STRUCTURES = {
    "one": (lambda a, b: a, lambda a, b: a),
    "tuple": (lambda a, b: (a, b), lambda a, b: (a, b)),
    "list": (lambda a, b: [a, b], lambda a, b: [a, b]),
    "dict": (lambda a, b: {"x": a, "y": b}, lambda a, b: {"x": a, "y": b}),
    "ordered dict": (lambda a, b: OrderedDict(y=b, x=a), lambda a, b: OrderedDict(y=b, x=a)),
    "named tuple": (lambda a, b: Pair(a, b), lambda a, b: Pair(a, b)),
    "dataclass": (lambda a, b: Sample(a, b), lambda a, b: Sample(a, b)),
    "nested": (
        lambda a, b: {"x": (a, {"b": b}), "y": Sample(a, [b, b], name="n"), "z": None},
        lambda a, b: {"x": (a, {"b": b}), "y": Sample(a, [b, b], name="n"), "z": None},
    ),
}


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
        assert found.dtype == expected.dtype
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, Sample):
        same(found.image, expected.image)
        same(found.target, expected.target)
        assert found.name == expected.name
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        assert found == expected


@for_each("which", STRUCTURES)
def test_a_batch_has_the_structure_of_the_definition(which):
    define, expect = STRUCTURES[which]
    found = first_batch(lambda: define(number(1), number(5)))
    same(found, expect(torch.full((2, 2, 3), 1.0), torch.full((2, 2, 3), 5.0)))


def test_run_returns_the_outputs_in_order():
    @pipeline_def(batch_size=2, num_threads=1)
    def nested():
        return {"x": (number(1), number(2)), "y": number(3)}

    outputs = nested().run()
    assert isinstance(outputs, tuple)
    assert [float(o.as_torch()[0, 0, 0]) for o in outputs] == [1, 2, 3]


def test_structures_may_have_constants():
    found = first_batch(lambda: {"x": number(1), "c": np.float32([1, 2]), "n": 3})
    assert found["c"].tolist() == [[1, 2]] * 2
    assert found["n"].tolist() == [3, 3]


@for_each("shape", [(), (1,)])
@for_each("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_labels_are_int64_with_one_value_per_sample(shape, dtype):
    found = first_batch(lambda: number(7, shape, np.dtype(dtype)))
    assert found.dtype == torch.int64
    assert found.tolist() == [7, 7]


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((2,), "int32"), ((1, 1), "int32"), ((1,), "float32"), ((1,), "bool"), ((1,), "uint64")],
)
def test_other_outputs_are_not_converted_to_labels(shape, dtype):
    found = first_batch(lambda: number(1, shape, np.dtype(dtype)))
    assert found.shape == (2, *shape)
    assert str(found.dtype) == f"torch.{dtype}"


def test_labels_may_keep_their_type():
    found = first_batch(lambda: number(1, (1,), np.int32), labels=False)
    assert found.dtype == torch.int32
    assert found.shape == (2, 1)


def boxes():
    return fn.external_source(source=[[np.ones((1, 4), np.float32), np.ones((3, 4), np.float32)]])


def test_ragged_outputs_need_a_form():
    with pytest.raises(RuntimeError, match=r'(?s)"boxes" cannot be one tensor.*\[1, 4\].*ragged'):
        first_batch(lambda: {"boxes": boxes()})


def test_ragged_outputs_may_be_lists():
    found = first_batch(lambda: {"boxes": boxes()}, ragged={"boxes": "list"})
    assert [tuple(t.shape) for t in found["boxes"]] == [(1, 4), (3, 4)]


def test_ragged_outputs_may_be_padded():
    found = first_batch(lambda: (boxes(),), ragged={0: "padded"})[0]
    assert isinstance(found, Padded)
    assert found.data.shape == (2, 3, 4)
    assert found.lengths.tolist() == [[1, 4], [3, 4]]
    assert found.data.sum() == 16


def test_ragged_outputs_may_be_nested_tensors():
    found = first_batch(boxes, ragged="nested")
    assert found.is_nested
    assert [tuple(t.shape) for t in found.unbind()] == [(1, 4), (3, 4)]
    with pytest.raises(RuntimeError, match="differ in more than their first axis"):
        first_batch(
            lambda: fn.external_source(source=[[np.ones((1, 4)), np.ones((3, 2))]]), ragged="nested"
        )


def test_one_box_per_image_is_not_a_label():
    ones = [[np.ones(1, np.int32)] * 2]
    found = first_batch(lambda: fn.external_source(source=ones), ragged="padded")
    assert found.data.shape == (2, 1)
    assert found.data.dtype == torch.int32


def test_wrong_forms_and_masks_are_errors():
    with pytest.raises(ValueError, match="`ragged` is 'dense', expected one of \"list\""):
        first_batch(boxes, ragged="dense")
    with pytest.raises(ValueError, match='names the output "box".*it has "boxes"'):
        first_batch(lambda: {"boxes": boxes()}, ragged={"box": "list"})
    with pytest.raises(TypeError, match="`ragged` is 3"):
        first_batch(boxes, ragged=3)
    with pytest.raises(ValueError, match="returns a Tensor, expected a dict"):
        first_batch(lambda: number(1), mask="valid")
    with pytest.raises(ValueError, match='has an output "x" already'):
        first_batch(lambda: {"x": number(1)}, mask="x")


def test_a_structure_without_outputs_is_an_error():
    with pytest.raises(Exception, match="returns no outputs"):
        first_batch(lambda: {})
    with pytest.raises(TypeError, match="with the key"):
        first_batch(lambda: {(1, 2): number(1)})
