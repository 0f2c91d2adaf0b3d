# SPDX-License-Identifier: Apache-2.0
"""GPU chains: which operators are fused, errors, and chains next to decoders and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.chains import uniform
from helpers.encoded_images import jpeg, png, ramp
from helpers.gpu_chains import BATCH, Batch, Definition, image_batch

from torchdali import fn, pipeline_def, types
from torchdali.errors import TorchdaliError

pytestmark = pytest.mark.usefixtures("backend")


def plan_of(define: Definition) -> Any:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def definition() -> Any:
        return define(fn.external_source(name="images", device="cpu", layout="HWC").gpu())

    return definition().plan()


def test_the_plan_names_what_was_fused():
    plan = plan_of(lambda x: fn.crop_mirror_normalize(fn.flip(fn.resize(x, size=[9, 9])), mean=3.0))
    step = plan.steps[-1]
    assert [o.op for o in step.operators] == ["resize", "flip", "crop_mirror_normalize"]
    assert (step.runs, step.outputs) == ("GPU", ("output, GPU",))
    assert step.saves == (
        "only the pixels that the rest keeps are resampled, in their order",
        "one kernel: images between are not written",
    )
    assert "one kernel" in str(plan)


@for_each(
    ("define", "fused"),
    [
        (lambda x: fn.flip(fn.resize(x, size=[9, 9], save_attrs=True)[0]), []),
        (lambda x: fn.flip(fn.gaussian_blur(x, sigma=1.0)), []),
        (lambda x: fn.flip(fn.flip(x.cpu()).gpu()), []),
        (lambda x: fn.cast(fn.flip(x) * 2, dtype=types.FLOAT), []),
        (lambda x: fn.flip(fn.contrast(fn.crop(x, crop=[2, 2]) - 3, contrast=0.5)), [2]),
        (lambda x: (lambda y: (y, fn.flip(y)))(fn.crop(x, crop=[2, 2])), []),
        (lambda x: fn.flip(fn.crop(x, crop=[2, 2])), [2]),
    ],
)
def test_the_plan_shows_which_operators_are_fused(define, fused):
    assert [len(step.operators) for step in plan_of(define) if step.fused] == fused


def failing(line: int, batch: Batch) -> str:
    """Returns the error of a chain whose member at `line` fails."""

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=3)
    def definition() -> Any:
        x = fn.external_source(source=lambda: batch, layout="HWC", batch=True).gpu()
        filters = types.INTERP_LINEAR if line != 0 else fn.random.uniform(range=[77, 78])
        x = fn.resize(x, size=[48, 40], interp_type=filters)
        x = fn.crop(x, crop=[20, 90 if line == 1 else 20])
        x = fn.color_twist(x, hue=30.0)
        x = fn.lookup_table(x, dtype=types.FLOAT if line == 3 else types.UINT8)
        x = fn.lookup_table(x, dtype=types.UINT8)
        return fn.crop_mirror_normalize(x, mean=[1.0, 2.0] if line == 4 else [1.0])

    with pytest.raises(TorchdaliError) as caught, definition() as pipe:
        pipe.run()
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (0, "fn.resize("), (1, "fn.crop("), (2, "fn.color_twist("), (3, "types.UINT8)"),
        (4, "fn.crop_mirror_normalize("),
    ],
)  # fmt: skip
def test_errors_name_the_operator_that_failed(line, text, monkeypatch):
    batch = image_batch()
    if line == 2:
        batch[2] = batch[2][..., :1]
    fused = failing(line, batch)
    assert text in fused
    assert f"sample {2 if line == 2 else 0}" in fused
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    assert failing(line, batch) == fused


def test_errors_of_the_definition_name_the_operator(monkeypatch):
    def error() -> str:
        with pytest.raises(TorchdaliError) as caught:
            plan_of(
                lambda x: fn.crop_mirror_normalize(
                    fn.random_resized_crop(fn.crop(x, crop=[2, 2]), size=-1)
                )
            )
        return str(caught.value)

    fused = error()
    assert "fn.random_resized_crop" in fused
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    assert error() == fused


def test_chains_in_branches_are_equal(monkeypatch):
    batch = image_batch()

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=3, enable_conditionals=True)
    def definition() -> Any:
        images = fn.external_source(source=lambda: batch, layout="HWC", batch=True).gpu()
        small = fn.resize(images, size=[48, 40])
        if fn.random.coin_flip(dtype=types.BOOL):
            small = fn.color_twist(fn.flip(small), hue=uniform(0, 90))
            if fn.random.coin_flip(dtype=types.BOOL):
                result = fn.crop_mirror_normalize(fn.flip(small), std=[50.0])
            else:
                pad = {"crop": [50, 50], "out_of_bounds_policy": "pad"}
                small = fn.resize(fn.crop(fn.flip(small), **pad), size=[48, 40])
                result = fn.crop_mirror_normalize(small, mean=[100.0])
        else:
            result = fn.crop_mirror_normalize(fn.cast(small, dtype=types.FLOAT))
        return result

    results = []
    for fused in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", fused)
        with definition() as pipe:
            assert any(step.fused and step.runs == "GPU" for step in pipe.plan()) == (fused == "1")
            results.append([pipe.run()[0].as_torch().cpu().clone() for _ in range(4)])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("by", ["cpu", "hybrid", "gpu"])
@pytest.mark.parametrize("narrow", [True, False])
def test_chains_after_a_decoder_are_equal(by, narrow, monkeypatch):
    monkeypatch.setenv("TORCHDALI_MIXED_DECODER", by)
    files = [jpeg(ramp(60 + 9 * i, 110 - 7 * i, 3), orientation=1 + i) for i in range(6)]
    files += [png(ramp(40, 30, 3), 8, 2), jpeg(ramp(1, 1, 3))]
    batch = [np.frombuffer(file, np.uint8) for file in files]

    @pipeline_def(batch_size=len(batch), num_threads=2, device_id=None, seed=11)
    def definition() -> Any:
        encoded = fn.external_source(source=lambda: batch, batch=True)
        x = fn.decoders.image(encoded, device="mixed")
        x = fn.random_resized_crop(x, size=[40, 33]) if narrow else fn.resize(x, size=[40, 33])
        x = fn.color_twist(x, hue=uniform(-50, 50))
        return fn.crop_mirror_normalize(
            x, crop=[30, 30], crop_pos_x=uniform(0, 1), mirror=fn.random.coin_flip(), std=[50.0]
        )

    results = []
    for fused in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", fused)
        with definition() as pipe:
            steps = [[o.op for o in s.operators] for s in pipe.plan() if s.fused]
            results.append([pipe.run()[0].as_torch().cpu().clone() for _ in range(3)])
        resizer = "device_part.random_resized_crop" if narrow else "resize"
        assert steps == [[resizer, "color_twist", "crop_mirror_normalize"]] * (fused == "1")
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_errors_after_a_decoder_name_their_lines():
    file = np.frombuffer(jpeg(ramp(20, 30, 3)), np.uint8)

    def error(dtype: Any, crop: int) -> str:
        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def define() -> Any:
            image = fn.decoders.image(fn.external_source([[file]]), device="mixed")
            small = fn.random_resized_crop(image, size=8, interp_type=dtype)
            return fn.crop_mirror_normalize(small, crop=[crop, crop])

        with pytest.raises(TorchdaliError) as caught, define() as pipe:
            pipe.run()
        return str(caught.value)

    assert "fn.random_resized_crop:" in error(77, 4)
    assert "fn.crop_mirror_normalize:" in error(types.INTERP_LINEAR, 9)


def test_memory_statistics_and_profiles_list_the_members():
    batch = image_batch()

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, enable_memory_stats=True)
    def definition() -> Any:
        x = fn.external_source(source=lambda: batch, layout="HWC", batch=True).gpu()
        return fn.flip(fn.resize(x, size=[9, 8], name="small"), name="flipped")

    with definition() as pipe:
        pipe.run()
        statistics = pipe.executor_statistics()
    assert statistics["CPU_small"]["real_memory_size"] == [0]
    assert statistics["CPU_flipped"]["real_memory_size"] == [BATCH * 9 * 8 * 3]
