# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.video: the frames of files that ffmpeg makes, against those that ffmpeg decodes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from helpers import videos
from helpers.cases import for_each
from helpers.ops import OpCase, PerSample, run_op
from helpers.videos import as_tensor, committed

from torchdali import _C, fn
from torchdali.errors import DataError, UnsupportedError

OP = "decoders.video"
NOT_IN_DALI = "DALI 1.35 has no such argument"
FRAMES = 12  # of the committed files


def case(file="h264.mp4", no_parity=NOT_IN_DALI, **args) -> OpCase:
    return OpCase(OP, make=lambda _: committed(file), args=args, batch=2, no_parity=no_parity,
                  algorithm="video", dali_op="experimental.decoders.video")  # fmt: skip


CASES = [
    case(no_parity=""),
    case("vp9.webm", no_parity="DALI's CPU decoder takes H.264 and HEVC only"),
    case("rotated.mp4", no_parity="DALI does not turn frames"),
    case("rotated.mp4", adjust_orientation=False),
    case(start_frame=3, sequence_length=4),
    case(start_frame=1, end_frame=8, stride=3),
    case(start_frame=PerSample([0, 7]), sequence_length=PerSample([2, 3])),
    case(frames=[11, 0, 5, 5]),
    case(frames=PerSample([torch.tensor([2, 9]), torch.tensor([4])])),
    case(start_frame=10, sequence_length=5, fill_value=[1, 2, 3]),
    case(start_frame=9, sequence_length=8, pad_mode="reflect_101"),
    case(
        start_frame=9,
        sequence_length=5,
        pad_mode=PerSample([as_tensor(b"edge"), as_tensor(b"none")]),
    ),
    case(sequence_length=4, build_index=False),
]


@pytest.fixture(autouse=True)
def _videos_can_be_decoded():
    if problem := videos.library_missing():
        pytest.skip(problem)


def decode(file, **args) -> np.ndarray:
    return run_op(OP, as_tensor(file), **args).numpy()


def expected_frames(file) -> np.ndarray:
    """The frames in RGB as ffmpeg decodes them; its conversion rounds tables, ours each pixel."""
    width, height = videos.size_of(file)
    options = ("-pix_fmt", "rgb24", "-sws_flags", "neighbor")  # chroma is repeated
    frames = videos.raw_frames(file, *options)
    return np.stack([np.frombuffer(f, np.uint8) for f in frames]).reshape(-1, height, width, 3)


def assert_same_frames(actual: np.ndarray, expected: np.ndarray):
    # Another frame of the test pattern differs by hundreds somewhere.
    assert actual.shape == expected.shape
    difference = np.abs(actual.astype(np.int16) - expected).max(axis=(1, 2, 3))
    assert difference.max() <= 4, difference


@for_each("kind", list(videos.KINDS))
def test_frames_are_those_of_ffmpeg_in_any_order(kind):
    file = videos.video(kind)
    whole = decode(file)
    assert_same_frames(whole, expected_frames(file))
    rng = np.random.default_rng(1)
    for frames in (rng.permutation(len(whole)), rng.integers(len(whole), size=7), [1], [20, 21, 4]):
        some = [int(i) for i in frames]
        assert np.array_equal(decode(file, frames=some), whole[some]), some


@for_each("kind", ["h264", "open_gop", "h264_ts", "av1", "mpeg4_avi"])
def test_a_sequence_of_clips_is_the_whole(kind):
    file = as_tensor(videos.video(kind))
    whole = run_op(OP, file)
    for start in range(0, len(whole), 7):
        clip = run_op(OP, file, start_frame=start, sequence_length=7, pad_mode="none")
        assert torch.equal(clip, whole[start : start + 7]), start


def test_large_frames_without_a_matrix_have_the_colors_of_ffmpeg():
    file = videos.video("h264", seconds=0.2, size="1280x720")
    assert_same_frames(decode(file), expected_frames(file))


def test_frames_that_an_edit_list_discards_are_none(tmp_path):
    cut = tmp_path / "cut.mp4"
    videos.ffmpeg("-ss", "0.43", "-i", videos.video("h264"), "-c", "copy", cut)
    whole = decode(cut)
    assert_same_frames(whole, expected_frames(cut))
    assert len(whole) < 45  # of the packets in the file
    assert np.array_equal(decode(cut, frames=[5]), whole[5:6])


