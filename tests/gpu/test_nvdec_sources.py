# SPDX-License-Identifier: Apache-2.0
"""NVDEC for sources: fn.readers.video_resize and fn.experimental.inputs.video."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import nvdec, videos
from helpers.numbered_videos import numbers_of, write_video
from helpers.nvdec import assert_same

from torchdali import Pipeline, errors, fn, pipeline_def, types

pytestmark = pytest.mark.slow
INPUT = "input"


@pytest.fixture(autouse=True)
def _videos_can_be_decoded():
    if problem := videos.library_missing():
        pytest.skip(problem)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns videos of 20, 17 and 14 frames; a GPU does not decode the last one."""
    folder = tmp_path_factory.mktemp("videos")
    return [
        write_video(folder / "0.mp4", 20, gop=8),
        write_video(folder / "1.mkv", 17, first=50, codec="hevc"),
        write_video(folder / "2.mp4", 14, first=100, codec="mjpeg"),
    ]


# -- readers.video_resize


def outputs(read: Any, files: list[str], device: str, **args: Any) -> Any:
    return read(
        device=device, filenames=files, labels=list(range(len(files))), sequence_length=6,
        pad_sequences=True, enable_frame_num=True, enable_timestamps=True, **args,
    )  # fmt: skip


def given(args: dict[str, Any]) -> dict[str, Any]:
    return {name: value() if isfunction(value) else value for name, value in args.items()}


def resizing(files: list[str], **args: Any) -> Callable[[str], Any]:
    """Returns the definition of a pipeline that reads resized sequences, with all outputs."""
    return lambda device: outputs(fn.readers.video_resize, files, device, **given(args))


def resized(files: list[str], **args: Any) -> Callable[[str], Any]:
    """Returns a definition that is the same, with an operator for each step."""

    def define(device: str) -> Any:
        rest = given(args)
        of_reader = ("image_type", "adjust_orientation")
        reading = {name: rest.pop(name) for name in of_reader if name in rest}
        normalized = rest.pop("normalized", False)
        frames, *others = outputs(fn.readers.video, files, device, **reading)
        frames = fn.resize(frames, **rest)
        return [frames * np.float32(1 / 255) if normalized else frames, *others]

    return define


def assert_resized(
    monkeypatch: pytest.MonkeyPatch, files: list[str], batch: int, iterations: int, **args: Any
) -> dict[str, int]:
    """Compares readers.video_resize with the steps that it consists of, and with the CPU.

    Returns how the videos were decoded.
    """
    actual, counts = nvdec.run(resizing(files, **args), "gpu", batch, iterations)
    monkeypatch.setenv("TORCHDALI_NVDEC", "0")
    on_gpu, _ = nvdec.run(resized(files, **args), "gpu", batch, iterations)
    on_cpu, _ = nvdec.run(resizing(files, **args), "cpu", batch, iterations)
    monkeypatch.setenv("TORCHDALI_NVDEC", "1")
    for output, (ours, theirs) in enumerate(zip(actual, on_gpu, strict=True)):
        for a, b, c in zip(ours, theirs, on_cpu[output], strict=True):
            assert a.dtype == c.dtype
            assert torch.equal(a, b)
            # On the GPU, bytes are resized otherwise (docs/design/resample.md).
            differs = 0 if output > 0 else 1 if a.dtype == torch.uint8 else 1e-3
            torch.testing.assert_close(a, c, rtol=0, atol=differs)
    return counts


RESIZED = [
    {"size": [20, 30]},
    {"resize_shorter": 24, "antialias": False, "image_type": types.GRAY},
    {"resize_x": 200, "interp_type": types.INTERP_CUBIC, "image_type": types.YCbCr},
    {"size": [31, -17], "roi_start": [5.5, 10], "roi_end": [40, 100.25]},
    {"size": [20, 30], "dtype": types.FLOAT},
    {"size": [60, 30], "dtype": types.FLOAT, "normalized": True, "filter_edges": "cut"},
    {"resize_x": lambda: fn.random.uniform(range=[10, 90], seed=3)},
    {"resize_y": 33, "interp_type": types.INTERP_NN},
]


