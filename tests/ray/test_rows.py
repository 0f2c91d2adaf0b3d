# SPDX-License-Identifier: Apache-2.0
"""Which rows ranks get: each once, whatever is asked for again, and in which order."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("ray.data", reason='needs pip install "ray[data]"')

from tests.ray.local_ray import FakeDataset, tables_of_numbers
from torchdali.ray._rows import Share
from torchdali.ray._shared import _Executor


def numbers_of(piece):
    tables = [part.block.make().slice(part.start, part.end - part.start) for part in piece.parts]
    return [number for table in tables for number in table.column("number").to_pylist()]


def rest_of_epoch(executor, first, ranks, batch_size, steps=None, shards="exact", drop_last=False):
    """Returns what all ranks get from a row on, and the row after `steps` steps."""
    got, end, step = [], first, 0
    while steps is None or step < steps:
        pieces = [
            executor.piece(Share(0, first, rank, ranks, batch_size, drop_last, shards), step, False)
            for rank in range(ranks)
        ]
        if not any(pieces):
            break
        got += [numbers_of(piece) for piece in pieces if piece]
        end, step = max(piece.end for piece in pieces if piece), step + 1
    return got, end


BLOCKS = st.lists(st.integers(0, 9), min_size=1, max_size=8)
TEAM = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(0, 4))


@given(blocks=BLOCKS, teams=st.lists(TEAM, max_size=3), last=TEAM)
def test_each_row_is_returned_once_when_the_number_of_ranks_changes(blocks, teams, last):
    executor, first, seen = _Executor(FakeDataset(tables_of_numbers(blocks)), None), 0, []
    for ranks, batch_size, steps in teams:
        got, first = rest_of_epoch(executor, first, ranks, batch_size, steps)
        seen += [number for numbers in got for number in numbers]
        assert seen == list(range(first))  # a prefix of the order
    got, _ = rest_of_epoch(executor, first, *last[:2])
    seen += [number for numbers in got for number in numbers]
    assert seen == list(range(sum(blocks)))


@given(blocks=BLOCKS, team=TEAM)
def test_ranks_have_equally_many_rows_if_they_shall(blocks, team):
    ranks, batch_size, _ = team
    rows = sum(blocks)
    dataset = FakeDataset(tables_of_numbers(blocks))
    got, _ = rest_of_epoch(_Executor(dataset, None), 0, ranks, batch_size, shards="equal")
    assert len(got) % ranks == 0
    seen = Counter(number for numbers in got for number in numbers)
    assert set(seen) == set(range(rows))
    assert sum(seen.values()) - rows < ranks
    for step in range(0, len(got), ranks):
        assert len({len(numbers) for numbers in got[step : step + ranks]}) == 1
    whole, _ = rest_of_epoch(_Executor(dataset, None), 0, ranks, batch_size, drop_last=True)
    assert len(whole) == rows // (ranks * batch_size) * ranks
    assert {len(numbers) for numbers in whole} <= {batch_size}


@given(blocks=BLOCKS, seed=st.integers(0, 99))
def test_answers_do_not_depend_on_what_was_asked_before(blocks, seed):
    tables = tables_of_numbers(blocks)
    shares = [Share(0, 2, rank, 3, 2, False, "exact") for rank in range(3)]
    questions = [(share, step) for share in shares for step in range(6)]
    fresh = {
        q: (lambda piece: piece and numbers_of(piece))(
            _Executor(FakeDataset(tables), None).piece(*q, False)
        )
        for q in questions
    }
    executor, shuffled = _Executor(FakeDataset(tables), None), random.Random(seed)
    for _ in range(30):
        question = shuffled.choice(questions)
        piece = executor.piece(*question, shuffled.random() < 0.1)
        assert (piece and numbers_of(piece)) == fresh[question]


def test_blocks_are_forgotten_when_all_ranks_are_past_them():
    dataset = FakeDataset(tables_of_numbers([4] * 50))
    executor = _Executor(dataset, None)
    for step in range(20):
        for rank in range(2):
            executor.piece(Share(0, 0, rank, 2, 4, False, "equal"), step, False)
            (rows,) = executor._epochs.values()
            assert len(list(rows.between(0, 10**6))) <= 6
    assert dataset.executions == 1
    for rank in range(2):  # resumed at the end by other processes
        executor.piece(Share(0, 192, rank, 2, 4, False, "equal"), 0, False)
        (rows,) = executor._epochs.values()
        assert len(list(rows.between(0, 10**6))) <= 6


def test_an_epoch_ends_when_all_ranks_have_begun_the_next():
    executor = _Executor(FakeDataset(tables_of_numbers([8])), None)
    for epoch in range(3):
        for rank in range(2):
            executor.piece(Share(epoch, 0, rank, 2, 2, False, "equal"), 0, False)
            assert set(executor._epochs) == ({epoch - 1, epoch} if rank == 0 and epoch else {epoch})


def test_each_epoch_has_the_order_that_the_user_chooses():
    tables = tables_of_numbers([3, 3])
    executor = _Executor(
        FakeDataset(tables), lambda _, epoch: FakeDataset(tables[::-1] if epoch else tables)
    )
    pieces = [executor.piece(Share(e, 0, 0, 1, 6, False, "equal"), 0, False) for e in range(2)]
    assert [numbers_of(piece) for piece in pieces] == [[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]]
