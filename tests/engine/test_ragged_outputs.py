# SPDX-License-Identifier: Apache-2.0
"""Outputs whose samples have different shapes: they share blocks of memory, which later batches use
again once the user has let all samples of a block go."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from torchdali import fn, pipeline_def

BATCH = 12


def _rows(random: np.random.Generator, largest: int) -> list[np.ndarray]:
    # The number of rows makes samples of any size up to `largest`, some of no size.
    rows = random.integers(0, largest // 1024 + 1, BATCH)
    return [random.integers(0, 256, (int(n), 1024, 1)).astype(np.uint8) for n in rows]


# In bytes: batches in one small block, in several blocks, and with samples of their own memory.
@pytest.mark.parametrize("largest", [20_000, 3_000_000, 6_000_000])
def test_samples_that_are_kept_do_not_change(largest):
    random = np.random.default_rng(1)
    fed: list[list[np.ndarray]] = []

    def source() -> list[np.ndarray]:
        fed.append(_rows(random, largest))
        return fed[-1]

    @pipeline_def(batch_size=BATCH, num_threads=3, device_id=None)
    def define() -> Any:
        return fn.flip(fn.external_source(source, layout="HWC"), horizontal=True)

    pipe = define()
    kept: list[tuple[int, int, torch.Tensor]] = []
    for number in range(8):
        batch = pipe.run()[0]
        whole = [batch.at(i) for i in range(BATCH)]
        for i, sample in enumerate(whole):
            assert np.array_equal(sample, fed[number][i][:, ::-1])
        kept.append((number, number % BATCH, torch.as_tensor(np.asarray(whole[number % BATCH]))))
    for number, i, sample in kept:
        assert np.array_equal(sample.numpy(), fed[number][i][:, ::-1])


def test_samples_share_a_block_that_later_batches_use():
    random = np.random.default_rng(2)

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
    def define() -> Any:
        fed = fn.external_source(lambda: _rows(random, 600_000), layout="HWC")
        return fn.flip(fed, horizontal=True)

    pipe = define()
    blocks = set()
    for number in range(40):
        batch = pipe.run()[0]
        places = sorted((batch[i].data_ptr(), batch[i].shape()[0] * 1024) for i in range(BATCH))
        places = [(start, size) for start, size in places if size > 0]
        if number < 20:  # until a batch about as large as any was seen
            continue
        gaps = [b[0] - (a[0] + a[1]) for a, b in itertools.pairwise(places)]
        # One block, and another one for the last samples of a batch that is larger than all before.
        assert sum(gap != 0 for gap in gaps) <= 1
        blocks.add(places[0][0])
    assert len(blocks) <= 8
