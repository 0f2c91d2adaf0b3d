# SPDX-License-Identifier: Apache-2.0
"""fn.readers.video and fn.readers.video_resize: which frames, labels and times they return."""

from __future__ import annotations

import itertools

import pytest
import torch
from helpers.array_readers import build, read
from helpers.cases import for_each
from helpers.numbered_videos import HEIGHT, WIDTH, numbers_of, write_video
from helpers.videos import ffmpeg

from torchdali import Pipeline, fn, types
from torchdali.errors import ArgumentError, DataError, FileError

OP = "readers.video"
OPERATORS = ["readers.video", "readers.video_resize"]
COUNT = 50


def write_videos(folder):
    """Two folders with videos of 50, 23 and 7 frames, whose frames have numbers of their own."""
    write_video(folder / "b" / "x.mp4", COUNT)
    write_video(folder / "a" / "y.mkv", 23, first=60, gop=250)
    write_video(folder / "a" / "z.mp4", 7, first=100)
    (folder / "a" / "notes.txt").write_text("no video")
    return {"file_root": str(folder), "sequence_length": 5, "random_shuffle": True}


def write_resized(folder):
    return {**write_videos(folder), "size": [20, 30]}


# For the contract suite.
SOURCES = {"readers.video": write_videos, "readers.video_resize": write_resized}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    write_videos(folder)
    return folder


@pytest.fixture(scope="module")
def video(root):
    return str(root / "b" / "x.mp4")


def epoch(op=OP, **args):
    """Returns the outputs of one epoch."""
    return read(op, batches=build(op, **args).reader_meta("reader")["epoch_size"], **args)


def shown(**args):
    """Returns the numbers on the frames of one epoch."""
    return [numbers_of(frames) for frames in epoch(**args)[0]]


# -- Sequences


@for_each(("length", "step", "stride"), itertools.product((1, 4), (-1, 1, 7), (1, 3)))
def test_sequences_are_frames_at_multiples_of_the_step(length, step, stride, video):
    used = length * stride if step < 0 else step
    expected = [
        list(range(first, first + length * stride, stride))
        for first in range(0, COUNT, used)
        if first + (length - 1) * stride < COUNT
    ]
    assert shown(filenames=[video], sequence_length=length, step=step, stride=stride) == expected


def test_folders_are_labels_and_files_are_sorted(root):
    frames, labels = epoch(file_root=str(root), sequence_length=7, step=100)
    assert [numbers_of(f)[0] for f in frames] == [60, 100, 0]
    assert [label.tolist() for label in labels] == [[0], [0], [1]]
    assert labels[0].dtype == torch.int32
    assert frames[0].shape == (7, HEIGHT, WIDTH, 3)


def test_labels_of_files(video):
    args = {"filenames": [video, video], "sequence_length": 5, "step": 100}
    assert [label.tolist() for label in epoch(**args, labels=[7, -3])[1]] == [[7], [-3]]
    assert [label.tolist() for label in epoch(**args, labels=[])[1]] == [[0], [1]]
    assert len(epoch(**args)) == 1


def test_numbers_and_times_of_frames(video):
    args = {"filenames": [video], "sequence_length": 3, "stride": 4, "step": 30}
    _, numbers, times = epoch(**args, enable_frame_num="sequence", enable_timestamps=True)
    assert [n.tolist() for n in numbers] == [[0, 4, 8], [30, 34, 38]]
    assert [t.tolist() for t in times] == [
        pytest.approx([x / 25 for x in n.tolist()]) for n in numbers
    ]
    assert (numbers[0].dtype, times[0].dtype) == (torch.int32, torch.float64)
    for on in ("scalar", True):  # DALI 1.x has a bool
        assert [n.tolist() for n in epoch(**args, enable_frame_num=on)[1]] == [[0], [30]]


def test_frames_of_a_variable_rate_are_exact(tmp_path):
    times = [0, 40, 45, 200, 1000, 1001, 1500, 1540]
    path = write_video(tmp_path / "vfr.mkv", 8, times=times)
    frames, seconds = epoch(filenames=[path], sequence_length=2, step=3, enable_timestamps=True)
    assert [numbers_of(f) for f in frames] == [[0, 1], [3, 4], [6, 7]]
    assert torch.cat(seconds).tolist() == pytest.approx([0, 0.04, 0.2, 1, 1.5, 1.54])
    ranges = tmp_path / "list"
    ranges.write_text(f"{path} 0 0.041 1.0005\n")
    assert shown(file_list=str(ranges), sequence_length=2) == [[2, 3]]