@pytest.mark.parametrize("fused", ["1", "0"])
@pytest.mark.parametrize("args", RESIZED)
def test_resized_frames_are_those_of_resize(nvdec_calls, monkeypatch, files, args, fused):
    monkeypatch.setenv("TORCHDALI_FUSION", fused)
    assert set(assert_resized(monkeypatch, files[:2], 3, 3, **args)) == {"NVDEC"}
    assert nvdec_calls("map")


def test_frames_that_the_cpu_decodes_are_resized_on_the_gpu_too(nvdec_calls, monkeypatch, files):
    args = {"size": [20, 30], "dtype": types.FLOAT, "normalized": True}
    counts = assert_resized(monkeypatch, files, 10, 2, **args)  # 4, 3 and 3 sequences
    assert counts["NVDEC"] > 0
    assert counts["CPU: codec mjpeg"] > 0
    before = nvdec_calls("map")
    counts = assert_resized(monkeypatch, files[2:], 3, 2, size=[20, 30])
    assert set(counts) == {"CPU: codec mjpeg"}
    assert nvdec_calls("map") == before


@pytest.mark.parametrize("upright", [True, False])
def test_turned_frames_are_resized(nvdec_calls, monkeypatch, tmp_path, upright):
    file = shutil.copy(videos.committed_path("rotated.mp4"), tmp_path)
    args = {"size": [30, 20], "adjust_orientation": upright}
    assert set(assert_resized(monkeypatch, [str(file)], 2, 1, **args)) == {"NVDEC"}


def test_resizing_is_a_part_of_a_chain(nvdec_calls, files):
    args = {"size": [20, 30], "dtype": types.FLOAT, "normalized": True}

    def define(device: str) -> Any:
        frames = resizing(files[:2], **args)(device)[0]
        return fn.crop_mirror_normalize(frames, crop=(16, 16), std=[0.5], output_layout="FCHW")

    assert set(assert_same(define, 2, 2, within=1e-3)) == {"NVDEC"}
    with Pipeline(2, 2, device_id=0) as pipe:
        pipe.set_outputs(define("gpu"))
    pipe.build()
    chains = [[part.op for part in step.operators] for step in pipe.plan() if step.fused]
    assert chains == [["resize", "brightness", "crop_mirror_normalize"]]


def test_frames_that_one_branch_uses(nvdec_calls, files):
    results = []
    for device in ("cpu", "gpu"):

        @pipeline_def(
            batch_size=5, num_threads=2, device_id=None if device == "cpu" else 0, seed=7,
            enable_conditionals=True,
        )  # fmt: skip
        def define(device: str) -> Any:
            frames = resizing(files[:2], size=[20, 30])(device)[0]
            if fn.random.coin_flip(dtype=types.BOOL):
                out = fn.flip(frames)
            else:
                out = fn.zeros(shape=[1, 2, 3, 3], dtype=types.UINT8, layout="FHWC")
            return out

        pipe = define(device)
        pipe.build()
        results.append(take(pipe, 2))
    assert_equal(*results, within=1)
    assert {len(x) for batch in results[0] for x in batch} == {1, 6}
    assert 0 < nvdec.counts_of(pipe)["NVDEC"] < 10


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"size": [20, 30], "resize_x": 3}, "`size`"),
        ({"size": [20, 30], "normalized": True}, "`normalized` frames are floats"),
        ({"resize_x": lambda: fn.random.uniform(range=[4e9, 5e9], seed=3)}, "too large|size"),
    ],
)
def test_errors_name_the_reader(nvdec_calls, files, args, text):
    for device in ("cpu", "gpu"):
        with pytest.raises(errors.TorchdaliError, match=text) as caught:
            nvdec.run(resizing(files[:2], **args), device, 2)
        assert str(caught.value).startswith("fn.readers.video_resize: ")


# -- experimental.inputs.video


def build(
    device: str, checkpoint: Any = None, batch_size: int = 2, depth: int = 2, **args: Any
) -> Pipeline:
    """Returns a pipeline with an input of videos."""
    pipe = Pipeline(
        batch_size, 2, device_id=None if device == "cpu" else 0, prefetch_queue_depth=depth,
        enable_checkpointing=True, checkpoint=checkpoint,
    )  # fmt: skip
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(name=INPUT, device=device, **args))
    pipe.build()
    return pipe


