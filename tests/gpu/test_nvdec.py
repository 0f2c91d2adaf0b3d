# SPDX-License-Identifier: Apache-2.0
"""Decoding by NVDEC: with a fake library, and (marked cuda) with the real one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import numbered_videos, videos
from helpers.nvdec import KINDS, assert_same, made, run

from torchdali import Pipeline, errors, fn, types

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _videos_can_be_decoded():
    if problem := videos.library_missing():
        pytest.skip(problem)


def decoder(*files: Path | bytes, **args: Any) -> Callable[[str], Any]:
    """Returns the definition of a pipeline that decodes files."""
    data = [videos.as_tensor(file) for file in files]

    def define(device: str) -> Any:
        source = fn.external_source(source=[data], cycle=True)
        return fn.decoders.video(source, device="mixed" if device == "gpu" else "cpu", **args)

    return define


# -- frames


@pytest.mark.parametrize("kind", KINDS)
def test_frames_equal_those_of_the_cpu(nvdec_calls, kind):
    counts = assert_same(decoder(made(kind), frames=[25, 3, 4, 4, 29, 0]))
    assert set(counts) == {"NVDEC"}
    assert nvdec_calls("map")
    assert len(nvdec_calls("create")) == len(nvdec_calls("destroy"))
    assert len(nvdec_calls("parser")) == len(nvdec_calls("parser_end"))


def test_whole_videos_of_several_sizes_in_a_batch(nvdec_calls):
    files = [made("h264"), made("h264", "64x48", 20), made("hevc_10"), made("vp9", "97x63")]
    counts = assert_same(decoder(*files, sequence_length=35, fill_value=[1, 2, 3]), 4, 3)
    assert counts["NVDEC"] >= 12
    # Decoders are used again: for the next batches, and for pictures that are smaller.
    assert len(nvdec_calls("create")) <= 4
    assert len(nvdec_calls("create")) == len(nvdec_calls("destroy"))


def test_a_decoder_takes_smaller_pictures(nvdec_calls):
    assert_same(decoder(made("h264"), made("h264", "64x48", 20), sequence_length=3), 2, 3)
    assert len(nvdec_calls("create")) <= 2
    assert_same(decoder(made("h264", "64x48", 20), frames=[1]), 1, 2)


def test_frames_are_turned(nvdec_calls):
    rotated = videos.committed_path("rotated.mp4")
    assert set(assert_same(decoder(rotated))) == {"NVDEC"}
    assert set(assert_same(decoder(rotated, adjust_orientation=False))) == {"NVDEC"}


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"image_type": types.YCbCr, "dtype": types.FLOAT, "normalized": True},
        {"image_type": types.GRAY},
        {"dtype": types.FLOAT},
    ],
)
def test_the_reader(nvdec_calls, tmp_path, args):
    files = [numbered_videos.write_video(tmp_path / f"{i}.mp4", 20, first=i) for i in range(2)]

    def define(device: str) -> Any:
        return fn.readers.video(
            device=device, filenames=files, labels=[3, 4], sequence_length=8, pad_sequences=True,
            step=5, enable_frame_num=True, enable_timestamps=True, name="Reader", **args,
        )  # fmt: skip

    counts = assert_same(define, 3, 3)
    assert set(counts) == {"NVDEC"}
    assert nvdec_calls("map")


def test_the_experimental_reader(nvdec_calls, tmp_path):
    file = numbered_videos.write_video(tmp_path / "a.mp4", 20)

    def define(device: str) -> Any:
        return fn.experimental.readers.video(
            device=device, filenames=[file], sequence_length=8, pad_mode="reflect_101", stride=2
        )

    assert set(assert_same(define, 2, 2)) == {"NVDEC"}


def test_operators_that_follow_run_on_the_gpu(nvdec_calls):
    def define(device: str) -> Any:
        frames = decoder(made("h264"), sequence_length=4)(device)
        return fn.crop_mirror_normalize(frames, crop=(32, 48), output_layout="FCHW")

    assert set(assert_same(define)) == {"NVDEC"}


# -- what the GPU does not decode


def test_other_files_are_decoded_on_the_cpu(nvdec_calls):
    files = {
        "CPU: codec mjpeg": videos.video("mjpeg"),
        "CPU: format yuv444p": videos.video("odd_444"),
        "CPU: interlaced": videos.video("interlaced"),
        "CPU: no IDR picture before it": videos.video("open_gop"),
    }
    counts = assert_same(decoder(*files.values(), made("h264"), frames=[20, 21, 22]), 5)
    for what in files:
        assert counts[what] >= 1
    assert counts["NVDEC"] >= 1
    counts = assert_same(decoder(made("h264"), sequence_length=3, build_index=False))
    assert set(counts) == {"CPU: no index"}


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        ("caps", "error 1 of cuvidGetDecoderCaps"),
        ("create", "error 801 of cuvidCreateDecoder"),
        ("decode", "error of cuvidDecodePicture"),
        ("map", "error 1 of cuvidMapVideoFrame64"),
        ("damaged", "damaged data"),
        ("missing", "pictures did not come"),
        ("parser", "error 1 of cuvidCreateVideoParser"),
        ("parse", "error 1 of cuvidParseVideoData"),
        ("size", "size 98x66 in a video of 100x66"),
    ],
)
def test_failures_of_the_library_are_made_up_for(nvdec_calls, monkeypatch, failure, why):
    monkeypatch.setenv("FAKE_NVCUVID", failure)
    counts = assert_same(decoder(made("h264"), made("hevc_10"), sequence_length=14), 2, 2)
    assert all(what.startswith("CPU: ") for what in counts)
    assert any(why in what for what in counts)
    assert (
        len(nvdec_calls("parser")) - len(nvdec_calls("parser_end")) == 0
        if failure != "parser"
        else True
    )


def test_what_the_gpu_lacks_is_left_to_the_cpu(nvdec_calls, fake_nvcuvid, tmp_path, monkeypatch):
    # A library of its own, because what it says is remembered.
    monkeypatch.setenv("TORCHDALI_NVDEC_LIBRARY", str(shutil.copy(fake_nvcuvid, tmp_path)))
    monkeypatch.setenv("FAKE_NVCUVID", "codec")
    counts = assert_same(decoder(made("vp8"), sequence_length=3), 1, 4)
    assert set(counts) == {"CPU: codec vp8 of 8 bits"}
    # Once that is known, nothing is prepared for the GPU.
    before = len(nvdec_calls("caps"))
    assert_same(decoder(made("vp8"), sequence_length=3), 1, 2)
    assert len(nvdec_calls("caps")) == before


def test_small_pictures_are_left_to_the_cpu(nvdec_calls):
    counts = assert_same(decoder(made("vp9", "40x24", 5), sequence_length=3), 1, 2)
    assert set(counts) == {"CPU: size 40x24"}


def test_damaged_files_are_errors_as_on_the_cpu(nvdec_calls, monkeypatch):
    data = bytearray(videos.video("h264").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    monkeypatch.setenv("FAKE_NVCUVID", "damaged")
    for device in ("cpu", "gpu"):
        with pytest.raises(errors.DataError, match=r"frame \d+ of the video .*cannot be") as caught:
            run(decoder(made("h264"), bytes(data)), device, 2)
        assert str(caught.value).startswith("fn.decoders.video: ")
        assert "sample 1 of 2" in str(caught.value)


# -- the environment


@pytest.mark.parametrize("value", ["0", ""])
def test_it_is_off_by_default(value, nvdec_calls, monkeypatch):
    monkeypatch.setenv("TORCHDALI_NVDEC", value)
    assert assert_same(decoder(made("h264"), sequence_length=3)) == {}
    assert not nvdec_calls("caps")


def test_it_can_be_required(nvdec_calls, monkeypatch):
    monkeypatch.setenv("TORCHDALI_NVDEC", "required")
    assert set(assert_same(decoder(made("h264"), sequence_length=3))) == {"NVDEC"}
    with pytest.raises(errors.UnsupportedError, match=r"sample 1 of 2") as caught:
        run(decoder(made("h264"), videos.video("mjpeg"), sequence_length=3), "gpu", 2)
    assert "fn.decoders.video" in str(caught.value)
    assert "cannot be decoded by NVDEC (codec mjpeg)" in str(caught.value)
    monkeypatch.setenv("FAKE_NVCUVID", "map")
    with pytest.raises(errors.UnsupportedError, match="error 1 of cuvidMapVideoFrame64") as caught:
        run(decoder(made("h264"), sequence_length=3), "gpu")
    assert "sample 0 of 1" in str(caught.value)


def test_other_values_are_an_error(nvdec_calls, monkeypatch):
    monkeypatch.setenv("TORCHDALI_NVDEC", "yes")
    with pytest.raises(ValueError, match='TORCHDALI_NVDEC: unknown value "yes"'):
        run(decoder(made("h264")), "gpu")


def test_without_the_library_the_cpu_decodes(monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    monkeypatch.setenv("TORCHDALI_NVDEC_LIBRARY", "/nowhere/libnvcuvid.so")
    monkeypatch.setenv("TORCHDALI_NVDEC", "1")
    assert assert_same(decoder(made("h264"), sequence_length=3)) == {}
    monkeypatch.setenv("TORCHDALI_NVDEC", "required")
    with pytest.raises(RuntimeError, match="NVDEC was not found: /nowhere/libnvcuvid.so"):
        run(decoder(made("h264")), "gpu")


def test_counts_are_shown(nvdec_calls):
    with Pipeline(batch_size=1, num_threads=1, device_id=0) as pipe:
        pipe.set_outputs(decoder(made("h264"), sequence_length=3)("gpu"))
    pipe.build()
    pipe.run()
    assert "NVDEC: " in str(pipe.stats(reset=True))
    assert all(n >= 0 for o in pipe.stats().operators for n in o.counts.values())


# -- the real library


# The standards define every bit of a frame, but not of MPEG-4's inverse DCT.
@pytest.mark.cuda
@pytest.mark.on_gpu("decoders.video")
@pytest.mark.parametrize("kind", [*KINDS, "h264.mp4", "vp9.webm", "rotated.mp4"])
@pytest.mark.usefixtures("real_nvdec")
def test_the_real_library_decodes_the_frames_of_the_cpu(kind):
    # Those that are committed need no program ffmpeg.
    file = made(kind, "320x180", 60) if kind in KINDS else videos.committed_path(kind)
    frames = [50, 3, 4, 4, 59, 0] if kind in KINDS else [11, 3, 4, 4, 0]
    expected, _ = run(decoder(file, frames=frames), "cpu")
    actual, counts = run(decoder(file, frames=frames), "gpu", iterations=3)
    difference = actual[0][0].int() - expected[0][0].int()
    assert difference.abs().max() <= (3 if kind == "mpeg4" else 0)
    if "NVDEC" not in counts:
        pytest.skip(f"the GPU does not decode it: {counts}")


@pytest.mark.cuda
@pytest.mark.on_gpu("readers.video")
@pytest.mark.usefixtures("real_nvdec")
def test_the_real_library_reads_in_step_with_the_cpu(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHDALI_NVDEC", "required")
    files = [numbered_videos.write_video(tmp_path / f"{i}.mp4", 50, first=i) for i in range(3)]

    def define(device: str) -> Any:
        return fn.readers.video(
            device=device, filenames=files, sequence_length=8, random_shuffle=True, seed=5,
            clips_per_video=4, enable_frame_num=True,
        )  # fmt: skip

    assert set(assert_same(define, 4, 5)) == {"NVDEC"}
