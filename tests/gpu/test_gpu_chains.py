# SPDX-License-Identifier: Apache-2.0
"""GPU operators fused into one kernel equal the single operators: types, sizes, values."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from helpers import chains
from helpers.chains import INTERPOLATIONS, uniform
from helpers.gpu_chains import BATCH, Batch, Definition, image_batch
from helpers.image_files import photo_like

from torchdali import fn, pipeline_def, types
from torchdali.errors import TorchdaliError

pytestmark = pytest.mark.usefixtures("backend")


def run(
    define: Definition, batch: Batch, layout: str | None, device: str = "gpu", runs: int = 2
) -> tuple[list[torch.Tensor], list[str], list[int]]:
    """Returns all samples, their layouts, and the numbers of operators in the fused steps."""

    @pipeline_def(batch_size=len(batch), num_threads=2, device_id=None, seed=17)
    def definition() -> Any:
        x = fn.external_source(source=lambda: batch, layout=layout, batch=True)
        return define(x.gpu() if device == "gpu" else x)

    with definition() as pipe:
        fused = [len(step.operators) for step in pipe.plan() if step.fused]
        outputs = [output for _ in range(runs) for output in pipe.run()]  # other draws
        samples = [s.cpu().clone() for o in outputs for s in o.as_torch_list()]
        return samples, [o.layout() for o in outputs], fused


def outcome(define: Definition, batch: Batch, layout: str | None) -> Any:
    """Returns the result of run(), or the text of an error, such as a window out of range."""
    try:
        return run(define, batch, layout)
    except TorchdaliError as error:
        return str(error)


def as_bytes(samples: list[torch.Tensor]) -> list[Any]:
    """Returns samples as bytes, so that NaN equals NaN."""
    return [(s.dtype, tuple(s.shape), s.contiguous().numpy().tobytes()) for s in samples]


def check(
    define: Definition,
    batch: Batch,
    monkeypatch: Any,
    layout: str | None = "HWC",
    fused: list[int] | None = None,
    tolerance: float | None = 1e-4,
) -> None:
    """Compares fused operators with single ones and with the CPU."""
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    one_by_one = outcome(define, batch, layout)
    if isinstance(one_by_one, str):
        monkeypatch.setenv("TORCHDALI_FUSION", "1")
        assert outcome(define, batch, layout) == one_by_one
        return
    plain, layouts, steps = one_by_one
    assert not steps
    cpu, cpu_layouts, _ = run(define, batch, layout, device="cpu")
    monkeypatch.setenv("TORCHDALI_FUSION", "1")
    ours, our_layouts, steps = run(define, batch, layout)
    assert fused is None or steps == fused
    assert our_layouts == layouts == cpu_layouts
    assert as_bytes(ours) == as_bytes(plain)
    if tolerance is None:
        return
    for a, b in zip(ours, cpu, strict=True):
        # Later steps pass an early difference on: a byte may be one off.
        scale = max(b.double().abs().max().item(), 1.0) if b.numel() else 1.0
        torch.testing.assert_close(a.double(), b.double(), rtol=0, atol=tolerance * scale + 1)


def resampled(x: Any, draw: random.Random) -> Any:
    options: dict[str, Any] = {"interp_type": draw.choice(INTERPOLATIONS)}
    if draw.random() < 0.3:
        options["antialias"] = False
    if draw.random() < 0.2:
        options["dtype"] = types.FLOAT
    match draw.randrange(5):
        case 0:
            return fn.random_resized_crop(x, size=[48, 41], **options)
        case 1:
            # Widths around those where the kernel changes its algorithm.
            return fn.resize(x, resize_x=uniform(15, 60), resize_y=uniform(20, 90), **options)
        case 2:
            return fn.resize(x, size=[70, 0], roi_start=[0.2, 0.1], roi_end=[0.9, 0.7],
                             roi_relative=True, **options)  # fmt: skip
        case 3:
            return fn.resize_crop_mirror(
                x, resize_shorter=60, crop=[50, 43], mirror=draw.randrange(4),
                crop_pos_x=uniform(0, 1), **options,
            )  # fmt: skip
        case _:
            return fn.resize(x, resize_shorter=205, **options)


STEPS = {**chains.STEPS, "R": resampled}


CHAINS = [
    "RN", "RP", "RPN", "RFPN", "RWWF", "RWFWN", "RPPP", "RPFWPN", "WRN", "WWRF", "WPN", "PN",
    "PPP", "FPN", "WN", "FW", "FF", "PFP", "WFN", "MR", "RMP", "RR", "PRN", "FRN",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("chain", CHAINS)
def test_a_fused_chain_equals_its_single_operators(chain, seed, monkeypatch):
    def define(x: Any) -> Any:
        draw = random.Random(f"{chain} {seed}")
        for letter in chain:
            x = STEPS[letter](x, draw)
        return x

    # A window, a color twist and an average enlarge a difference of one.
    check(define, image_batch(), monkeypatch, tolerance=None)


def typical(x: Any) -> Any:
    x = fn.resize(x, size=[40, 50])
    x = fn.flip(x, horizontal=fn.random.coin_flip())
    x = fn.brightness_contrast(x, brightness=uniform(0.5, 1.0))
    return fn.crop_mirror_normalize(x, crop=[30, 29], mean=[100.0], std=[50.0], output_layout="")


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 9])
def test_images_may_have_any_number_of_channels(channels, monkeypatch):
    check(typical, image_batch(channels), monkeypatch, fused=[4])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32])
def test_inputs_of_resampling_may_have_several_types(dtype, monkeypatch):
    check(typical, image_batch(dtype=dtype), monkeypatch, fused=[4])


ALL = [
    np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16,
    np.float32, np.float64, np.bool_,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_inputs_may_have_every_type(dtype, monkeypatch):
    def define(x: Any) -> Any:
        moved = fn.crop(fn.flip(x, vertical=1), crop=[30, 29])
        return moved, fn.cast(fn.brightness(fn.flip(x), brightness=0.7), dtype=types.FLOAT)

    check(define, image_batch(dtype=dtype), monkeypatch, fused=[2, 3])


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_intermediate_and_final_types_may_differ(dtype, monkeypatch):
    kind = getattr(types, {"float32": "FLOAT", "bool": "BOOL"}.get(
        np.dtype(dtype).name, np.dtype(dtype).name.upper()))  # fmt: skip

    def define(x: Any) -> Any:
        # Values outside of int32, and some that a float cannot represent.
        far = fn.brightness(x, brightness=1e8, dtype=types.FLOAT)
        last = fn.cast(fn.flip(far), dtype=kind)
        between = fn.cast(fn.cast(far, dtype=kind), dtype=types.INT64)
        return last, fn.flip(between)

    check(define, image_batch(), monkeypatch)


def test_nan_and_infinity_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        return fn.crop_mirror_normalize(
            fn.cast(fn.contrast(fn.flip(x), contrast=2.0), dtype=types.FLOAT16), crop=[30, 29]
        ), fn.cast(fn.brightness(x, brightness=2.0), dtype=types.UINT8)

    batch = image_batch(dtype=np.float32)
    for image in batch:
        image[::3, ::2] = np.nan
        image[1::3, ::2] = np.inf
        image[2::3, ::3] = -1e30
    check(define, batch, monkeypatch, tolerance=None)


@pytest.mark.parametrize(
    ("layout", "shape"), [("FHWC", (3, 44, 55, 3)), ("DHWC", (4, 30, 44, 3)), (None, (44, 55, 3))]
)
def test_sequences_volumes_and_unknown_layouts_are_equal(layout, shape, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.resize(x, size=[4, 40, 50] if layout == "DHWC" else [40, 50])
        return fn.cast(fn.brightness_contrast(x, brightness=uniform(0.5, 1.0)), dtype=types.FLOAT)

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, shape).astype(np.uint8) for _ in range(BATCH)]
    check(define, batch, monkeypatch, layout=layout, fused=[3])


def test_planar_images_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        return fn.crop_mirror_normalize(
            fn.flip(fn.resize(x, size=[20, 30])), crop=[9, 8], output_layout="CHW"
        )

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, (3, 30 + i, 44)).astype(np.uint8) for i in range(BATCH)]
    check(define, batch, monkeypatch, layout="CHW", fused=[3])


def test_arguments_per_frame_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        factors = fn.per_frame(fn.random.uniform(range=[0.5, 1.0], shape=[3]))
        some = fn.per_frame(fn.random.coin_flip(shape=[3]))
        x = fn.brightness(fn.flip(fn.resize(x, size=[40, 50]), horizontal=some), brightness=factors)
        return fn.crop_mirror_normalize(x, output_layout="FCHW"), fn.cast(
            fn.flip(x, horizontal=some, vertical=0), dtype=types.UINT8
        )

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, (3, 44, 55, 3)).astype(np.uint8) for _ in range(BATCH)]
    check(define, batch, monkeypatch, layout="FHWC")


def test_batches_with_samples_that_cannot_be_fused_are_equal(monkeypatch):
    # The window exceeds the small samples.
    batch = image_batch()
    for i in (0, 3):
        batch[i] = np.ascontiguousarray(batch[i][:20, :17])

    def define(x: Any) -> Any:
        pad = {"out_of_bounds_policy": "pad", "fill_values": [7.0, 8.0, 9.0]}
        x = fn.contrast(fn.flip(x), contrast=0.5)
        return fn.crop_mirror_normalize(x, crop=[30, 29], **pad), fn.cast(
            fn.flip(fn.crop(x, crop=[25, 24], **pad)), dtype=types.FLOAT
        )

    check(define, batch, monkeypatch)


def test_views_between_single_operators_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        # These change nothing, and padded windows cannot be fused.
        same = fn.cast(fn.flip(fn.crop(x), horizontal=0), dtype=types.UINT8)
        pad = {"out_of_bounds_policy": "pad"}
        far = fn.crop(fn.flip(x), crop=[200, 200], **pad)
        return (
            same,
            fn.flip(far, horizontal=0),
            fn.cast(far, dtype=types.UINT8),
            fn.cast(fn.flip(fn.crop(x, crop=[190, 190], **pad), horizontal=0), dtype=types.UINT8),
        )

    check(define, image_batch(), monkeypatch)


def test_empty_images_stay_empty(monkeypatch):
    def define(x: Any) -> Any:
        y = fn.resize(x, size=[40, 50])
        y = fn.cast(fn.flip(fn.brightness(y, brightness=0.5)), dtype=types.FLOAT)
        return y, fn.crop_mirror_normalize(fn.flip(x)), fn.flip(fn.slice(x, 0, 0, axis_names="H"))

    empty = [np.zeros(shape, np.uint8) for shape in ((0, 5, 3), (5, 0, 3), (0, 0, 3))]
    check(define, empty, monkeypatch)


def test_empty_results_are_equal(monkeypatch):
    def define(x: Any) -> Any:
        return fn.flip(fn.slice(fn.contrast(x, contrast=0.5), 3, 0, axis_names="W"))

    check(define, image_batch(), monkeypatch, fused=[3])


@pytest.mark.parametrize("size", [[1, 1], [1, 300], [300, 1], [7, 6]])
def test_small_and_large_results_are_equal(size, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.color_twist(fn.resize(x, size=size), hue=20.0, brightness=0.8)
        return fn.crop_mirror_normalize(x, mirror=1)

    check(define, image_batch(), monkeypatch, fused=[3])


@pytest.mark.parametrize("count", [1, 2, 7])
def test_batches_of_any_size_are_equal(count, monkeypatch):
    check(typical, (image_batch() * 2)[:count], monkeypatch, fused=[4])


def test_a_window_of_the_result_equals_that_part_of_the_whole(monkeypatch):
    """Tables that drop taps at the border of a window must not change the order of the sum."""

    def define(x: Any) -> Any:
        outputs = []
        for taps in range(2, 12):
            y = fn.resize(x, resize_x=120 / (taps - 0.5), resize_y=40, dtype=types.FLOAT)
            outputs.append(fn.flip(fn.slice(y, 0, 3, axis_names="W")))
        return tuple(outputs)

    check(define, [photo_like(50, 120, seed=3)] * 2, monkeypatch, fused=[3] * 10)
