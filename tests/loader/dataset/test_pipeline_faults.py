# SPDX-License-Identifier: Apache-2.0
"""DataLoader with pipeline=: after an error, fields stay together."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers.datasets import Squares

from torchdali import DataLoader, fn
from torchdali.errors import ArgumentTypeError


class Mixed(Squares):
    """Three fields with the index; in one sample, the second one has another type."""

    def __init__(self, count, at=-1):
        super().__init__(count)
        self.at = at

    def __getitem__(self, index):
        second = np.float32 if index == self.at else np.uint8
        return (
            np.full((5, 6, 3), index, np.uint8),
            np.full((2,), index, second),
            f"sample {index}",
        )


def process(image, second, text):
    return fn.flip(image), second + 1, text


def check(batch):
    """Fails unless the fields of all samples are of one index; returns the indices."""
    images, seconds, texts = batch
    found = images[:, 0, 0, 0].tolist()
    assert [value - 1 for value in seconds[:, 0].tolist()] == found
    assert [int(text.split()[1]) for text in texts] == found
    return found


def rest_of(iterator):
    return [check(batch) for batch in iterator]


def test_a_field_that_cannot_be_fed_loses_its_batch_only(parallel):
    loader = DataLoader(Mixed(12, at=5), batch_size=2, pipeline=process, **parallel)
    for _ in range(2):
        iterator = iter(loader)
        found = [check(next(iterator)) for _ in range(2)]
        with pytest.raises(ArgumentTypeError, match="field 1"):
            next(iterator)
        assert found + rest_of(iterator) == [[0, 1], [2, 3], [6, 7], [8, 9], [10, 11]]


def test_a_state_loaded_over_batches_in_work_drops_them():
    loader = DataLoader(Mixed(12), batch_size=2, pipeline=process, pipeline_options={"seed": 1})
    iterator = iter(loader)
    next(iterator)
    states = []
    for _ in range(2):
        next(iterator)
        states.append(loader.state_dict())
    del iterator
    again = iter(loader)
    next(again)  # two more are in work
    loader.load_state_dict(states[1])
    del again
    assert rest_of(loader) == [[6, 7], [8, 9], [10, 11]]


PROGRAM = """
import torch
from torchdali import DataLoader, fn
loader = DataLoader([torch.zeros(5, 6, 3)] * 8, batch_size=2, pipeline=fn.flip, num_workers={})
iterator = iter(loader)
next(iterator)
"""


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_program_may_end_within_an_epoch(num_workers):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(num_workers)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
