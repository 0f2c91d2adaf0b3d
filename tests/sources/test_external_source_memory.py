# SPDX-License-Identifier: Apache-2.0
"""Memory of fn.external_source: no needless copies, and lifetimes of shared memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import Pipeline, fn
from torchdali.tensors import TensorCPU, TensorListCPU

BATCH = 3


def build(source=None, *, depth=2, batch=True, **options):
    pipe = Pipeline(BATCH, 1, prefetch_queue_depth=depth)
    with pipe:
        pipe.set_outputs(fn.external_source(source, name="data", batch=batch, **options))
    pipe.build()
    return pipe


def fed(data, **options):
    pipe = build(**options)
    pipe.feed_input("data", data)
    return pipe.run()[0]


WAYS = {
    "feed_input": fed,
    "callable": lambda data, **options: build(lambda: data, **options).run()[0],
    "callable with index": lambda data, **options: build(lambda _: data, **options).run()[0],
    "iterable": lambda data, **options: build([data], **options).run()[0],
    "generator": lambda data, **options: build((d for d in [data]), **options).run()[0],
}


class Exported:
    """An object that supports DLPack only."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **options):
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


def grid():
    return np.arange(BATCH * 4, dtype=np.float32).reshape(BATCH, 4)


def addresses(data):
    """Returns the addresses of the samples of the user."""
    if isinstance(data, TensorListCPU):
        data = data.as_torch_list()
    samples = [d._tensor if isinstance(d, Exported) else d for d in data]
    samples = [s.as_torch() if isinstance(s, TensorCPU) else s for s in samples]
    return [
        s.data_ptr() if isinstance(s, torch.Tensor) else s.__array_interface__["data"][0]
        for s in samples
    ]


CONTIGUOUS = {
    "array": grid,
    "read-only array": lambda: np.frombuffer(bytes(12), np.uint8).reshape(BATCH, 4),
    "bool array": lambda: np.ones((BATCH, 2), bool),
    "tensor": lambda: torch.from_numpy(grid()),
    "float16 tensor": lambda: torch.from_numpy(grid()).half(),
    "tensor that requires gradients": lambda: torch.ones(BATCH, 2, requires_grad=True),
    "list of arrays": lambda: list(grid()),
    "ragged arrays": lambda: [np.arange(i + 1) for i in range(BATCH)],
    "list of tensors": lambda: [torch.arange(4) for _ in range(BATCH)],
    "ragged tensors": lambda: [torch.ones(i + 1, 2) for i in range(BATCH)],
    "scalars": lambda: [np.array(i) for i in range(BATCH)],
    "TensorList": lambda: TensorListCPU(grid(), "X"),
    "ragged TensorList": lambda: TensorListCPU([np.arange(i + 1) for i in range(BATCH)]),
    "list of TensorCPU": lambda: [TensorCPU(row, "X") for row in grid()],
    "list of DLPack objects": lambda: [Exported(torch.arange(4)) for _ in range(BATCH)],
}


@for_each("way", WAYS)
@for_each("make", CONTIGUOUS.values(), ids=CONTIGUOUS)
@for_each("depth", [1, 3])
def test_with_no_copy_outputs_share_the_memory_of_the_user(make, way, depth):
    data = make()
    out = WAYS[way](data, no_copy=True, depth=depth)
    assert [t.data_ptr() for t in out.as_torch_list()] == addresses(data)
    if not isinstance(data, (list, TensorListCPU)):
        assert out.as_torch().data_ptr() == addresses(data)[0]


@for_each("way", WAYS)
@for_each("make", CONTIGUOUS.values(), ids=CONTIGUOUS)
def test_without_no_copy_outputs_are_copies(make, way):
    data = make()
    out = WAYS[way](data)
    assert not set(addresses(data)) & {t.data_ptr() for t in out.as_torch_list()}


@pytest.mark.parametrize("way", ["feed_input", "callable"])
def test_dlpack_batches_share_memory(way):
    tensor = torch.arange(12).reshape(BATCH, 4)
    for data in (
        Exported(tensor),
        torch.utils.dlpack.to_dlpack(tensor),
        tensor.numpy().__dlpack__(),
    ):
        out = WAYS[way](data, no_copy=True)
        assert out.shape() == [(4,)] * BATCH
        assert out.as_torch().data_ptr() == tensor.data_ptr()
    capsules = [torch.utils.dlpack.to_dlpack(row) for row in tensor]
    out = WAYS[way](capsules, no_copy=True)
    assert [t.data_ptr() for t in out.as_torch_list()] == [row.data_ptr() for row in tensor]


@pytest.mark.parametrize("source", ["callable", "iterable"])
def test_samples_share_the_memory_of_the_user(source):
    samples = [np.full(4, i) for i in range(2 * BATCH)]
    given = samples if source == "iterable" else lambda info: samples[info.idx_in_epoch]
    pipe = build(given, batch=False, no_copy=True)
    for first in (0, BATCH):
        out = pipe.run()[0].as_torch_list()
        assert [t.data_ptr() for t in out] == addresses(samples[first : first + BATCH])


