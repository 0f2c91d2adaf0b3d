# SPDX-License-Identifier: Apache-2.0
"""Numbers, sizes and samples of batches per epoch, for every policy, padding and sharding."""

import json
import os
import subprocess
from pathlib import Path

import iterator_cases
import pytest
import torch
from fake_pipeline import reader_pipeline
from helpers.cases import for_each
from iterator_cases import (
    GOLDEN,
    case,
    differs_on_purpose,
    make_files,
    play,
    random_cases,
    reader_pipelines,
    systematic,
)

import torchdali
import torchdali.fn
from torchdali.plugin import pytorch as plugin

STORED = json.loads(GOLDEN.read_text())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_files(str(tmp_path_factory.mktemp("files")))


def ours(c):
    return play(c, [reader_pipeline(c, shard) for shard in c["shards"]], plugin)


def counts(result):
    """Returns the number of batches of a result and their sizes."""
    epochs = result.get("epochs", [])
    return {**result, "epochs": [[[len(ids) for ids in b] for b in e] for e in epochs]}


def short(c):
    flags = "".join(f"-{k}" for k in ("stick", "pad", "auto_reset", "last_batch_padded") if c[k])
    by = "" if c["epoch_size"] is None else f"-size{c['epoch_size']}"
    return f"{c['policy']}-{c['size']}/{c['num_shards']}-{c['shards']}-by{c['batch']}{by}{flags}"


def assert_same(c, actual, dali):
    if differs_on_purpose(c):
        actual, dali = counts(actual), counts(dali)
    if c["epoch_size"] is not None and "epochs" in actual:
        # With `size`, DALI's len() ignores that an epoch may have started in the previous one.
        lengths = [len(epoch) for epoch in actual["epochs"]]
        assert actual["len"][:-1] == lengths, short(c)
        dali = {**dali, "len": actual["len"]}
    assert actual == dali, short(c)


@for_each("stored", STORED["cases"], ids=lambda s: short(s["case"]))
def test_epochs_equal_the_golden_values_of_dali(stored):
    assert_same(stored["case"], ours(stored["case"]), stored["result"])


@pytest.mark.parametrize("stored", STORED["cases"], ids=lambda s: short(s["case"]))
def test_epochs_of_a_reader_equal_the_golden_values_of_dali(stored, files):
    c = stored["case"]
    assert_same(c, play(c, reader_pipelines(c, files, torchdali), plugin), stored["result"])


def test_the_golden_values_are_up_to_date():
    assert [s["case"] for s in STORED["cases"]] == systematic()
    assert STORED["dali"] == "1.35.0"


def dali_results(python, cases):
    environment = {**os.environ, "TORCHDALI_TORCH_PATH": str(Path(torch.__file__).parents[1])}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, iterator_cases.__file__],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    assert answer["version"] == "1.35.0"
    return answer["results"]


@pytest.mark.dali
@pytest.mark.parametrize("seed", [1, 2])
def test_epochs_of_random_cases_equal_dali(seed, dali_python):
    cases = random_cases(seed, 150)
    for c, dali in zip(cases, dali_results(dali_python, cases), strict=True):
        assert_same(c, ours(c), dali)


def test_drop_with_padding_has_no_batch_of_padding_only():
    c = case(10, 3, [1], 3, policy="DROP", pad=True)
    assert differs_on_purpose(c)
    assert ours(c)["epochs"] == [[[[3, 4, 5]]], [[[6, 7, 8]]], [[[0, 1, 2]]], [[[3, 4, 5]]]]


@for_each("policy", ["FILL", "DROP", "PARTIAL"])
@for_each("pad", [False, True])
def test_ranks_of_one_job_have_equal_numbers_of_batches(policy, pad):
    results = [ours(case(11, 4, [rank], 2, policy=policy, pad=pad)) for rank in range(4)]
    lengths = [[len(epoch) for epoch in r["epochs"]] for r in results]
    assert lengths == [lengths[0]] * 4
    assert lengths[0] == results[0]["len"][:-1]


@pytest.mark.parametrize("stick", [False, True])
def test_partial_with_padding_has_each_sample_once_per_epoch(stick):
    results = [
        ours(case(11, 4, [rank], 2, policy="PARTIAL", pad=True, stick=stick)) for rank in range(4)
    ]
    for epoch in range(iterator_cases.EPOCHS):
        seen = [i for r in results for batch in r["epochs"][epoch] for ids in batch for i in ids]
        assert sorted(seen) == list(range(11))


def test_partial_with_shuffle_after_epoch_has_each_sample_once_per_epoch(files):
    c = case(11, 4, [0, 1, 2, 3], 2, policy="PARTIAL", pad=True)
    made = play(c, reader_pipelines(c, files, torchdali, shuffle_after_epoch=True), plugin)
    for epoch in made["epochs"]:
        assert sorted(i for batch in epoch for ids in batch for i in ids) == list(range(11))