def feed(pipe: Pipeline, *files: str | Path) -> None:
    for file in files:
        pipe.feed_input(INPUT, [np.fromfile(file, np.uint8)])


def take(pipe: Pipeline, batches: int) -> list[list[torch.Tensor]]:
    """Returns the next batches, on the host."""
    found = []
    for _ in range(batches):
        (batch,) = pipe.run()
        assert batch.layout() == "FHWC"
        found.append([sample.cpu().clone() for sample in batch.as_torch_list()])
    return found


def assert_equal(
    ours: list[list[torch.Tensor]], theirs: list[list[torch.Tensor]], within: float = 0
) -> None:
    assert [len(batch) for batch in ours] == [len(batch) for batch in theirs]
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            torch.testing.assert_close(x, y, rtol=0, atol=within)


@pytest.mark.parametrize(
    ("batch_size", "args", "batches"),
    [
        (2, {"sequence_length": 3}, [4, 3, 3]),
        (3, {"sequence_length": 6, "last_sequence_policy": "pad"}, [2, 1, 1]),
        (4, {"sequence_length": 100, "last_sequence_policy": "pad"}, [1, 1, 1]),
        (30, {"sequence_length": 1, "no_copy": True}, [1, 1, 1]),
    ],
)
def test_videos_that_are_fed(nvdec_calls, files, batch_size, args, batches):
    results = []
    for device in ("cpu", "mixed"):
        pipe = build(device, batch_size=batch_size, **args)
        feed(pipe, *files)
        results.append(take(pipe, sum(batches)))
        with pytest.raises(errors.PipelineError, match="`input` has no data"):
            pipe.run()
        feed(pipe, files[0])
        results[-1] += take(pipe, batches[0])
    assert_equal(*results)
    counts = nvdec.counts_of(pipe)
    assert set(counts) == {"NVDEC", "CPU: codec mjpeg"}
    assert nvdec_calls("map")


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9"])
def test_sequences_of_a_batch_share_their_packets(nvdec_calls, tmp_path, codec):
    file = write_video(tmp_path / "a.mkv", 30, codec=codec, gop=250)
    results = []
    for device in ("cpu", "mixed"):
        pipe = build(device, batch_size=8, depth=1, sequence_length=4)
        feed(pipe, file)
        results.append(take(pipe, 1))
    assert_equal(*results)
    assert nvdec.counts_of(pipe) == {"NVDEC": 8}
    assert len(nvdec_calls("parser")) == 1
    # Also of a reader: some have frames in common.
    define = resizing([file], size=[48, 128], step=2)
    assert set(assert_same(define, 6, 2)) == {"NVDEC"}


def test_videos_that_are_fed_are_turned(nvdec_calls):
    for upright in (True, False):
        results = []
        for device in ("cpu", "mixed"):
            pipe = build(device, sequence_length=5, adjust_orientation=upright)
            feed(pipe, videos.committed_path("rotated.mp4"))
            results.append(take(pipe, 1))
        assert_equal(*results)
        assert set(nvdec.counts_of(pipe)) == {"NVDEC"}


def test_operators_follow_what_is_fed_with_run(nvdec_calls, files):
    pipe = Pipeline(2, 2, device_id=0)
    with pipe:
        frames = fn.experimental.inputs.video(name=INPUT, device="mixed", sequence_length=3)
        pipe.set_outputs(frames, fn.resize(frames, size=[24, 64]))
    frames, small = pipe.run(**{INPUT: [np.fromfile(files[1], np.uint8)]})
    expected = [[50, 51, 52], [53, 54, 55]]
    for batch in (frames, small):
        assert [numbers_of(x.cpu()) for x in batch.as_torch_list()] == expected
    assert set(nvdec.counts_of(pipe)) == {"NVDEC"}


