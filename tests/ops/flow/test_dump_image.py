# SPDX-License-Identifier: Apache-2.0
"""fn.dump_image: writes the images of each batch to files."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, run_batches, run_case, run_op

from torchdali import Pipeline, fn

OP = "dump_image"
NO_PARITY = "writes files into the working folder of DALI's process; their text is tested here"
CASES = [
    OpCase(OP, layout, (3, 4, channels), {"suffix": "case"}, no_parity=NO_PARITY)
    for layout, channels in [("HWC", 3), ("HWC", 1), ("", 3)]
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_data_passes_through_and_is_written_to_files(case):
    run = run_case(case)
    assert run.layouts == [case.layout]
    for index, actual in enumerate(run.samples()[0]):
        assert torch.equal(actual, case.input(index))
        with open(f"{index}-case-0.ppm") as file:
            kind, width, height, top, *values = file.read().split()
        assert (kind, width, height, top) == ("P3" if case.shape[2] == 3 else "P2", "4", "3", "255")
        assert np.array_equal(np.array(values, int).reshape(case.shape), actual)


def test_files_equal_those_of_dali(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_op(OP, [ramp((2, 2, 1), torch.uint8), ramp((1, 2, 3), torch.uint8)], layout="HWC")
    assert sorted(os.listdir()) == ["0--0.ppm", "1--0.ppm"]
    assert (tmp_path / "0--0.ppm").read_bytes() == b"P2\n2 2\n255\n0 1 \n2 3 \n"
    assert (tmp_path / "1--0.ppm").read_bytes() == b"P3\n2 1\n255\n0 1 2 3 4 5 \n"


def test_the_next_batch_replaces_the_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    batches = [[torch.full((1, 1, 1), value, dtype=torch.uint8)] for value in (5, 6)]
    run_batches(OP, {"x": ("HWC", batches)}, 1, {"suffix": "x"}, batch_sizes=[1, 1])
    assert (tmp_path / "0-x-0.ppm").read_text().split() == ["P2", "1", "1", "255", "6"]


def test_it_runs_if_its_output_is_unused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        x = fn.external_source(name="x", layout="HWC")
        fn.dump_image(x, suffix="unused")
        pipe.set_outputs(x)
    pipe.build()
    pipe.feed_input("x", [torch.zeros(1, 1, 3, dtype=torch.uint8)])
    pipe.run()
    pipe.close()
    assert os.listdir() == ["0-unused-0.ppm"]


@for_each(
    ("args", "x", "message"),
    [
        ({"input_layout": "CHW"}, torch.zeros(3, 2, 2).byte(), '`input_layout` is "CHW"'),
        ({"suffix": "../up"}, torch.zeros(2, 2, 3).byte(), "may not hold a slash"),
        ({"suffix": "no/folder"}, torch.zeros(2, 2, 3).byte(), "may not hold a slash"),
        (
            {},
            torch.zeros(2, 2, 4).byte(),
            "expected .height, width, channels. with 1 or 3 channels",
        ),
        ({}, torch.zeros(2, 2).byte(), "expected .height, width, channels."),
        ({}, torch.zeros(2, 2, 3), "`data` is float32, expected uint8"),
    ],
)
def test_unsuitable_inputs_are_errors(args, x, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run_op(OP, x, **args)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "0-taken-0.ppm").mkdir()
    with pytest.raises(OSError, match='cannot write the file "0-taken-0.ppm"'):
        run_op(OP, torch.zeros(2, 2, 3).byte(), layout="HWC", suffix="taken")