def test_padded_sequences_have_frames_of_zeros(root):
    frames, _, numbers, times = epoch(
        file_root=str(root), sequence_length=5, stride=2, pad_sequences=True,
        enable_frame_num="sequence", enable_timestamps=True,
    )  # fmt: skip
    assert numbers_of(frames[2]) == [80, 82, 0, 0, 0]
    assert numbers[2].tolist() == [20, 22, -1, -1, -1]
    assert times[2].tolist() == pytest.approx([0.8, 0.88, -1, -1, -1])
    assert not frames[2][2:].any()
    assert [n.tolist()[0] for n in numbers] == [0, 10, 20, 0, 0, 10, 20, 30, 40]


# -- Ranges

RANGES = [
    # (args, words in the list, expected frames)
    ({"file_list_frame_num": True}, "10 15", range(10, 15)),
    ({"file_list_frame_num": True}, "45", range(45, 50)),
    ({"file_list_frame_num": True}, "40 -5", range(40, 45)),
    ({"file_list_frame_num": True}, "-10 -5", range(40, 45)),
    ({"file_list_frame_num": True}, "9.5 15.5", range(10, 15)),
    ({"file_list_frame_num": True}, "45 1000", range(45, 50)),
    ({}, "0.4 0.6", range(10, 15)),
    ({}, "0.39 0.61", range(10, 15)),
    ({}, "1.8", range(45, 50)),
    ({}, "1.8 99", range(45, 49)),
    ({}, "-0.4 -0.2", range(40, 45)),
    ({"file_list_include_preceding_frame": True}, "0.41 0.59", range(10, 15)),
    ({"file_list_include_preceding_frame": True}, "0.4 0.6", range(10, 15)),
]


@for_each(("args", "words", "expected"), RANGES)
def test_ranges_of_a_list(args, words, expected, video, tmp_path):
    path = tmp_path / "list"
    path.write_text(f"{video} 3 {words}\n")
    args = {"file_list": str(path), "sequence_length": 1, **args}
    frames, labels = epoch(**args)
    assert [numbers_of(f)[0] for f in frames] == list(expected)
    assert {label.item() for label in labels} == {3}


def test_an_empty_range_has_no_sequences(video, tmp_path):
    path = tmp_path / "list"
    path.write_text(f"{video} 0 5 5\n\n{video} 1 48\n")
    _, labels = epoch(file_list=str(path), file_list_frame_num=True, sequence_length=2)
    assert [label.item() for label in labels] == [1]


@for_each("line", ["a.mp4", "a.mp4 x", "a.mp4 -1", "a.mp4 0 1 2 3", "a.mp4 0 nan", "a.mp4 1.5"])
def test_a_bad_line_of_a_list_is_an_error(line, tmp_path):
    path = tmp_path / "list"
    path.write_text(f"\n{line}\n")
    with pytest.raises(FileError, match=f'line 2 of the list file ".*" is "{line}"'):
        build(OP, file_list=str(path), sequence_length=1)


# -- Random places


def test_random_clips_are_elsewhere_in_each_epoch(root):
    pipe = build(OP, file_root=str(root), sequence_length=4, stride=2, clips_per_video=6)
    assert pipe.reader_meta("reader")["epoch_size"] == 18
    epochs = [[numbers_of(pipe.run()[0].as_torch_list()[0]) for _ in range(18)] for _ in range(2)]
    firsts = [[clip[0] for clip in clips] for clips in epochs]
    for clips in epochs:
        assert all(clip == list(range(clip[0], clip[0] + 8, 2)) for clip in clips)
    assert firsts[0] != firsts[1]
    assert firsts[0][6:12] == [100] * 6  # 7 frames: one place
    assert len(set(firsts[0][12:] + firsts[1][12:])) > 6
    assert max(firsts[0][12:]) < COUNT - 6


def test_jitter_moves_sequences_within_the_range(video):
    firsts = [
        clip[0]
        for _ in range(3)
        for clip in shown(filenames=[video], sequence_length=5, step=10, jitter=6)
    ]
    moved = [first - 10 * (i % 5) for i, first in enumerate(firsts)]
    assert all(0 <= m <= (5 if i % 5 == 4 else 6) for i, m in enumerate(moved))
    assert len(set(moved)) > 2


# -- Pixels


def test_types_of_frames(video):
    args = {"filenames": [video], "sequence_length": 2, "step": 40}
    plain = epoch(**args)[0][0]
    floats = epoch(**args, dtype=types.FLOAT)[0][0]
    assert torch.equal(floats, plain.float())
    scaled = epoch(**args, dtype=types.FLOAT, normalized=True)[0][0]
    torch.testing.assert_close(scaled, plain.float() / 255)
    gray = epoch(**args, image_type=types.GRAY)[0][0]
    assert gray.shape == (2, HEIGHT, WIDTH, 1)
    luma = (plain.float() @ torch.tensor([0.299, 0.587, 0.114]))[..., None]
    assert (gray.float() - luma).abs().mean() < 2
    ycbcr = epoch(**args, image_type=types.YCbCr)[0][0]
    expected = fn_of(lambda x: fn.color_space_conversion(
        x, image_type=types.RGB, output_type=types.YCbCr), plain)  # fmt: skip
    assert (ycbcr.float() - expected.float()).abs().mean() < 2


