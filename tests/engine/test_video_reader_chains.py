# SPDX-License-Identifier: Apache-2.0
"""Readers of videos whose frames the operators after them take one at a time, and the same without.

The reader decides what its samples are; a chain decodes the frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import videos

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali.errors import TorchdaliError

Definition = Callable[[Any], Any]
Samples = list[tuple[torch.Tensor, ...]]
BATCH = 3


def files(*kinds: str) -> list[str]:
    return [str(videos.video(kind)) for kind in kinds]


def normalized(x: Any, **args: Any) -> Any:
    options = {"mean": [10.0], "std": [40.0], "crop": (40, 48), "output_layout": "FCHW"}
    return fn.crop_mirror_normalize(x, **(options | args))


def pipeline(
    define: Definition,
    op: str = "readers.video",
    kinds: tuple[str, ...] = ("h264", "vp8", "ten_bits"),
    checkpoint: Any = None,
    **reading: Any,
) -> Pipeline:
    """Returns a pipeline of what `define` makes of the frames, and the other outputs."""
    options = {"filenames": files(*kinds), "labels": [], "sequence_length": 5}
    options["random_shuffle"] = True

    @pipeline_def(
        batch_size=BATCH, num_threads=2, device_id=None, seed=5, enable_checkpointing=True,
        checkpoint=checkpoint,
    )  # fmt: skip
    def definition() -> Any:
        function = fn
        for name in op.split("."):
            function = getattr(function, name)
        frames, *rest = function(name="reader", **(options | reading))
        return define(frames), *rest

    pipe: Pipeline = definition()
    pipe.build()
    return pipe


def run(pipe: Pipeline, batches: int = 3) -> Samples | str:
    """Returns the samples of some batches, or the error that one of them raises."""
    samples: Samples = []
    try:
        for _ in range(batches):
            lists = [output.as_torch_list() for output in pipe.run()]
            samples += [tuple(s.clone() for s in sample) for sample in zip(*lists, strict=True)]
    except TorchdaliError as error:
        return str(error)
    return samples


def is_fused(pipe: Pipeline) -> bool:
    """Returns whether the frames of the reader are made by a chain."""
    return any(step.fused and step.operators[0].name == "reader" for step in pipe.plan())


def same(fused: Iterable[Any], plain: Iterable[Any]) -> bool:
    pairs = [(f, p) for a, b in zip(fused, plain, strict=True) for f, p in zip(a, b, strict=True)]
    return all(
        f.dtype == p.dtype and f.shape == p.shape and f.numpy().tobytes() == p.numpy().tobytes()
        for f, p in pairs
    )


def both(
    define: Definition, monkeypatch: pytest.MonkeyPatch, *, fuses: bool = True, **reading: Any
) -> tuple[Any, Any]:
    results = []
    for on in (True, False):
        monkeypatch.setenv("TORCHDALI_FUSION", str(int(on)))
        pipe = pipeline(define, **reading)
        assert is_fused(pipe) == (on and fuses)
        results.append(run(pipe))
    return results[0], results[1]


def check(define: Definition, monkeypatch: pytest.MonkeyPatch, **reading: Any) -> None:
    fused, plain = both(define, monkeypatch, **reading)
    if isinstance(plain, str):
        assert fused == plain
    else:
        assert not isinstance(fused, str), fused
        assert len(plain) >= BATCH
        assert same(fused, plain)


def resized(x: Any) -> Any:
    return normalized(fn.resize(x, size=[50, 60]), mirror=fn.random.coin_flip())


@pytest.mark.parametrize(
    "define",
    [
        resized,
        lambda x: fn.crop(x, crop=(33, 41), crop_pos_x=fn.random.uniform(range=[0, 1])),
        lambda x: fn.flip(fn.random_resized_crop(x, size=[30, 40]), vertical=1),
        lambda x: fn.brightness(fn.crop(x, crop=(33, 41)), brightness=1.5) * 0.5,
        lambda x: normalized(x, output_layout="CFHW"),  # needs whole sequences
        lambda x: fn.crop(x, crop=(80, 100)),  # an error
    ],
)
def test_operators(define: Definition, monkeypatch: pytest.MonkeyPatch) -> None:
    check(define, monkeypatch)


PADDED = {"sequence_length": 21, "fill_value": [1, 2, 3]}


@pytest.mark.parametrize(
    "reading",
    [
        {"enable_frame_num": "sequence", "enable_timestamps": True, "stride": 2},
        {"enable_frame_num": "scalar", "clips_per_video": 4},
        {"jitter": 3, "step": 7, "seek_mode": "approximate", "kinds": ("h264", "vfr")},
        {"dtype": types.FLOAT, "image_type": types.GRAY},
        {"dtype": types.FLOAT, "normalized": True, "sequence_length": 30, "pad_sequences": True},
        {"image_type": types.YCbCr, "kinds": ("odd_444", "h264", "rgb")},
        {"op": "experimental.readers.video", "pad_mode": "constant", **PADDED},
        {"op": "experimental.readers.video", "pad_mode": "reflect_101", **PADDED},
        {"op": "experimental.readers.video", "uniform_sample": True, "sequence_length": 60},
    ],
)
def test_arguments_of_the_reader(reading: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    check(resized, monkeypatch, **reading)


@pytest.mark.parametrize(
    "reading",
    [
        {"size": [70, 90], "interp_type": types.INTERP_CUBIC},
        {"size": [70, 90], "kinds": ("odd_444", "h264", "ten_bits"), "image_type": types.GRAY},
        {"resize_shorter": 50, "dtype": types.FLOAT, "normalized": True, "sequence_length": 30,
         "pad_sequences": True},
        {"resize_x": 60, "roi_start": [0.9, 0.8], "roi_end": [0.1, 0.0], "roi_relative": True},
    ],
)  # fmt: skip
def test_resizing_reader(reading: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the window needs is resampled."""
    check(
        lambda x: normalized(x, crop=(31, 43), mirror=fn.random.coin_flip()),
        monkeypatch,
        op="readers.video_resize",
        **reading,
    )


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned(degrees: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = videos.folder() / f"to-read-{degrees}.mp4"
    turn = ["-metadata:s:v:0", f"rotate={degrees}"]
    videos.ffmpeg("-i", videos.video("h264"), "-c", "copy", *turn, path)
    check(lambda x: fn.crop(x, crop=(37, 23)), monkeypatch, filenames=[str(path)])


@pytest.mark.parametrize(
    "define",
    [
        lambda x: fn.cast(x, dtype=types.FLOAT),  # all pixels are needed
        lambda x: fn.resize(x, size=[20, 30], save_attrs=True)[0],
        lambda x: x,
    ],
)
def test_what_gains_nothing_is_left_alone(
    define: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused, plain = both(define, monkeypatch, fuses=False)
    assert same(fused, plain)


def test_frames_that_are_used_twice_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def define(x: Any) -> Any:
        return fn.resize(x, size=[20, 30]) + fn.resize(fn.flip(x), size=[20, 30])

    fused, plain = both(define, monkeypatch, fuses=False)
    assert same(fused, plain)


@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
def test_frames_that_cannot_be_decoded(
    on_error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file whose packets are damaged after the reader has indexed it."""
    path = tmp_path / "damaged.mp4"
    data = videos.video("png").read_bytes()
    results = []
    for on in ("1", "0"):
        path.write_bytes(data)
        monkeypatch.setenv("TORCHDALI_FUSION", on)
        pipe = pipeline(
            resized, filenames=[str(path), *files("h264")], random_shuffle=False, on_error=on_error,
            enable_frame_num="scalar",
        )  # fmt: skip
        with path.open("r+b") as file:
            file.seek(len(data) // 3)
            file.write(bytes(len(data) // 3))
        results.append(run(pipe, batches=6))
    fused, plain = results
    if on_error == "raise":
        assert "damaged.mp4" in plain
        assert "readers.video" in plain
        assert fused == plain
    else:
        assert len(fused) == len(plain)
        assert same(fused, plain)


def test_resuming_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = pipeline(resized, clips_per_video=3)
    run(pipe, batches=2)
    checkpoint = pipe.checkpoint()
    expected = run(pipe)
    for on in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", on)
        resumed = pipeline(resized, clips_per_video=3, checkpoint=checkpoint)
        assert same(run(resumed), expected)


def test_a_branch_does_not_decide_what_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage is found in all samples, as without fusion."""
    results = []
    for on in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", on)

        @pipeline_def(
            batch_size=BATCH, num_threads=2, device_id=None, seed=5, enable_conditionals=True
        )
        def define() -> Any:
            frames = fn.readers.video(name="reader", filenames=files("h264"), sequence_length=3)
            out = fn.constant(idata=[0], shape=[1, 1, 1, 1], dtype=types.UINT8, layout="FHWC")
            if fn.random.coin_flip() == 1:
                out = fn.resize(frames, size=[20, 30])
            return out

        pipe = define()
        assert not is_fused(pipe)
        results.append(run(pipe))
    assert same(*results)


def test_statistics_name_the_reader() -> None:
    pipe = pipeline(resized)
    run(pipe, batches=1)
    stats = {op.name: op for op in pipe.stats().operators}
    assert stats["reader"].operator == "readers.video"
    chain = next(op for op in stats.values() if op.parts)
    assert chain.operator == "readers.video + resize + crop_mirror_normalize"
    assert chain.parts[0].name == "reader"
    plan = pipe.plan()
    assert [o.op for o in plan.steps[-1].operators] == chain.operator.split(" + ")
    assert str(plan).startswith("4 operators in 3 steps (3 of them fused into 1)")


def test_sequences_of_fed_videos(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for on in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", on)
        pipe = Pipeline(BATCH, 2, device_id=None, seed=5)
        with pipe:
            frames = fn.experimental.inputs.video(
                name="reader", sequence_length=7, last_sequence_policy="pad"
            )
            pipe.set_outputs(resized(frames))
        pipe.build()
        assert is_fused(pipe) == (on == "1")
        for kind in ("h264", "vp8"):
            pipe.feed_input("reader", [videos.as_tensor(videos.video(kind)).numpy()])
        results.append(run(pipe, batches=6))
    assert len(results[1]) == 16  # 50 frames each
    assert same(*results)


def peak_memory() -> int:
    """Returns the largest size of this process since it was reset, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_whole_frames_are_not_stored() -> None:
    path = videos.video("h264", seconds=0.2, size="1280x720")
    pipe = pipeline(
        lambda x: normalized(fn.crop(x, crop=(60, 60))),
        op="experimental.readers.video",
        filenames=[str(path)] * BATCH,
        sequence_length=100,
        pad_mode="edge",
    )
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = peak_memory()
    assert not isinstance(run(pipe, batches=2), str)
    assert peak_memory() - before < 150e6  # whole frames of a sample are 276 MB
