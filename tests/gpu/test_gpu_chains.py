# SPDX-License-Identifier: Apache-2.0
"""GPU operators that run as one kernel give what they give one after the other, to the bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers import chains
from helpers.cases import for_each
from helpers.chains import INTERPOLATIONS, uniform
from helpers.encoded_images import jpeg, png, ramp
from helpers.image_files import photo_like

from torchdali import fn, pipeline_def, types
from torchdali.errors import TorchdaliError

BATCH = 5
Definition = Callable[[Any], Any]

pytestmark = pytest.mark.usefixtures("backend")


def image_batch(channels: int = 3, dtype: Any = np.uint8) -> list[np.ndarray]:
    images = [photo_like(60 + 9 * i, 150 - 8 * i, seed=i, channels=channels) for i in range(BATCH)]
    if np.issubdtype(dtype, np.integer):
        return [image.astype(dtype) for image in images]
    return [(image / 100 - 1).astype(dtype) for image in images]


Batch = list[np.ndarray]


def run(
    define: Definition, batch: Batch, layout: str | None, device: str = "gpu", runs: int = 2
) -> tuple[list[torch.Tensor], list[str], list[int]]:
    """Returns all samples, their layouts, and of how many operators the fused steps are."""

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
    """Returns what run() gives, or the text of an error, such as that of a window outside."""
    try:
        return run(define, batch, layout)
    except TorchdaliError as error:
        return str(error)


def as_bytes(samples: list[torch.Tensor]) -> list[Any]:
    """Returns what two lists are compared by: what is not a number is the same as itself."""
    return [(s.dtype, tuple(s.shape), s.contiguous().numpy().tobytes()) for s in samples]


def check(
    define: Definition,
    batch: Batch,
    monkeypatch: Any,
    layout: str | None = "HWC",
    fused: list[int] | None = None,
    tolerance: float | None = 1e-4,
) -> None:
    """Holds fused operators against those one by one, and against the CPU's."""
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
        # What differs before is seen through what comes behind: a byte may be one off.
        scale = max(b.double().abs().max().item(), 1.0) if b.numel() else 1.0
        torch.testing.assert_close(a.double(), b.double(), rtol=0, atol=tolerance * scale + 1)


# --- Every kind of chain, with arguments that are drawn ----------------------------------------


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
            # Widths about where the kernel changes its way.
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
def test_a_chain_gives_what_its_operators_give_one_by_one(chain, seed, monkeypatch):
    def define(x: Any) -> Any:
        draw = random.Random(f"{chain} {seed}")
        for letter in chain:
            x = STEPS[letter](x, draw)
        return x

    # Through a window, a twist and an average, one byte becomes more.
    check(define, image_batch(), monkeypatch, tolerance=None)


def typical(x: Any) -> Any:
    x = fn.resize(x, size=[40, 50])
    x = fn.flip(x, horizontal=fn.random.coin_flip())
    x = fn.brightness_contrast(x, brightness=uniform(0.5, 1.0))
    return fn.crop_mirror_normalize(x, crop=[30, 29], mean=[100.0], std=[50.0], output_layout="")


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 9])
def test_any_number_of_channels(channels, monkeypatch):
    check(typical, image_batch(channels), monkeypatch, fused=[4])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32])
def test_types_that_are_resampled(dtype, monkeypatch):
    check(typical, image_batch(dtype=dtype), monkeypatch, fused=[4])


