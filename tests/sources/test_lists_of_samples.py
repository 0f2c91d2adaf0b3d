# SPDX-License-Identifier: Apache-2.0
"""Lists that fn.external_source converts as a whole: arrays and numbers of one kind."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import Pipeline, fn
from torchdali.errors import ArgumentTypeError


def build(source, **options):
    pipe = Pipeline(4, 1)
    with pipe:
        pipe.set_outputs(fn.external_source(source, **options))
    pipe.build()
    return pipe


def run(data, **options):
    return build(lambda: data, batch=True, **options).run()[0]


LISTS = {
    "NumPy integers": [np.int32(-5), np.int32(7)],
    "NumPy booleans": [np.bool_(True), np.bool_(False)],
    "halves": [np.float16(0.5), np.float16(-2)],
    "large unsigned": [np.uint64(2**63), np.uint64(1)],
    "integers": [3, -4, 2**40],
    "floats": [0.5, 2.0],
    "booleans": [True, False],
    "different NumPy integers": [np.int16(1), np.array(2, np.int16)],
    "arrays without dimensions": [np.array(3), np.array(4)],
    "arrays": [np.arange(6).reshape(2, 3), np.arange(4).reshape(4, 1)],
    "no elements": [np.zeros((0, 3), np.float32), np.zeros((2, 0), np.float32)],
    "read-only arrays": [np.frombuffer(b"abcd", np.uint8), np.frombuffer(b"xy", np.uint8)],
    "strided arrays": [np.arange(6).reshape(2, 3).T, np.arange(6).reshape(3, 2)],
    "reversed arrays": [np.arange(6)[::-1], np.arange(6)],
    "foreign bytes": [np.arange(3, dtype=">i4"), np.arange(3, dtype="i4")],
    "memory-mapped class": [np.arange(3).view(np.memmap), np.arange(3)],
    "tuple": (np.arange(3), np.arange(4)),
}


@for_each("name", LISTS)
@for_each("no_copy", [True, False])
def test_samples_are_those_of_numpy(name, no_copy):
    data = LISTS[name]
    for sample, item in zip(run(data, no_copy=no_copy).as_torch_list(), data, strict=True):
        expected = np.asarray(item)
        expected = torch.from_numpy(expected.astype(expected.dtype.newbyteorder("=")))
        assert sample.dtype == expected.dtype
        assert torch.equal(sample, expected)


WRONG = {
    "types": [np.int32(1), np.int64(2)],
    "arrays and numbers": [np.arange(3), np.int64(2)],
    "types of arrays": [np.arange(3), np.arange(3.0)],
    "dimensions": [np.arange(3), np.arange(4).reshape(2, 2)],
    "integers that do not fit": [1, 2**63],
    "integers and floats": [1, 2.0],
    "complex": [np.complex64(1), np.complex64(2)],
    "text": [np.str_("a"), np.str_("b")],
    "durations": [np.timedelta64(1), np.timedelta64(2)],
}


@for_each("name", WRONG)
def test_lists_of_different_samples_are_refused(name):
    with pytest.raises(ArgumentTypeError):
        run(WRONG[name])


@for_each("count", [1, 4])
def test_copies_belong_to_their_batch(count):
    arrays = [np.zeros((300, 700), np.float32) for _ in range(count)]
    made = iter(range(100))

    def source():
        value = next(made)
        for array in arrays:
            array[:] = value
        return arrays

    pipe = build(source, batch=True)
    kept = [pipe.run()[0] for _ in range(12)]
    for _ in range(3):
        assert [{float(t.min()) for t in b.as_torch_list()} for b in kept] == [
            {float(t.max()) for t in b.as_torch_list()} for b in kept
        ]
        assert [float(batch.as_torch_list()[-1][0, 0]) for batch in kept] == list(range(12))
        pipe.run()
        gc.collect()


@for_each("whole", [True, False])
def test_memory_of_copies_is_used_again(whole):
    data = np.zeros((4, 600, 700), np.float32)
    pipe = build(lambda: data if whole else list(data), batch=True)
    lists = []
    for _ in range(2):
        kept = [pipe.run()[0].as_torch_list() for _ in range(20)]
        lists.append({batch[0].data_ptr() for batch in kept})
        del kept
        gc.collect()
    assert len(lists[0]) == 20
    assert len(lists[0] & lists[1]) > 15
