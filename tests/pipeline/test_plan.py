# SPDX-License-Identifier: Apache-2.0
"""plan(): the steps of a pipeline, the operators fused into them, devices of values."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import for_each

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.errors import TorchdaliError


def planned(define: Any, **options: Any) -> Any:
    @pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=3, **options)
    def definition() -> Any:
        return define(fn.external_source(name="files", device="cpu"))

    return definition().plan()


def names(plan: Any) -> list[list[str]]:
    return [[operator.op for operator in step.operators] for step in plan]


def test_the_plan_names_what_was_fused():
    def define(x: Any) -> Any:
        images = fn.decoders.image(x)
        small = fn.random_resized_crop(images, size=32)
        bright = fn.brightness_contrast(small, brightness=1.5)
        return fn.crop_mirror_normalize(bright, mirror=fn.random.coin_flip())

    plan = planned(define)
    chain = ["decoders.image", "random_resized_crop", "brightness_contrast"]
    assert names(plan) == [
        ["external_source"], ["random.coin_flip"], [*chain, "crop_mirror_normalize"]
    ]  # fmt: skip
    assert [step.fused for step in plan.steps] == [False, False, True]
    step = plan.steps[-1]
    assert "images = fn.decoders.image(x)" in step.operators[0].location
    assert (step.outputs, step.runs, step.conditional) == (("output",), "samples", False)
    assert len(step.saves) == 2
    assert [s.outputs for s in plan.steps[:2]] == [("memory of the source",), ("scratch",)]
    text = str(plan)
    assert "6 operators in 3 steps (4 of them fused into 1); 2 worker threads" in text
    assert "only the pixels that the rest reads are decoded" in text
    assert "test_plan.py:" in text
    plan = planned(lambda x: fn.decoders.image(x))
    assert str(plan).startswith("2 operators in 2 steps; 2 worker threads, ")


def test_without_fusion_each_operator_is_a_step(monkeypatch):
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    plan = planned(lambda x: fn.resize(fn.decoders.image(x), size=[9, 9]))
    assert names(plan) == [["external_source"], ["decoders.image"], ["resize"]]
    assert not any(step.saves for step in plan)


@for_each(
    ("define", "fused"),
    [
        (lambda x: fn.cast(fn.decoders.image(x), dtype=types.FLOAT), []),
        (lambda x: fn.flip(fn.decoders.image(x)), []),
        (lambda x: fn.slice(fn.decoders.image(x), 0, 5, axis_names="H"), [2]),
        (lambda x: fn.crop_mirror_normalize(fn.decoders.image(x), crop=[9, 9]), [2]),
        (lambda x: fn.resize(fn.crop(fn.decoders.image(x), crop=[9, 9]), size=[4, 4]), [3]),
        (lambda x: fn.resize(fn.resize(fn.decoders.image(x), size=[9, 9]), size=[4, 4]), [2]),
        (lambda x: fn.flip(fn.crop(x, crop=[9, 9])), []),
        (lambda x: fn.crop_mirror_normalize((x - 1.5) * 2.0), [3]),
        (lambda x: fn.resize(x, size=[9, 9], save_attrs=True), []),
        (lambda x: fn.gaussian_blur(fn.resize(x, size=[9, 9]), sigma=1.0), []),
    ],
)
def test_the_plan_shows_which_operators_are_fused(define, fused):
    assert [len(step.operators) for step in planned(define) if step.fused] == fused


def test_the_plan_has_stages_branches_and_kept_values():
    def define(x: Any) -> Any:
        images = fn.decoders.image(x)
        mixed = fn.permute_batch(images, indices=fn.batch_permutation())
        return fn.copy(mixed)

    stages = [(step.operators[0].op, step.stage, step.runs) for step in planned(define)]
    assert stages[-1][1] > stages[0][1]
    assert {runs for _, _, runs in stages} >= {"samples"}

    def branches(x: Any) -> Any:
        images = fn.decoders.image(x)
        if fn.random.coin_flip(dtype=types.BOOL):
            images = fn.rotate(images, angle=10.0)
        return images

    plan = planned(branches, enable_conditionals=True)
    assert [s.operators[0].op for s in plan if s.conditional][-1] == "rotate"
    assert "in a branch" in str(plan)


def test_a_pipeline_that_cannot_be_built_or_is_closed_has_no_plan():
    with pytest.raises(TorchdaliError, match="batch_size"):
        Pipeline().plan()
    pipe = Pipeline(batch_size=1, num_threads=1)
    with pipe:
        pipe.set_outputs(fn.random.coin_flip())
    assert len(pipe.plan()) == 1
    pipe.close()
    with pytest.raises(TorchdaliError, match="closed"):
        pipe.plan()


def test_debug_mode_has_no_plan():
    with pytest.raises(TorchdaliError, match="debug"):
        planned(lambda x: fn.copy(x), debug=True)
