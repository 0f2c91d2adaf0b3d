# SPDX-License-Identifier: Apache-2.0
"""Decoding by NVDEC: with a fake library, and (marked cuda) with the real one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import numbered_videos, videos

from torchdali import Pipeline, errors, fn, types

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
CSRC = HERE.parents[1] / "csrc"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
H265 = ("-c:v", "libx265", "-x265-params", "keyint=12:log-level=none")
# What makes each kind of file: the options of ffmpeg, and the suffix of the file.
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "h264": ((*videos.H264, "-g", "12", "-bf", "3"), ".mp4"),
    "h264_raw": ((*videos.H264, "-g", "12", "-bf", "3"), ".h264"),
    "h264_ts": ((*videos.H264, "-g", "12"), ".ts"),
    "hevc": ((*H265, "-pix_fmt", "yuv420p"), ".mp4"),
    "hevc_10": ((*H265, "-pix_fmt", "yuv420p10le"), ".mkv"),
    "full_range": ((*H265, "-pix_fmt", "yuvj420p", "-colorspace", "bt709"), ".mp4"),
    "vp8": (("-c:v", "libvpx", "-g", "20", "-auto-alt-ref", "1", "-lag-in-frames", "16"), ".webm"),
    "vp9": (("-c:v", "libvpx-vp9", "-g", "20", "-cpu-used", "8"), ".webm"),
    "av1": (("-c:v", "libaom-av1", "-cpu-used", "8", "-g", "20", "-usage", "realtime"), ".mp4"),
    "mpeg4": (("-c:v", "mpeg4", "-g", "12"), ".avi"),
}


@pytest.fixture(autouse=True)
def _videos_can_be_decoded():
    if problem := videos.library_missing():
        pytest.skip(problem)


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the fake library; it stays loaded, so all tests share one."""
    if COMPILER is None or shutil.which("pkg-config") is None:
        pytest.skip("no C++ compiler, or no pkg-config")
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libavcodec", "libavutil"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        pytest.skip("no headers of libavcodec")
    library = tmp_path_factory.mktemp("nvdec") / "libfake_nvcuvid.so"
    command = [COMPILER, "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{CSRC}", str(HERE / "fake_nvcuvid.cpp"), "-o", str(library)]
    subprocess.run([*command, *found.stdout.split()], check=True)
    return library


@pytest.fixture
def calls(
    stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[list[int]]]:
    """Makes pipelines use the fake library; returns what reads its calls of a function."""
    log = tmp_path / "calls"
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    monkeypatch.setenv("TORCHDALI_NVDEC_LIBRARY", str(stand_in))
    monkeypatch.setenv("FAKE_NVCUVID_LOG", str(log))
    monkeypatch.setenv("TORCHDALI_NVDEC", "1")

    def read(name: str) -> list[list[int]]:
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [[int(number) for number in numbers] for found, *numbers in lines if found == name]

    return read


def made(kind: str, size: str = "100x66", frames: int = 30) -> Path:
    """Returns a file of one of KINDS."""
    options, suffix = KINDS[kind]
    path = videos.folder() / f"nvdec-{kind}-{size}-{frames}{suffix}"
    if not path.exists():
        source = f"testsrc2=size={size}:rate=25:duration={frames / 25}"
        videos.ffmpeg("-f", "lavfi", "-i", source, *options, path)
    return path


def run(
    define: Callable[[str], Any], device: str, batch: int = 1, iterations: int = 1
) -> tuple[list[list[torch.Tensor]], dict[str, int]]:
    """Returns the outputs of the last batch, on the host, and how the videos were decoded."""
    with Pipeline(
        batch_size=batch, num_threads=2, device_id=0 if device != "cpu" else None
    ) as pipe:
        outputs = define(device)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    for _ in range(iterations):
        batches = pipe.run()
    samples = [[x.cpu().clone() for x in out.as_torch_list()] for out in batches]
    counts: dict[str, int] = {}
    for operator in pipe.stats().operators:
        for what, count in operator.counts.items():
            counts[what] = counts.get(what, 0) + count
    return samples, counts


def decoder(*files: Path | bytes, **args: Any) -> Callable[[str], Any]:
    """Returns the definition of a pipeline that decodes files."""
    data = [videos.as_tensor(file) for file in files]

    def define(device: str) -> Any:
        source = fn.external_source(source=[data], cycle=True)
        return fn.decoders.video(source, device="mixed" if device == "gpu" else "cpu", **args)

    return define


