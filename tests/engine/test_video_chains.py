# SPDX-License-Identifier: Apache-2.0
"""Operators that take the frames of a decoder one at a time, and the same one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import chains, videos

from torchdali import Pipeline, fn, pipeline_def
from torchdali.errors import TorchdaliError

Definition = Callable[[Any], Any]
BATCH = 3


def pipeline(define: Definition, files: list[Path], **decoding: Any) -> Pipeline:
    batch = [videos.as_tensor(file) for file in files]

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=5)
    def definition() -> Any:
        encoded = fn.external_source(source=lambda: batch, batch=True)
        options = {"start_frame": 3, "sequence_length": 5} | decoding
        return define(fn.decoders.video(encoded, **options))

    pipe: Pipeline = definition()
    pipe.build()
    return pipe


def run(pipe: Pipeline) -> list[torch.Tensor] | str:
    try:
        outputs = [pipe.run()[0] for _ in range(2)]  # other draws, used memory
    except TorchdaliError as error:
        return str(error)
    return [torch.as_tensor(o.at(i)).clone() for o in outputs for i in range(BATCH)]


def both(
    define: Definition, files: list[Path], monkeypatch: pytest.MonkeyPatch, **decoding: Any
) -> tuple[Any, Any]:
    results = []
    for fused in ("1", "0"):
        monkeypatch.setenv("TORCHDALI_FUSION", fused)
        results.append(run(pipeline(define, files, **decoding)))
    return results[0], results[1]


def check(
    define: Definition, files: list[Path], monkeypatch: pytest.MonkeyPatch, **decoding: Any
) -> None:
    fused, plain = both(define, files, monkeypatch, **decoding)
    if isinstance(plain, str):
        assert fused == plain
        return
    for f, p in zip(fused, plain, strict=True):
        assert (f.dtype, f.shape) == (p.dtype, p.shape)
        assert f.contiguous().numpy().tobytes() == p.contiguous().numpy().tobytes()


def files(*kinds: str) -> list[Path]:
    return [videos.video(kind) for kind in kinds]


def normalized(x: Any, **args: Any) -> Any:
    options = {"mean": [10.0, 20.0, 30.0], "std": [40.0, 50.0, 60.0], "crop": (40, 48)}
    return fn.crop_mirror_normalize(x, **(options | args))


DEFINITIONS: dict[str, Definition] = {
    "resize": lambda x: fn.resize(x, size=[50, 41]),
    "window": lambda x: fn.crop(x, crop=(33, 41), crop_pos_x=0.3),
    "window, resize": lambda x: fn.resize(fn.crop(x, crop=(33, 41)), size=[64, 64]),
    "random resize, flip": lambda x: fn.flip(fn.random_resized_crop(x, size=[30, 40]), vertical=1),
    "normalized": lambda x: normalized(fn.resize(x, size=[50, 60]), output_layout="FCHW", mirror=1),
    "as they are": lambda x: normalized(x, output_layout=""),
    "channels before frames": lambda x: normalized(x, output_layout="CFHW"),
    "no layout of frames": lambda x: normalized(x),  # an error
    "numbered axes": lambda x: fn.slice(x, 1, 3, axes=[0]),
    "named axes": lambda x: fn.slice(x, 0.1, 0.6, axis_names="W"),
    "padded": lambda x: fn.crop(x, crop=(80, 100), out_of_bounds_policy="pad"),
    "outside": lambda x: fn.crop(x, crop=(80, 100)),  # an error
    "frames differ": lambda x: fn.brightness(
        fn.crop(x, crop=(33, 41)), brightness=fn.per_frame(np.linspace(0, 2, 5, dtype=np.float32))
    ),
    "operand": lambda x: fn.resize(x, size=[20, 30]) / np.array([1, 2, 3], np.float32),
    "operand with frames": lambda x: (
        fn.resize(x, size=[20, 30]) * np.arange(5, dtype=np.float32).reshape(5, 1, 1, 1)
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(DEFINITIONS[name], files("h264", "vp8", "ten_bits"), monkeypatch)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_chains(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def define(x: Any) -> Any:
        draw = random.Random(seed)
        x = fn.random_resized_crop(chains.windowed(x, draw), size=[24, 31])
        for _ in range(3):
            x = draw.choice([chains.windowed, chains.flipped, chains.pixelwise])(x, draw)
        return x

    check(define, files("h264", "h264", "vp8"), monkeypatch)


@pytest.mark.parametrize(
    "decoding",
    [
        {"start_frame": 48, "pad_mode": "constant", "fill_value": [1, 2, 3]},
        {"start_frame": 48, "pad_mode": "reflect_101"},
        {"start_frame": 48, "pad_mode": "none"},
        {"stride": 4},
    ],
    ids=["filled", "reflected", "short", "stride"],
)
def test_chosen_frames(decoding: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    define = DEFINITIONS["window, resize"]
    check(define, files("h264", "vp8", "odd_444")[:2] * 2, monkeypatch, **decoding)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned(degrees: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = videos.folder() / f"turned-{degrees}.mp4"
    videos.ffmpeg(
        "-i", videos.video("h264"), "-c", "copy", "-metadata:s:v:0", f"rotate={degrees}", path
    )
    check(lambda x: fn.crop(x, crop=(37, 23), crop_pos_x=0.2), [path] * BATCH, monkeypatch)


def test_error_of_the_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    fused, plain = both(DEFINITIONS["resize"], files("h264") * 3, monkeypatch, start_frame=60)
    assert "`start_frame` is 60" in plain
    assert fused == plain


def peak_memory() -> int:
    """Returns the largest size of this process since it was reset, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_whole_frames_are_not_stored() -> None:
    path = videos.video("h264", seconds=0.2, size="1280x720")
    pipe = pipeline(
        lambda x: normalized(fn.crop(x, crop=(60, 60)), output_layout="FCHW"),
        [path] * BATCH,
        start_frame=0,
        sequence_length=100,
        pad_mode="edge",
    )
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = peak_memory()
    assert not isinstance(run(pipe), str)
    assert peak_memory() - before < 150e6  # whole frames of a sample are 276 MB
