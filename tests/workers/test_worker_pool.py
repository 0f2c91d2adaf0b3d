# SPDX-License-Identifier: Apache-2.0
"""The pool of worker processes by itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from helpers.works import Echo, Item, Refuses

from torchdali._workers import structures
from torchdali._workers.pool import Pool, WorkerFailure

pytestmark = pytest.mark.slow

METHODS = ("fork", "forkserver", "spawn")


@pytest.fixture
def started():
    pools = []

    def start(*works, method="forkserver", workers=2, **options):
        pool = Pool(works or [Echo()], workers, method, **options)
        pools.append(pool)
        pool.start()
        return pool

    yield start
    for pool in pools:
        pool.close()


def ask(pool, value, **options):
    assert pool.post(0, request=pickle.dumps(value), **options)


VALUES = [
    None,
    "text",
    {"a": 1.5, "b": (2, [b"c", "d"])},
    Item("x", np.arange(6, dtype=np.int16).reshape(2, 3)),
    {"image": torch.rand(2, 3), "label": torch.tensor(3), "empty": torch.empty(0, 4)},
    [torch.arange(8, dtype=torch.bfloat16).view(2, 4).t(), torch.tensor([True, False])],
    (np.array(2.5), np.zeros((0, 3)), np.asfortranarray(np.arange(6).reshape(2, 3))),
    {"names": np.array(["a", "bc"]), "objects": np.array([None, "x"], dtype=object)},
    torch.ones(3, requires_grad=True),
    torch.complex(torch.ones(2), torch.zeros(2)),
    [np.zeros(200_000, np.uint8), np.ones(3)],
]


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        assert torch.equal(a, b)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, Item):
        same(a.value, b.value)
    else:
        assert a == b


@pytest.mark.parametrize("method", METHODS)
def test_structures_of_any_kind_are_returned(started, method):
    pool = started(method=method, workers=1)
    for value in VALUES:
        ask(pool, value)
    results = [structures.load(pool.take(0)) for _ in VALUES]
    pool.close()
    for value, result in zip(VALUES, results, strict=True):
        same(value, result)


def test_arrays_are_in_shared_memory_that_is_reused(started):
    pool = started(workers=1)
    addresses = set()
    for number in range(30):
        ask(pool, np.full((100, 100), number))
        array = structures.load(pool.take(0))
        array += 1  # the user keeps it
        assert (array == number + 1).all()
        addresses.add(array.ctypes.data)
    assert len(addresses) < 4


def test_results_are_in_the_order_of_the_jobs(started):
    pool = started()
    asked = [range(i, i + 4) for i in range(40)]
    for indices in asked:
        ask(pool, indices)
    assert pool.pending(0) == 40
    for indices in asked:
        got = structures.load(pool.take(0))
        assert got["index"].tolist() == list(indices)
        assert got["text"] == [str(i) for i in indices]


@pytest.mark.parametrize("method", METHODS)
def test_jobs_may_select_their_worker(started, method):
    pool = started(method=method, workers=3)
    for worker in (2, 0, 1, 1):
        ask(pool, "who", worker=worker)
    assert [structures.load(pool.take(0)) for _ in range(4)] == [(i, 3) for i in (2, 0, 1, 1)]


def test_a_failed_job_does_not_affect_others(started):
    pool = started()
    for request in ("fail", "stop", range(2)):
        ask(pool, request)
    with pytest.raises(WorkerFailure, match="asked for it") as caught:
        pool.take(0)
    assert isinstance(caught.value.cause, KeyError)
    assert caught.value.sample is None
    with pytest.raises(StopIteration):
        pool.take(0)
    assert structures.load(pool.take(0))["text"] == ["0", "1"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["die", "sleep"])
def test_a_pool_restarts_after_the_loss_of_a_worker(started, method, how):
    pool = started(Echo(), Echo(), method=method, timeout=1.5)
    for _ in range(3):
        kept = []
        ask(pool, range(3))
        kept.append(structures.load(pool.take(0)))
        ask(pool, how)
        with pytest.raises(WorkerFailure, match="SIGKILL" if how == "die" else "1.5 s"):
            pool.take(0)
        assert pool.is_dead
        assert pool.pids == []
        with pytest.raises(WorkerFailure):
            pool.post(1)
        generation = pool.generation
        pool.restart()
        assert pool.generation == generation + 1
        assert pool.pending(0) == 0
        ask(pool, range(2))
        assert structures.load(pool.take(0))["index"].tolist() == [0, 1]
        assert kept[0]["index"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_fails_to_start_reports_the_reason(method):
    pool = Pool([Refuses()], 2, method)
    pool.post(0)
    try:
        pool.start()
        with pytest.raises(WorkerFailure, match="no license"):
            pool.take(0)
    except WorkerFailure as failure:
        assert "no license" in str(failure) or "ended" in str(failure)  # noqa: PT017
    pool.close()


def test_large_payloads_and_requests_are_passed(started):
    work = Echo()
    work.ballast = np.arange(1_000_000)
    pool = started(work)
    ask(pool, np.arange(2_000_000))
    assert structures.load(pool.take(0)).sum() == np.arange(2_000_000).sum()


def test_too_many_jobs_are_rejected_until_results_are_taken(started):
    pool = started(workers=1)
    posted = 0
    while pool.post(0, worker=0, request=pickle.dumps("x" * 10)):
        posted += 1
        assert posted < 10_000
        if posted > 300:
            break
    for _ in range(posted):
        assert structures.load(pool.take(0)) == "x" * 10
    ask(pool, 1)
    assert structures.load(pool.take(0)) == 1