def assert_same(
    define: Callable[[str], Any], batch: int = 1, iterations: int = 1
) -> dict[str, int]:
    """Compares a pipeline on the GPU with the CPU; returns how the videos were decoded."""
    expected, _ = run(define, "cpu", batch, iterations)
    actual, counts = run(define, "gpu", batch, iterations)
    for ours, theirs in zip(actual, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype
            assert torch.equal(a, b)
    return counts


# -- frames


@pytest.mark.parametrize("kind", KINDS)
def test_frames_equal_those_of_the_cpu(calls, kind):
    counts = assert_same(decoder(made(kind), frames=[25, 3, 4, 4, 29, 0]))
    assert set(counts) == {"NVDEC"}
    assert calls("map")
    assert len(calls("create")) == len(calls("destroy"))
    assert len(calls("parser")) == len(calls("parser_end"))


def test_whole_videos_of_several_sizes_in_a_batch(calls):
    files = [made("h264"), made("h264", "64x48", 20), made("hevc_10"), made("vp9", "97x63")]
    counts = assert_same(decoder(*files, sequence_length=35, fill_value=[1, 2, 3]), 4, 3)
    assert counts["NVDEC"] >= 12
    # Decoders are used again: for the next batches, and for pictures that are smaller.
    assert len(calls("create")) <= 4
    assert len(calls("create")) == len(calls("destroy"))


def test_a_decoder_takes_smaller_pictures(calls):
    assert_same(decoder(made("h264"), made("h264", "64x48", 20), sequence_length=3), 2, 3)
    assert len(calls("create")) <= 2
    assert_same(decoder(made("h264", "64x48", 20), frames=[1]), 1, 2)


def test_frames_are_turned(calls):
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
def test_the_reader(calls, tmp_path, args):
    files = [numbered_videos.write_video(tmp_path / f"{i}.mp4", 20, first=i) for i in range(2)]

    def define(device: str) -> Any:
        return fn.readers.video(
            device=device, filenames=files, labels=[3, 4], sequence_length=8, pad_sequences=True,
            step=5, enable_frame_num=True, enable_timestamps=True, name="Reader", **args,
        )  # fmt: skip

    counts = assert_same(define, 3, 3)
    assert set(counts) == {"NVDEC"}
    assert calls("map")


def test_the_experimental_reader(calls, tmp_path):
    file = numbered_videos.write_video(tmp_path / "a.mp4", 20)

    def define(device: str) -> Any:
        return fn.experimental.readers.video(
            device=device, filenames=[file], sequence_length=8, pad_mode="reflect_101", stride=2
        )

    assert set(assert_same(define, 2, 2)) == {"NVDEC"}


def test_operators_that_follow_run_on_the_gpu(calls):
    def define(device: str) -> Any:
        frames = decoder(made("h264"), sequence_length=4)(device)
        return fn.crop_mirror_normalize(frames, crop=(32, 48), output_layout="FCHW")

    assert set(assert_same(define)) == {"NVDEC"}


# -- what the GPU does not decode


def test_other_files_are_decoded_on_the_cpu(calls):
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
def test_failures_of_the_library_are_made_up_for(calls, monkeypatch, failure, why):
    monkeypatch.setenv("FAKE_NVCUVID", failure)
    counts = assert_same(decoder(made("h264"), made("hevc_10"), sequence_length=14), 2, 2)
    assert all(what.startswith("CPU: ") for what in counts)
    assert any(why in what for what in counts)
    assert len(calls("parser")) - len(calls("parser_end")) == 0 if failure != "parser" else True


def test_what_the_gpu_lacks_is_left_to_the_cpu(calls, stand_in, tmp_path, monkeypatch):
    # A library of its own, because what it says is remembered.
    monkeypatch.setenv("TORCHDALI_NVDEC_LIBRARY", str(shutil.copy(stand_in, tmp_path)))
    monkeypatch.setenv("FAKE_NVCUVID", "codec")
    counts = assert_same(decoder(made("vp8"), sequence_length=3), 1, 4)
    assert set(counts) == {"CPU: codec vp8 of 8 bits"}
    # Once that is known, nothing is prepared for the GPU.
    before = len(calls("caps"))
    assert_same(decoder(made("vp8"), sequence_length=3), 1, 2)
    assert len(calls("caps")) == before


def test_small_pictures_are_left_to_the_cpu(calls):
    counts = assert_same(decoder(made("vp9", "40x24", 5), sequence_length=3), 1, 2)
    assert set(counts) == {"CPU: size 40x24"}


def test_damaged_files_are_errors_as_on_the_cpu(calls, monkeypatch):
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
def test_it_is_off_by_default(value, calls, monkeypatch):
    monkeypatch.setenv("TORCHDALI_NVDEC", value)
    assert assert_same(decoder(made("h264"), sequence_length=3)) == {}
    assert not calls("caps")


def test_it_can_be_required(calls, monkeypatch):
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


def test_other_values_are_an_error(calls, monkeypatch):
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


def test_counts_are_shown(calls):
    with Pipeline(batch_size=1, num_threads=1, device_id=0) as pipe:
        pipe.set_outputs(decoder(made("h264"), sequence_length=3)("gpu"))
    pipe.build()
    pipe.run()
    assert "NVDEC: " in str(pipe.stats(reset=True))
    assert all(n >= 0 for o in pipe.stats().operators for n in o.counts.values())


# -- the real library


@pytest.fixture
def real_library(monkeypatch):
    """Uses the GPU and the driver's library, and says what else is so in a failure."""
    for name in ("TORCHDALI_EMULATE_GPU", "TORCHDALI_NVDEC_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCHDALI_NVDEC", "1")


# The standards define every bit of a frame, but not of MPEG-4's inverse DCT.
@pytest.mark.cuda
@pytest.mark.on_gpu("decoders.video")
@pytest.mark.parametrize("kind", [*KINDS, "h264.mp4", "vp9.webm", "rotated.mp4"])
@pytest.mark.usefixtures("real_library")
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
@pytest.mark.usefixtures("real_library")
def test_the_real_library_reads_in_step_with_the_cpu(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHDALI_NVDEC", "required")
    files = [numbered_videos.write_video(tmp_path / f"{i}.mp4", 50, first=i) for i in range(3)]

    def define(device: str) -> Any:
        return fn.readers.video(
            device=device, filenames=files, sequence_length=8, random_shuffle=True, seed=5,
            clips_per_video=4, enable_frame_num=True,
        )  # fmt: skip

    assert set(assert_same(define, 4, 5)) == {"NVDEC"}