def test_several_outputs_share_the_memory_of_the_user():
    first, second = grid(), [torch.ones(i + 1) for i in range(BATCH)]
    pipe = Pipeline(BATCH, 1)
    with pipe:
        pipe.set_outputs(*fn.external_source(lambda: (first, second), num_outputs=2, no_copy=True))
    one, other = pipe.run()
    assert one.as_torch().data_ptr() == addresses(first)[0]
    assert [t.data_ptr() for t in other.as_torch_list()] == addresses(second)


@pytest.mark.parametrize("way", WAYS)
def test_outputs_of_another_pipeline_are_not_copied(way):
    first = build(lambda: [np.arange(i + 2) for i in range(BATCH)], layout="X").run()[0]
    out = WAYS[way](first, no_copy=True)
    assert out.layout() == "X"
    assert [t.data_ptr() for t in out.as_torch_list()] == addresses(first)
    # Also through an operator that returns views.
    pipe = Pipeline(BATCH, 1)
    with pipe:
        pipe.set_outputs(fn.external_source(lambda: first, no_copy=True) + 0)
    assert [len(t) for t in pipe.run()[0]] == [2, 3, 4]


@for_each(
    "data",
    [
        np.arange(24).reshape(BATCH, 8)[:, ::2],
        np.arange(24).reshape(BATCH, 8)[:, ::-1],
        np.arange(24).reshape(4, 2, BATCH).transpose(2, 0, 1),
        np.arange(24).reshape(2 * BATCH, 4)[::2],
        torch.arange(4).expand(BATCH, 4),
        torch.arange(24).reshape(4, BATCH, 2).transpose(0, 1),
        [torch.arange(8)[::2]] * BATCH,
        np.arange(12, dtype=">i4").reshape(BATCH, 4),
    ],
    ids=["step", "backwards", "transposed", "rows", "expanded", "swapped", "list", "bytes"],
)
@for_each("no_copy", [False, True])
def test_strided_data_is_packed(data, no_copy):
    samples = [np.array(sample.tolist()) for sample in data]
    out = fed(data, no_copy=no_copy)
    assert np.array_equal(out.as_array(), samples)
    assert all(sample.is_contiguous() for sample in out.as_torch_list())
    assert [sample.tolist() for sample in data] == [sample.tolist() for sample in samples]


# -- lifetimes


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["array", "list"])
def test_an_output_keeps_the_memory_of_a_deleted_array(way, form):
    def make():
        array = grid() + 5
        return (array if form == "array" else list(array)), array[0].__array_interface__["data"][0]

    data, address = make()
    out = WAYS[way](data, no_copy=True)  # the pipeline is gone when it returns
    del data
    gc.collect()
    others = [np.zeros((BATCH, 4), np.float32) for _ in range(50)]  # would reuse freed memory
    assert out.as_torch_list()[0].data_ptr() == address
    assert np.array_equal(out.as_array(), grid() + 5)
    assert all(o.max() == 0 for o in others)


class Counted(np.ndarray):
    """An array that can be referenced weakly."""


def counted():
    array = np.zeros((BATCH, 4), np.float32).view(Counted)
    return array, weakref.ref(array)


def test_memory_is_let_go_with_the_last_output():
    array, alive = counted()
    out = fed(array, no_copy=True)
    sample = out.as_torch()[1]
    del array, out
    gc.collect()
    assert alive() is not None  # a view of one sample keeps it
    assert sample.sum() == 0
    del sample
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_deleted_pipeline_releases_prefetched_data(depth):
    made = []

    def source():
        array, alive = counted()
        made.append(alive)
        return array

    pipe = build(source, depth=depth, no_copy=True)
    kept = pipe.run()[0]
    assert len(made) == depth
    del pipe
    gc.collect()
    assert [alive() is not None for alive in made] == [True] + [False] * (depth - 1)
    assert kept.as_torch().sum() == 0


def test_without_no_copy_the_array_is_released():
    pipe = build()
    array, alive = counted()
    pipe.feed_input("data", array)
    del array
    gc.collect()
    assert alive() is None
    assert pipe.run()[0].as_torch().sum() == 0


def test_writing_to_an_output_writes_to_the_memory_of_the_user():
    array = grid()
    fed(array, no_copy=True).as_torch().fill_(7)
    assert (array == 7).all()
    fed(array).as_torch().zero_()
    assert (array == 7).all()


def test_operators_do_not_change_the_memory_of_the_user():
    array = grid()
    pipe = Pipeline(BATCH, 1)
    with pipe:
        data = fn.external_source(lambda: array, no_copy=True)
        pipe.set_outputs(data, data * 2)
    same, doubled = pipe.run()
    assert same.as_torch().data_ptr() == addresses(array)[0]
    assert np.array_equal(doubled.as_array(), grid() * 2)
    assert np.array_equal(array, grid())


def test_repeated_batches_share_memory_with_no_copy_only():
    for no_copy in (False, True):
        pipe = build(repeat_last=True, no_copy=no_copy)
        pipe.feed_input("data", grid())
        seen = [pipe.run()[0].as_torch() for _ in range(3)]
        assert len({t.data_ptr() for t in seen}) == (1 if no_copy else 3)
        assert all(np.array_equal(t, grid()) for t in seen)
