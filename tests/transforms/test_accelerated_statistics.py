# SPDX-License-Identifier: Apache-2.0
"""stats() of a DataLoader with accelerate=True."""

from __future__ import annotations

import torch
from helpers.image_files import encode, photo_like

import torchdali
from torchdali import transforms as T


class Photos(torch.utils.data.Dataset):
    transform = T.Compose([T.Resize((9, 8)), T.ToTensor()])

    def __len__(self) -> int:
        return 10

    def encoded_sample(self, index: int) -> bytes:
        return encode(photo_like(20, 30, seed=index))


def test_statistics_are_those_of_the_engine(keep_random_state):
    loader = torchdali.DataLoader(Photos(), batch_size=4, num_workers=2, accelerate=True)
    assert [len(batch) for batch in loader] == [4, 4, 2]
    stats = loader.stats()
    assert stats.workers == "threads"
    assert stats.pipeline is not None
    assert stats.pipeline.slowest().samples == 10