ALL = [
    np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16,
    np.float32, np.float64, np.bool_,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_types_that_come_in(dtype, monkeypatch):
    def define(x: Any) -> Any:
        moved = fn.crop(fn.flip(x, vertical=1), crop=[30, 29])
        return moved, fn.cast(fn.brightness(fn.flip(x), brightness=0.7), dtype=types.FLOAT)

    check(define, image_batch(dtype=dtype), monkeypatch, fused=[2, 3])


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_types_in_between_and_in_the_end(dtype, monkeypatch):
    kind = getattr(types, {"float32": "FLOAT", "bool": "BOOL"}.get(
        np.dtype(dtype).name, np.dtype(dtype).name.upper()))  # fmt: skip

    def define(x: Any) -> Any:
        # Values that no integer of 32 bits holds, and some that a float does not.
        far = fn.brightness(x, brightness=1e8, dtype=types.FLOAT)
        last = fn.cast(fn.flip(far), dtype=kind)
        between = fn.cast(fn.cast(far, dtype=kind), dtype=types.INT64)
        return last, fn.flip(between)

    check(define, image_batch(), monkeypatch)


def test_what_is_not_a_number_or_infinite(monkeypatch):
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


# --- What is run one by one --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "shape"), [("FHWC", (3, 44, 55, 3)), ("DHWC", (4, 30, 44, 3)), (None, (44, 55, 3))]
)
def test_sequences_volumes_and_unknown_layouts(layout, shape, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.resize(x, size=[4, 40, 50] if layout == "DHWC" else [40, 50])
        return fn.cast(fn.brightness_contrast(x, brightness=uniform(0.5, 1.0)), dtype=types.FLOAT)

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, shape).astype(np.uint8) for _ in range(BATCH)]
    check(define, batch, monkeypatch, layout=layout, fused=[3])


def test_channels_first(monkeypatch):
    def define(x: Any) -> Any:
        return fn.crop_mirror_normalize(
            fn.flip(fn.resize(x, size=[20, 30])), crop=[9, 8], output_layout="CHW"
        )

    rng = np.random.default_rng(5)
    batch = [rng.integers(0, 256, (3, 30 + i, 44)).astype(np.uint8) for i in range(BATCH)]
    check(define, batch, monkeypatch, layout="CHW", fused=[3])


def test_arguments_for_each_frame(monkeypatch):
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


def test_some_samples_of_a_batch_do_not_fit(monkeypatch):
    # The window reaches outside of the small ones.
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


def test_views_among_what_is_run_one_by_one(monkeypatch):
    def define(x: Any) -> Any:
        # Nothing of it changes anything, and what is padded does not fit.
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


def test_results_without_pixels(monkeypatch):
    def define(x: Any) -> Any:
        return fn.flip(fn.slice(fn.contrast(x, contrast=0.5), 3, 0, axis_names="W"))

    check(define, image_batch(), monkeypatch, fused=[3])


@pytest.mark.parametrize("size", [[1, 1], [1, 300], [300, 1], [7, 6]])
def test_small_and_large_results(size, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.color_twist(fn.resize(x, size=size), hue=20.0, brightness=0.8)
        return fn.crop_mirror_normalize(x, mirror=1)

    check(define, image_batch(), monkeypatch, fused=[3])


@pytest.mark.parametrize("count", [1, 2, 7])
def test_batches_of_any_size(count, monkeypatch):
    check(typical, (image_batch() * 2)[:count], monkeypatch, fused=[4])


def test_the_window_of_a_result_is_that_of_the_whole(monkeypatch):
    """Tables that lose taps at a window's border must not change how the rest is added up."""

    def define(x: Any) -> Any:
        outputs = []
        for taps in range(2, 12):
            y = fn.resize(x, resize_x=120 / (taps - 0.5), resize_y=40, dtype=types.FLOAT)
            outputs.append(fn.flip(fn.slice(y, 0, 3, axis_names="W")))
        return tuple(outputs)

    check(define, [photo_like(50, 120, seed=3)] * 2, monkeypatch, fused=[3] * 10)


# --- What is fused -----------------------------------------------------------------------------


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
def test_what_is_fused_with_what(define, fused):
    assert [len(step.operators) for step in plan_of(define) if step.fused] == fused


# --- Errors ------------------------------------------------------------------------------------


def failing(line: int, batch: Batch) -> str:
    """Returns the error of a chain in which member `line` fails."""

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
def test_errors_are_those_of_the_operator_that_failed(line, text, monkeypatch):
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


# --- Together with the rest --------------------------------------------------------------------


def test_in_branches(monkeypatch):
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


@pytest.mark.parametrize("by", ["cpu", "hybrid"])
@pytest.mark.parametrize("narrow", [True, False])
def test_behind_a_decoder(by, narrow, monkeypatch):
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


def test_errors_behind_a_decoder_name_their_lines():
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


def test_memory_statistics_and_profile_know_the_members():
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