def test_sound_before_the_video_does_not_matter(tmp_path):
    file = tmp_path / "sound.mp4"
    videos.ffmpeg("-f", "lavfi", "-i", "sine=duration=2", "-i", videos.video("h264"),
                  "-map", "0", "-map", "1", "-c:v", "copy", file)  # fmt: skip
    assert np.array_equal(decode(file), decode(videos.video("h264")))


def test_frames_are_turned_by_the_rotation_of_the_file():
    stored = run_op(OP, committed("rotated.mp4"), adjust_orientation=False)
    turned = run_op(OP, committed("rotated.mp4"))
    assert turned.shape[1:3] == (stored.shape[2], stored.shape[1])
    assert torch.equal(turned, torch.rot90(stored, 1, (1, 2)))  # 270 degrees clockwise
    for degrees, quarters in ((90, 1), (180, 2)):
        file = videos.folder() / f"turned-{degrees}.mp4"
        videos.ffmpeg("-i", videos.committed_path("h264.mp4"), "-c", "copy",
                      "-metadata:s:v:0", f"rotate={360 - degrees}", file)  # fmt: skip
        assert np.array_equal(decode(file), np.rot90(stored.numpy(), -quarters, (1, 2)))


@for_each("kind", ["h264", "h264_ts"])
def test_a_truncated_file_has_the_frames_of_its_whole_packets(kind, tmp_path):
    # Fragments, since the index of an MP4 file is at its end.
    data = videos.video("fragments" if kind == "h264" else kind).read_bytes()
    whole = decode(videos.video("fragments" if kind == "h264" else kind))
    file = tmp_path / "cut"
    file.write_bytes(data[: len(data) * 2 // 3])
    some = decode(file)
    assert len(whole) // 3 < len(some) < len(whole)
    # The packet that was cut cannot be told in MPEG-TS; it is one of the last in any order.
    assert np.array_equal(some[:-4], whole[: len(some) - 4])


def sequence(**args) -> list[int]:
    """Which frames a call gives, by comparison with all frames; -1 for those of the fill value."""
    file = committed("h264.mp4")
    whole = list(run_op(OP, file))
    filled = torch.full_like(whole[0], 7)
    found = []
    for frame in run_op(OP, file, fill_value=7, **args):
        equal = [i for i, other in enumerate(whole) if torch.equal(frame, other)]
        found.append(equal[0] if equal else -1 if torch.equal(frame, filled) else -2)
    return found


@for_each(
    ("args", "expected"),
    [
        ({}, list(range(12))),
        ({"start_frame": 9}, [9, 10, 11]),
        ({"end_frame": 3}, [0, 1, 2]),
        ({"start_frame": 1, "end_frame": 8, "stride": 3}, [1, 4, 7]),
        ({"sequence_length": 3, "stride": 5}, [0, 5, 10]),
        ({"start_frame": 10, "sequence_length": 4}, [10, 11, -1, -1]),
        ({"start_frame": 10, "end_frame": 14}, [10, 11, -1, -1]),
        ({"start_frame": 10, "end_frame": 14, "pad_mode": "none"}, [10, 11]),
        ({"start_frame": 5, "sequence_length": 4, "stride": 5, "pad_mode": "edge"},
         [5, 10, 11, 11]),
        ({"start_frame": 9, "sequence_length": 7, "pad_mode": "symmetric"},
         [9, 10, 11, 11, 10, 9, 8]),
        ({"start_frame": 9, "sequence_length": 7, "pad_mode": "reflect"},
         [9, 10, 11, 10, 9, 8, 7]),
        ({"start_frame": 6, "sequence_length": 5, "stride": 4, "pad_mode": "reflect"},
         [6, 10, 8, 4, 0]),
        ({"frames": [7, 7, 0]}, [7, 7, 0]),
    ],
)  # fmt: skip
def test_the_frames_of_a_sequence(args, expected):
    assert sequence(**args) == expected


@for_each(
    ("args", "text"),
    [
        ({"start_frame": 12}, "`start_frame` is 12, but the video has 12 frames"),
        ({"start_frame": -1}, "`start_frame` is -1, but"),
        ({"frames": [3, 12]}, "`frames` has 12, but the video has 12 frames"),
        ({"frames": [3], "stride": 2}, "`frames` excludes start_frame"),
        ({"end_frame": 3, "sequence_length": 2}, "`end_frame` excludes sequence_length"),
        ({"start_frame": 3, "end_frame": 3}, "`end_frame` is 3, but start_frame is 3"),
        ({"stride": 2**31}, "`stride` is 2147483648, expected less than"),
        ({"stride": 0}, "`stride` is 0, expected 1 or more"),
        ({"sequence_length": 0}, "`sequence_length` is 0, expected 1 or more"),
        ({"pad_mode": "wrap"}, '`pad_mode` is "wrap", expected "none"'),
        ({"fill_value": [1, 2]}, "`fill_value` has 2 values, expected 1 or 3"),
        ({"fill_value": 256}, "`fill_value` has 256, expected 0 to 255"),
    ],
)
def test_wrong_arguments_are_refused(args, text):
    with pytest.raises(RuntimeError, match=text):
        run_op(OP, committed("h264.mp4"), **args)


def test_without_an_index_frames_are_found_by_their_time():
    file = videos.video("h264")
    whole = decode(file)
    for start in (0, 17, 49):
        some = decode(file, start_frame=start, sequence_length=1, build_index=False)
        assert np.array_equal(some, whole[start : start + 1])


@for_each("file", [b"", b"no video", bytes(1000), b"#EXTM3U\nhttp://example.com/a.ts\n",
                   b"ffconcat version 1.0\nfile /etc/passwd\n"])  # fmt: skip
def test_other_files_are_refused(file):
    with pytest.raises(DataError, match="the video is not a video that FFmpeg can read: "):
        run_op(OP, as_tensor(file))


def test_a_file_with_sound_only_is_refused(tmp_path):
    file = tmp_path / "sound.mp4"
    videos.ffmpeg("-f", "lavfi", "-i", "sine=duration=1", file)
    with pytest.raises(DataError, match="Stream not found"):
        decode(file)


def test_a_damaged_frame_is_named():
    data = bytearray(videos.video("h264").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    with pytest.raises(DataError, match=r"frame \d+ of the video \([\d.]+ s, byte \d+\) cannot be"):
        run_op(OP, as_tensor(bytes(data)))


def test_a_change_of_the_size_is_refused(tmp_path):
    parts = [videos.video("h264_ts"), videos.video("h264_ts", size="64x48")]
    file = tmp_path / "changes.ts"
    file.write_bytes(b"".join(part.read_bytes() for part in parts))
    with pytest.raises(UnsupportedError, match="is 64x48, and the first frame is 96x64"):
        decode(file)


@for_each("name", ["h264.mp4", "vp9.webm"])
def test_damaged_bytes_are_errors_or_frames(name):
    whole = committed(name)
    rng = np.random.default_rng(3)
    outcomes = set()
    for _ in range(150):
        file = whole.clone()
        for _ in range(rng.integers(1, 6)):
            file[rng.integers(len(file))] = int(rng.integers(256))
        file = file[: rng.integers(1, len(file))] if rng.random() < 0.3 else file
        try:
            run_op(OP, file, start_frame=0, sequence_length=3)
            outcomes.add("frames")
        except (DataError, UnsupportedError):
            outcomes.add("error")
    assert outcomes == {"frames", "error"}


def test_indices_of_videos_in_memory_are_kept_by_their_bytes():
    def used(file) -> tuple[list[bool], list[int]]:
        """Whether each frame is as expected, and how many indices are kept, found and missing."""
        before = _C.video_index_cache()
        frames = run_op(OP, file, frames=[7, 2])
        after = _C.video_index_cache()
        return [torch.equal(frames[i], whole[k]) for i, k in enumerate([7, 2])], [
            after[i] - before[i] for i in (0, 2, 3)
        ]

    file = committed("h264.mp4")
    whole = run_op(OP, file)
    file = torch.cat([file, as_tensor(b"\0\0\0\x0cfreeabcd")])  # a box of MP4 that is passed over
    assert used(file) == ([True, True], [1, 0, 1])
    assert used(file) == ([True, True], [0, 1, 0])
    file[-1] += 1
    assert used(file) == ([True, True], [1, 0, 1])
    assert _C.video_index_cache()[1] > 0
    file = torch.zeros_like(file)
    for _ in range(2):
        with pytest.raises(DataError):
            used(file)


def test_the_old_name_is_the_same_operator():
    assert fn.experimental.decoders.video.__doc__ is not None


def test_importing_torchdali_does_not_load_ffmpeg():
    code = (
        "import torchdali, torchdali.fn\n"
        "text = open('/proc/self/maps').read()\n"
        "assert '_video.so' not in text and 'libavformat' not in text"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
