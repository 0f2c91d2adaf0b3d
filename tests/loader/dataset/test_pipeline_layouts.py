# SPDX-License-Identifier: Apache-2.0
"""DataLoader with pipeline=: the layouts of arrays and tensors of a dataset."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np
import pytest
import torch

from torchdali import DataLoader, fn, pipeline_def, types
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError, ArgumentTypeError, LayoutError
from torchdali.loader import File, Layout


def image(*shape):
    return torch.arange(np.prod(shape), dtype=torch.uint8).reshape(shape)


def first(samples, pipeline, **options):
    return next(iter(DataLoader(samples, batch_size=len(samples), pipeline=pipeline, **options)))


@pytest.mark.parametrize(
    ("shape", "width", "resized"),
    [
        ((3, 20, 30), -1, (3, 8, 8)),
        ((1, 20, 30), -1, (1, 8, 8)),
        ((20, 30, 3), -2, (8, 8, 3)),
        ((20, 30, 4), -2, (8, 8, 4)),
        ((5, 3, 20, 30), -1, (5, 3, 8, 8)),
        ((5, 20, 30, 3), -2, (5, 8, 8, 3)),
    ],
)
def test_the_layout_follows_from_the_shape_where_it_is_evident(shape, width, resized):
    one = image(*shape)
    flipped, small = first([one, one], lambda x: (fn.flip(x), fn.resize(x, size=[8, 8])))
    assert torch.equal(flipped[1], one.flip(width))
    assert tuple(small.shape) == (2, *resized)


@pytest.mark.parametrize("shape", [(3, 5, 4), (5, 7, 9), (3, 3, 3), (6, 7, 8, 9), (6, 3, 8, 4)])
def test_operators_on_images_refuse_a_layout_that_is_not_evident(shape):
    one = image(*shape)
    refused = {
        "flip": fn.flip,
        "resize": partial(fn.resize, size=[8, 8]),
        "crop": partial(fn.crop, crop=[2, 2]),
        "rotate": partial(fn.rotate, angle=10.0),
        "hue": partial(fn.hue, hue=10.0),
        "brightness": partial(fn.brightness, brightness=2.0),
        "slice": partial(fn.slice, start=[0, 0], shape=[2, 2]),
        "erase": partial(fn.erase, anchor=[0, 0], shape=[2, 2]),
        "gaussian_blur": partial(fn.gaussian_blur, window_size=3),
        "laplacian": fn.laplacian,
        "noise.salt_and_pepper": fn.noise.salt_and_pepper,
        "crop_mirror_normalize": fn.crop_mirror_normalize,
        "warp_affine": partial(fn.warp_affine, matrix=[1.0, 0, 0, 0, 1, 0]),
        # The layout is not lost and taken for granted later.
        "cast": lambda x: fn.flip(fn.cast(x, dtype=types.FLOAT) / 2),
    }
    for name, operator in refused.items():
        with pytest.raises(LayoutError, match="has no layout") as caught:
            first([one, one], lambda x, operator=operator: operator(x))
        assert "sample " in str(caught.value), name
        assert str(list(shape)) in str(caught.value)
        assert "Layout(" in caught.value.fix


def test_operators_that_need_no_layout_take_any_shape():
    one = image(5, 7, 9)

    def function(x):
        return (
            fn.cast(x, dtype=types.FLOAT) / 2 + x,
            fn.normalize(x, axes=[0, 1]),
            fn.transpose(x, perm=[2, 0, 1]),
            fn.reductions.mean(x, axes=[2]),
            fn.pad(x, axes=[0], shape=[8]),
            fn.slice(x, start=[1], shape=[2], axes=[2]),
            fn.erase(x, anchor=[0], shape=[2], axes=[1]),
            fn.flip(fn.reshape(x, layout="HWC")),
        )

    made = first([one, one], function)
    assert torch.equal(made[0][0], one * 1.5)
    assert torch.equal(made[5][0], one[:, :, 1:3])
    assert torch.equal(made[7][1], one.flip(1))


def marked_whole(x: Layout("CHW")):
    return fn.flip(x)


def marked(x: Annotated[DataNode, Layout("CHW")]):
    return fn.flip(x)


class Marked:
    def __call__(self, x: Annotated[DataNode, Layout("CHW")]):
        return fn.flip(x)


@pytest.mark.parametrize(
    ("pipeline", "options"),
    [
        (fn.flip, {"fields": {0: "CHW"}}),
        (lambda x: fn.flip(x), {"fields": {"x": Layout("CHW")}}),
        (lambda x: fn.flip(x), {"pipeline_options": {"fields": {0: "CHW"}}}),
        (marked, {}),
        (partial(marked), {}),
        (marked_whole, {}),
        (Marked(), {"fields": {0: "CHW"}}),
    ],
)
def test_a_layout_can_be_said(pipeline, options, parallel):
    one = image(3, 5, 4)
    assert torch.equal(first([one, one], pipeline, **options, **parallel)[0], one.flip(-1))


def test_a_layout_is_that_of_its_field():
    samples = [{"a": image(3, 5, 4), "b": image(3, 5, 4)}] * 2
    batch = first(
        samples, lambda a, b: (fn.flip(a), fn.flip(b)), fields={"a": "CHW", "b": Layout("HWC")}
    )
    assert torch.equal(batch[0][0], image(3, 5, 4).flip(2))
    assert torch.equal(batch[1][0], image(3, 5, 4).flip(1))


def test_a_batch_has_one_layout():
    # The second image fits both layouts, and has that of the first.
    samples = [image(3, 20, 30), image(3, 20, 4)]
    flipped = first(samples, lambda x: fn.flip(x))
    assert all(torch.equal(f, s.flip(-1)) for f, s in zip(flipped, samples, strict=True))
    with pytest.raises(LayoutError, match=r"sample 0 \[3, 20, 30\] is \"CHW\".*sample 1"):
        first([image(3, 20, 30), image(20, 30, 3)], lambda x: fn.flip(x))
    with pytest.raises(LayoutError, match="has no layout"):
        first([image(3, 20, 30), image(5, 20, 30)], lambda x: fn.flip(x))


def test_a_pipeline_of_its_own_takes_the_default_layout_of_dali():
    one = image(3, 20, 30)

    @pipeline_def(batch_size=1, num_threads=1)
    def pipeline():
        return fn.flip(fn.external_source(source=lambda: [one]))

    (flipped,) = pipeline().run()
    assert torch.equal(flipped.as_torch()[0], one.flip(1))


def test_a_layout_that_an_operator_lacks_is_an_error():
    with pytest.raises(LayoutError, match="CHW"):
        first([image(3, 20, 30)], lambda x: fn.rotate(x, angle=5.0))


@pytest.mark.parametrize(
    ("pipeline", "options", "error", "text"),
    [
        (marked, {"fields": {"x": "HWC"}}, ArgumentError, "marked twice"),
        (marked, {"fields": {0: File()}}, ArgumentError, "marked twice"),
        (fn.flip, {"fields": {0: 3}}, ArgumentTypeError, "expected Layout, File"),
        (fn.flip, {"fields": "CHW"}, ArgumentTypeError, "expected a dict"),
        (fn.flip, {"fields": {"y": "CHW"}}, ArgumentError, "names `y`"),
        (fn.flip, {"fields": {1: "CHW"}}, ArgumentError, "names `1`"),
        (fn.flip, {"fields": {0: ""}}, ArgumentError, "no letters"),
        (fn.flip, {"fields": {0: "CW"}}, LayoutError, "has 2 axes"),
    ],
)
def test_wrong_marks_are_errors(pipeline, options, error, text):
    with pytest.raises(error, match=text):
        first([image(3, 5, 4)], pipeline, **options)


def test_operators_on_the_gpu_follow_the_same_rule(monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    one = image(3, 20, 30)
    options = {"pipeline_options": {"device_id": 0}}
    flipped = first([one, one], lambda x: fn.flip(x.gpu()).cpu(), **options)
    assert torch.equal(flipped[0], one.flip(-1))
    with pytest.raises(LayoutError, match="has no layout"):
        first([image(3, 5, 4)] * 2, lambda x: fn.flip(x.gpu()).cpu(), **options)