def fn_of(function, sample):
    pipe = Pipeline(1, 1, device_id=None)
    with pipe:
        pipe.set_outputs(function(fn.external_source([[sample]], layout="FHWC", cycle=True)))
    return pipe.run()[0].as_torch_list()[0].clone()


@for_each(
    "args",
    [
        {"size": [20, 30]},
        {"resize_shorter": 24, "antialias": False},
        {"resize_x": 200, "interp_type": types.INTERP_CUBIC},
        {"size": [31, -17], "roi_start": [5.5, 10], "roi_end": [40, 100.25]},
        {"size": [20, 30], "dtype": types.FLOAT},
    ],
)
def test_resized_frames_are_those_of_resize(args, video):
    reading = {"filenames": [video], "sequence_length": 2, "step": 40}
    resized = epoch("readers.video_resize", **reading, **args)[0][0]
    expected = fn_of(lambda x: fn.resize(x, **args), epoch(**reading)[0][0])
    assert torch.equal(resized, expected)


# -- Files


def test_files_that_are_no_videos_are_named(video, tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
    for name, error in (("bad.mp4", DataError), ("absent.mp4", FileError)):
        with pytest.raises(error, match=name):
            build(OP, filenames=[video, str(tmp_path / name)], sequence_length=5)


def test_files_that_are_no_videos_are_skipped_if_the_user_says_so(video, tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
    files = [str(tmp_path / "bad.mp4"), video, str(tmp_path / "absent.mp4")]
    pipe = Pipeline(12, 2, device_id=None)
    with pipe:
        frames, labels = fn.readers.video(
            name="reader", filenames=files, labels=[], sequence_length=5, on_error="skip"
        )
        pipe.set_outputs(frames, labels)
    assert pipe.reader_meta("reader")["epoch_size"] == 12  # a sample for each bad file
    frames, labels = pipe.run()
    assert [numbers_of(f)[0] for f in frames.as_torch_list()] == list(range(0, 50, 5))
    assert {int(label) for label in labels.as_torch_list()} == {1}


@for_each(
    ("args", "text"),
    [
        ({"sequence_length": 51}, "no video has a sequence of 51 frames.*has 50"),
        ({"sequence_length": 0}, "`sequence_length` is 0"),
        ({"stride": 0}, "`stride` is 0"),
        ({"labels": [1, 2]}, "`labels` has 2 values for the 1"),
        ({"file_root": "x"}, "exclude each other"),
        ({"enable_frame_num": "all"}, '`enable_frame_num` is "all"'),
        ({"channels": 1}, "`channels` is 1"),
        ({"normalized": True}, "`normalized` frames are floats"),
        ({"dtype": types.INT16}, "`dtype` is int16"),
        ({"image_type": types.BGR}, "`image_type`"),
        ({"clips_per_video": 2, "jitter": 2}, "excludes `step` and `jitter`"),
        ({"seek_mode": "fast"}, '`seek_mode` is "fast"'),
    ],
)
def test_wrong_arguments_are_errors(args, text, video):
    with pytest.raises((ArgumentError, DataError), match=text):
        build(OP, **{"filenames": [video], "sequence_length": 5, **args})


def test_approximate_seeking_finds_frames_of_a_constant_rate(video):
    args = {"filenames": [video], "sequence_length": 5}
    assert shown(**args, seek_mode="approximate") == shown(**args)


def test_old_names(video):
    pipe = Pipeline(1, 1, device_id=None)
    with pipe:
        with pytest.warns(DeprecationWarning, match="readers.video"):
            frames = fn.video_reader(filenames=[video], sequence_length=2)
        pipe.set_outputs(frames)
    assert numbers_of(pipe.run()[0].as_torch_list()[0]) == [0, 1]


def test_frames_are_turned_as_the_file_asks(video, tmp_path):
    path = tmp_path / "turned.mp4"
    ffmpeg("-i", video, "-c", "copy", "-metadata:s:v:0", "rotate=90", path)
    args = {"sequence_length": 1, "step": 100}
    upright = epoch(filenames=[video], **args)[0][0]
    turned = epoch(filenames=[str(path)], **args)[0][0]
    assert turned.shape == (1, WIDTH, HEIGHT, 3)
    assert torch.equal(turned.rot90(1, (1, 2)), upright) or torch.equal(
        turned.rot90(-1, (1, 2)), upright
    )
    as_stored = epoch(filenames=[str(path)], **args, adjust_orientation=False)[0][0]
    assert torch.equal(as_stored, upright)
    resized = epoch("readers.video_resize", filenames=[str(path)], **args, size=[40, 20])[0][0]
    assert torch.equal(resized, fn_of(lambda x: fn.resize(x, size=[40, 20]), turned))
