# SPDX-License-Identifier: Apache-2.0
"""ShuffleWindow: a random order of a stream, without loss, from a window of a limited size."""

import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

import torchdali
from torchdali.errors import ArgumentError


class Stream(IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.size, step))


def drawn(count=3000, size=100):
    return list(torchdali.ShuffleWindow(range(count), size))


def test_samples_are_moved_within_the_window():
    torch.manual_seed(5)
    order = drawn()
    assert sorted(order) == list(range(3000)) != order
    earlier = [sample - place for place, sample in enumerate(order)]
    assert max(earlier) == 99
    assert min(earlier) < -200  # some stay for long
    assert drawn() != order  # the next epoch
    torch.manual_seed(5)
    assert drawn() == order


@pytest.mark.parametrize("size", [1, 7, 8, 9])
def test_a_window_may_hold_everything(size):
    firsts = {drawn(8, size)[0] for _ in range(200)}
    assert firsts == set(range(min(size, 8)))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_loaders_repeat_the_order_with_a_seed(num_workers):
    def epochs():
        torch.manual_seed(3)
        loader = torchdali.DataLoader(
            torchdali.ShuffleWindow(Stream(200), 50), batch_size=20, num_workers=num_workers
        )
        return [torch.cat(list(loader)).tolist() for _ in range(2)]

    first, second = epochs()
    assert sorted(first) == sorted(second) == list(range(200))
    assert first != second
    assert epochs() == [first, second]


def test_the_length_is_that_of_the_samples():
    assert len(torchdali.ShuffleWindow([1, 2, 3])) == 3
    with pytest.raises(TypeError):
        len(torchdali.ShuffleWindow(iter([1])))


def test_a_window_has_room():
    with pytest.raises(ArgumentError, match="`size` is 0"):
        torchdali.ShuffleWindow([], 0)
