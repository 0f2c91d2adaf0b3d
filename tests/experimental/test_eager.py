# SPDX-License-Identifier: Apache-2.0
"""DALI's eager mode: results, errors and the switch as in DALI, random operators, readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import dali_oracle, eager_programs
from helpers.cases import for_each

from torchdali import errors, fn, pipeline_def
from torchdali.experimental import eager
from torchdali.tensors import TensorListCPU

PROGRAMS = Path(eager_programs.__file__)


@for_each("name", sorted(eager_programs.CALLS))
def test_results_are_those_of_dali(name):
    layout, samples = eager_programs.run("torchdali", name)
    theirs, expected = dali_oracle.call(PROGRAMS, "run", name)
    assert layout == theirs
    for ours, sample in zip(samples, expected, strict=True):
        assert ours.dtype == sample.dtype
        np.testing.assert_allclose(ours, sample, rtol=1e-6)


@for_each("name", sorted(eager_programs.REFUSED))
def test_what_dali_refuses_is_refused(name):
    assert dali_oracle.call(PROGRAMS, "refuse", name) != "no error"
    assert eager_programs.refuse("torchdali", name) != "no error"


def test_the_switch_of_arithmetic_is_that_of_dali():
    ours = eager_programs.arithmetic("torchdali")
    assert ours == [False, True, False, True, False, True, False]
    assert ours == dali_oracle.call(PROGRAMS, "arithmetic")


def test_errors_name_operator_value_and_line():
    batch = TensorListCPU(eager_programs.images(), layout="HWC")
    with pytest.raises(errors.OutOfRangeError, match=r"eager\.crop: .*50.*\n.*\n.*test_eager\.py"):
        eager.crop(batch, crop=[50, 50])
    with pytest.raises(errors.UnsupportedError, match=r"eager\.flip: runs on a GPU"):
        eager.flip(batch, device="gpu")
    with pytest.raises(TypeError, match=r"add of TensorListCPU and int\) is off\n.*arithmetic"):
        batch + 1
    with pytest.raises(errors.UnsupportedNameError, match="no counterpart"):
        eager.constant  # noqa: B018
    assert batch == batch
    assert len({batch, TensorListCPU(batch)}) == 2


def test_random_operators_follow_the_seed():
    def draw(seed: int) -> list[torch.Tensor]:
        state = eager.rng_state(seed=seed)
        batch = TensorListCPU(eager_programs.images(), layout="HWC")
        return [
            state.random.uniform(range=[0.0, 1.0], shape=[3], batch_size=4).as_torch(),
            state.random.uniform(range=[0.0, 1.0], shape=[3], batch_size=4).as_torch(),
            state.random_resized_crop(batch, size=[5, 5]).as_torch(),
        ]

    first, second, other = draw(42), draw(42), draw(43)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first[0], first[1])
    assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for index in range(10):
        home = tmp_path / str(index % 2)
        home.mkdir(exist_ok=True)
        (home / f"{index}.jpg").write_bytes(bytes(range(index + 1)))
    return str(tmp_path)


@for_each("shards", [{}, {"num_shards": 3, "shard_id": 1}])
@for_each("pad", [False, True])
def test_readers_give_the_epochs_of_a_pipeline(folder, shards, pad):
    arguments = {"file_root": folder, "random_shuffle": True, "seed": 5, "initial_fill": 4}
    arguments.update(shards)

    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def definition():
        return fn.readers.file(name="reader", pad_last_batch=True, **arguments)

    pipe = definition()
    iterator = eager.readers.file(batch_size=4, pad_last_batch=pad, **arguments)
    assert len(iterator) == (1 if shards else 3)
    for epoch in range(3):
        begins = [10 * shard // 3 for shard in range(4)]
        count = np.diff(begins)[(1 + epoch) % 3] if shards else 10
        seen = 0
        for files, labels in iterator:
            theirs = pipe.run()
            left = 4 if pad else min(4, count - seen)
            assert len(files) == left
            for ours, expected in zip((files, labels), theirs, strict=True):
                for index in range(left):
                    assert np.array_equal(ours.at(index), expected.at(index))
                    assert ours[index].source_info() == expected[index].source_info()
            seen += 4
        assert seen == 4 * len(iterator)
