# SPDX-License-Identifier: Apache-2.0
"""Batches of DataLoader(pipeline=) are taken whole or not at all, wherever that is interrupted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.interruptions import interrupted

from torchdali import DataLoader, fn

BATCH = 2
FAR = 1 << 20


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return FAR

    def __getitem__(self, index):
        return np.full(3, index // BATCH), index // BATCH


def first_numbers(batch):
    return {int(field.reshape(-1)[0]) for field in batch}


@pytest.mark.parametrize("returns_label", [False, True], ids=["all fields", "a field beside it"])
def test_fields_of_a_data_loader_stay_together(returns_label):
    loader = DataLoader(
        Images(),
        batch_size=BATCH,
        pipeline=lambda image, label: (fn.copy(image), label if returns_label else fn.copy(label)),
        pipeline_options={"num_threads": 1},
    )
    iterator = iter(loader)
    for expected, (where, batch) in enumerate(interrupted(iterator.__next__, returns=False)):
        got = first_numbers(next(iterator) if batch is None else batch)
        assert got == {expected}, where


def test_a_state_after_an_interruption_has_the_batches_that_were_not_returned():
    def make():
        return DataLoader(
            Images(), batch_size=BATCH, pipeline=lambda image, label: (fn.copy(image), label),
            pipeline_options={"num_threads": 1},
        )  # fmt: skip

    loader = make()
    iterator = iter(loader)
    for expected, (where, batch) in enumerate(interrupted(iterator.__next__, returns=False)):
        if batch is not None:
            continue
        if expected % 9 == 0:
            resumed = make()
            resumed.load_state_dict(loader.state_dict())
            assert first_numbers(next(iter(resumed))) == {expected}, where
        next(iterator)


def test_a_field_that_cannot_be_fed_leaves_later_batches_as_they_are():
    class Mixed(Images):
        def __getitem__(self, index):
            image, label = super().__getitem__(index)
            return image, np.array(label, np.float32 if label == 3 else np.int64)

    loader = DataLoader(
        Mixed(), batch_size=BATCH, pipeline=lambda image, label: (fn.copy(image), fn.copy(label))
    )
    iterator, seen = iter(loader), []
    for _ in range(8):
        try:
            seen.append(first_numbers(next(iterator)))
        except TypeError:
            seen.append(None)
    assert seen == [{0}, {1}, {2}, None, {4}, {5}, {6}, {7}]
