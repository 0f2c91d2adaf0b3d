# SPDX-License-Identifier: Apache-2.0
"""fn.experimental.readers.video: ranges and padding; parity with DALI 1.35."""

from __future__ import annotations

import pytest
import torch
from helpers.array_readers import build, read, read_in_dali
from helpers.cases import check_each, for_each
from helpers.numbered_videos import numbers_of, write_video

from torchdali.errors import ArgumentError

OP = "experimental.readers.video"
COUNT = 50


def write_one(folder):
    path = write_video(folder / "x.mp4", COUNT)
    return {"filenames": [path], "labels": [4], "sequence_length": 4, "pad_mode": "edge"}


# For the contract suite.
SOURCES = {OP: write_one}


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return write_video(tmp_path_factory.mktemp("videos") / "x.mp4", COUNT)


def epoch(**args):
    return read(OP, batches=build(OP, **args).reader_meta("reader")["epoch_size"], **args)


@pytest.mark.dali
@pytest.mark.parametrize("codec", ["h264", "hevc"])  # without B-frames, on which DALI fails
def test_sequences_are_those_of_dali(codec, tmp_path):
    files = [
        write_video(tmp_path / f"{i}.mp4", count, first=first, codec=codec, gop=gop)
        for i, (count, first, gop) in enumerate([(50, 0, 12), (23, 60, 250), (7, 100, 4)])
    ]
    cases = [{"sequence_length": 5}, {"sequence_length": 7, "stride": 3}]
    cases += [{"sequence_length": 5, "stride": 10, "step": 1}, {"sequence_length": 3, "step": 11}]
    cases += [{"sequence_length": 6, "num_shards": 3, "shard_id": 1, "pad_last_batch": True}]

    def check(case):
        args = {"filenames": files, "labels": [3, 1, 2], **case}
        size = build(OP, **args).reader_meta("reader")["epoch_size"]
        ours = read(OP, batches=size, **args)
        theirs, _ = read_in_dali(OP, batches=size, outputs=2, **args)
        for a, b in zip(ours[0], theirs[0], strict=True):
            assert a.shape == b.shape
            assert numbers_of(a) == numbers_of(b)
            assert (a.float() - b.float()).abs().max() <= 4  # swscale's tables have few bits
        assert [x.tolist() for x in ours[1]] == [x.tolist() for x in theirs[1]]

    check_each(cases, check)


PADDED = [
    ("constant", [48, 49, 0, 0, 0], [48, 49, -1, -1, -1]),
    ("edge", [48, 49, 49, 49, 49], None),
    ("repeat", [48, 49, 49, 49, 49], None),
    ("reflect_1001", [48, 49, 49, 48, 47], None),
    ("symmetric", [48, 49, 49, 48, 47], None),
    ("reflect_101", [48, 49, 48, 47, 46], None),
    ("reflect", [48, 49, 48, 47, 46], None),
]


@for_each(("mode", "shown", "numbers"), PADDED)
def test_padding_of_the_last_sequence(mode, shown, numbers, video):
    args = {"filenames": [video], "sequence_length": 5, "step": 16, "pad_mode": mode}
    frames, found = epoch(**args, enable_frame_num="sequence")
    assert len(frames) == 4
    assert numbers_of(frames[-1]) == shown
    assert found[-1].tolist() == (numbers or shown)


def test_padding_has_the_fill_value(video):
    args = {"filenames": [video], "sequence_length": 3, "step": 49, "pad_mode": "constant"}
    frames = epoch(**args, fill_value=[10, 20, 255])[0][1]
    assert numbers_of(frames[:1]) == [49]
    assert torch.equal(
        frames[1:], torch.tensor([10, 20, 255], dtype=torch.uint8).expand(2, *frames.shape[1:])
    )


def test_uniform_frames_are_those_of_linspace(video):
    for length in (1, 4, 7, 50, 60):
        (frames,) = epoch(filenames=[video], sequence_length=length, uniform_sample=True)[0]
        expected = torch.linspace(0, COUNT - 1, length, dtype=torch.float64) + 1e-9
        assert numbers_of(frames) == [int(x) for x in expected]


RANGES = [
    ({"file_list_format": "frames"}, "10 15", range(10, 16)),
    ({"file_list_format": "frames", "file_list_include_end": False}, "10 15", range(10, 15)),
    ({"file_list_format": "frames"}, "-3 -1", range(47, 50)),
    ({}, "0.41 0.59", range(10, 16)),
    ({"file_list_include_end": False}, "0.41 0.59", range(10, 15)),
    ({"file_list_rounding": "start_up_end_down"}, "0.41 0.59", range(11, 15)),
    ({"file_list_rounding": "all_down"}, "0.41 0.59", range(10, 15)),
    ({"file_list_rounding": "all_up"}, "0.41 0.59", range(11, 16)),
    ({}, "0.4 0.6", range(10, 16)),
    ({}, "1.9", range(47, 50)),
]


@for_each(("args", "words", "expected"), RANGES)
def test_ranges_of_a_list(args, words, expected, video, tmp_path):
    path = tmp_path / "list"
    path.write_text(f"{video} 3 {words}\n")
    frames, _ = epoch(file_list=str(path), sequence_length=1, **args)
    assert [numbers_of(f)[0] for f in frames] == list(expected)


@for_each(
    ("args", "text"),
    [
        ({"pad_mode": "zeros"}, '`pad_mode` is "zeros"'),
        ({"file_list_format": "x"}, '`file_list_format` is "x"'),
        ({"file_list_rounding": "x"}, '`file_list_rounding` is "x"'),
        ({"fill_value": []}, "`fill_value` has 0 values, expected 1 or 3"),
        ({"fill_value": 300}, "`fill_value` has 300, expected 0 to 255"),
        ({"uniform_sample": True, "step": 3}, "`uniform_sample` and `step` exclude each other"),
    ],
)
def test_wrong_arguments_are_errors(args, text, video):
    with pytest.raises(ArgumentError, match=text):
        build(OP, **{"filenames": [video], "sequence_length": 5, **args})
