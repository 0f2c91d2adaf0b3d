# SPDX-License-Identifier: Apache-2.0
"""The test of elastic resume (benchmarks/elastic): some kills, and the judgments of others."""

from __future__ import annotations

import random

import pytest

from benchmarks.elastic.adapter import CHANGES, Batch, Setup
from benchmarks.elastic.data import write_all
from benchmarks.elastic.judge import Trace, judge
from benchmarks.elastic.loaders import LOADERS
from benchmarks.elastic.trials import Runs, plan_trial

SIZE = 37


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    pytest.importorskip("pyarrow")
    pytest.importorskip("lmdb")
    folder = tmp_path_factory.mktemp("elastic") / "data"
    write_all(folder, SIZE)
    return Setup(str(folder), SIZE, 0, 1, 4, 1, seed=7)


@pytest.mark.parametrize("name", ["torchdali-webdataset", "torchdali-processes"])
def test_no_sample_is_lost_or_repeated_by_a_kill(setup, name):
    entry = LOADERS[name]
    runs = Runs(entry)
    try:
        for change in CHANGES:
            trial = plan_trial(entry, change, setup, random.Random(change), large=False)
            assert runs.run(trial).label == "exact", trial
    finally:
        runs.close()


def trace(*epochs):
    """Returns what ranks have had: for each epoch the batches of each rank."""
    return Trace(
        {e: [[Batch(ids) for ids in rank] for rank in ranks] for e, ranks in enumerate(epochs)}
    )


WHOLE = trace([[[0, 1], [4, 5]], [[2, 3]]])


@pytest.mark.parametrize(
    ("after", "options", "label", "lost", "repeated"),
    [
        ([[[4, 5]], []], {}, "exact", 0, 0),
        ([[[4, 5]], []], {"reference": WHOLE}, "exact", 0, 0),
        ([[[5, 4]], []], {"reference": WHOLE}, "other order", 0, 0),
        ([[[4]]], {}, "loses", 1, 0),
        ([[[4]]], {"left_out": 1}, "exact", 0, 0),
        ([[[4, 5]], [[0]]], {}, "repeats", 0, 1),
        ([[[4, 5]], [[0]]], {"padding": 1}, "exact", 0, 0),
        ([[[4, 9]]], {}, "loses", 2, 0),
    ],
)
def test_the_judge_tells_what_became_of_the_samples(after, options, label, lost, repeated):
    options = {"padding": 0, "reference": None, "values": None, **options}
    verdict = judge(6, trace([[[0, 1]], [[2, 3]]]), trace(after), **options)
    assert (verdict.label, verdict.lost, verdict.repeated) == (label, lost, repeated)


def test_random_values_of_samples_may_be_judged():
    def values(*numbers):
        return Trace({0: [[Batch([0, 1], numbers)]]})

    options = {"padding": 0, "reference": None}
    same = judge(2, Trace(), values(0.5, 0.25), **options, values=values(0.5, 0.25))
    other = judge(2, Trace(), values(0.5, 0.25), **options, values=values(0.5, 0.5))
    assert (same.label, other.label) == ("exact", "other order")