@pytest.mark.parametrize("taken", range(4))
def test_a_checkpoint_continues_in_the_video(nvdec_calls, files, taken):
    args = {"sequence_length": 5, "batch_size": 2}
    pipe = build("mixed", **args)
    feed(pipe, *files[:2])
    expected = take(pipe, 4)  # two of each video
    first = build("mixed", **args)
    feed(first, *files[:2])
    take(first, taken)
    for device in ("mixed", "cpu"):  # a checkpoint knows nothing of the decoder
        resumed = build(device, first.checkpoint(), **args)
        feed(resumed, *files[taken // 2 : 2])
        assert_equal(take(resumed, 4 - taken), expected[taken:])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.zeros(100, np.int8), "1-D tensor of uint8, got int8"),
        (np.zeros(100, np.uint8), "cannot be opened|Invalid data"),
    ],
)
def test_data_that_is_no_video_is_an_error_where_it_is_fed(nvdec_calls, files, data, text):
    pipe = build("mixed", sequence_length=3)
    with pytest.raises(errors.TorchdaliError, match=text) as caught:
        pipe.feed_input(INPUT, [data])
    assert str(caught.value).startswith("fn.experimental.inputs.video: ")
    feed(pipe, files[0])
    assert numbers_of(take(pipe, 1)[0][0]) == [0, 1, 2]


def test_damaged_frames_cost_their_sequences(nvdec_calls, monkeypatch, files):
    data = bytearray(Path(files[0]).read_bytes())
    at = data.index(b"mdat") + 4
    damaged = range(at + (len(data) - at) // 3, at + (len(data) - at) // 2)
    data[damaged.start : damaged.stop] = b"\xff" * len(damaged)
    monkeypatch.setenv("FAKE_NVCUVID", "damaged")
    pipe = Pipeline(20, 2, device_id=0, on_error="skip")
    with pipe:
        pipe.set_outputs(
            fn.experimental.inputs.video(name=INPUT, device="mixed", sequence_length=1)
        )
    (batch,) = pipe.run(**{INPUT: [np.frombuffer(bytes(data), np.uint8)]})
    shown = [numbers_of(sample.cpu())[0] for sample in batch.as_torch_list()]
    lost = [error.sample for error in pipe.errors]
    assert shown
    assert lost
    assert sorted(shown + lost) == list(range(20))
    assert all(error.operator == "fn.experimental.inputs.video" for error in pipe.errors)


def test_nvdec_can_be_required(nvdec_calls, monkeypatch, files):
    monkeypatch.setenv("TORCHDALI_NVDEC", "required")
    with pytest.raises(errors.UnsupportedError, match="codec mjpeg") as caught:
        nvdec.run(resizing(files[2:], size=[20, 30]), "gpu")
    assert caught.value.operator == "fn.readers.video_resize"
    pipe = build("mixed", sequence_length=3)
    feed(pipe, files[0], files[2])
    take(pipe, 4)
    with pytest.raises(errors.UnsupportedError, match="codec mjpeg") as caught:
        pipe.run()
    assert caught.value.operator == "fn.experimental.inputs.video"


# -- the real library


@pytest.fixture
def committed(tmp_path: Path) -> list[str]:
    """Returns videos that need no program ffmpeg, where an index may be written beside them."""
    names = ["h264.mp4", "vp9.webm", "rotated.mp4"]
    return [str(shutil.copy(videos.committed_path(name), tmp_path)) for name in names]


@pytest.mark.cuda
@pytest.mark.on_gpu("readers.video_resize")
@pytest.mark.usefixtures("real_nvdec")
@pytest.mark.parametrize("args", RESIZED)
def test_the_real_library_reads_resized_frames(monkeypatch, committed, args):
    counts = assert_resized(monkeypatch, committed, 6, 2, **args)
    if "NVDEC" not in counts:
        pytest.skip(f"the GPU does not decode them: {counts}")


@pytest.mark.cuda
@pytest.mark.on_gpu("experimental.inputs.video")
@pytest.mark.usefixtures("real_nvdec")
@pytest.mark.parametrize("policy", ["pad", "partial"])
def test_the_real_library_takes_videos_that_are_fed(committed, policy):
    results = []
    for device in ("cpu", "mixed"):
        pipe = build(device, batch_size=2, sequence_length=5, last_sequence_policy=policy)
        feed(pipe, *committed)
        results.append(take(pipe, 2 * len(committed)))
    assert_equal(*results)
    counts = nvdec.counts_of(pipe)
    if "NVDEC" not in counts:
        pytest.skip(f"the GPU does not decode them: {counts}")
