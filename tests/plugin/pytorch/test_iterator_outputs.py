# SPDX-License-Identifier: Apache-2.0
"""Iterators for PyTorch: names, views, ragged and sparse outputs."""

import pytest
import torch
from fixed_iterators import over_reader, pipeline

from torchdali import types
from torchdali.plugin.pytorch import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    LastBatchPolicy,
    feed_ndarray,
    to_torch_type,
)
from torchdali.tensors import TensorCPU, TensorListCPU

RAGGED = [torch.arange(3.0), torch.arange(5.0)]


def test_tensors_are_not_copied():
    data = torch.zeros(2, 3)
    batch = next(DALIGenericIterator(pipeline(data), ["data"]))
    assert batch[0]["data"].data_ptr() == data.data_ptr()


def test_a_partial_batch_is_a_view_of_the_output():
    data = torch.zeros(2, 3)
    iterator = DALIGenericIterator(
        pipeline(data), ["data"], size=3, last_batch_policy=LastBatchPolicy.PARTIAL
    )
    last = list(iterator)[-1][0]["data"]
    assert last.shape == (1, 3)
    assert last.data_ptr() == data.data_ptr()


def test_later_batches_do_not_change_earlier_ones():
    kept = [batch[0]["label"] for batch in over_reader()]
    assert [k.flatten().tolist() for k in kept] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]


def test_every_output_of_every_pipeline_has_its_name():
    pipelines = [pipeline(torch.zeros(2, 1), torch.ones(2, 3)) for _ in range(2)]
    batch = next(DALIGenericIterator(pipelines, ["a", "b"], size=8))
    assert [{k: v.shape for k, v in d.items()} for d in batch] == [{"a": (2, 1), "b": (2, 3)}] * 2


def test_classification_names_its_outputs():
    batch = next(DALIClassificationIterator(pipeline(torch.zeros(2, 4), torch.ones(2, 1)), size=4))
    assert set(batch[0]) == {"data", "label"}


def test_samples_of_different_shapes_need_the_ragged_iterator():
    with pytest.raises(RuntimeError, match=r'output "x" cannot be one tensor.*\[3\] and \[5\]'):
        DALIGenericIterator(pipeline(RAGGED), ["x"])


def test_ragged_outputs_may_be_dense_lists_or_sparse():
    tags = DALIRaggedIterator
    iterator = DALIRaggedIterator(
        pipeline(torch.zeros(2, 4), RAGGED, RAGGED),
        ["dense", "list", "coo"],
        output_types=[tags.DENSE_TAG, tags.SPARSE_LIST_TAG, tags.SPARSE_COO_TAG],
    )
    batch = next(iterator)[0]
    assert batch["dense"].shape == (2, 4)
    assert [t.tolist() for t in batch["list"]] == [[0, 1, 2], [0, 1, 2, 3, 4]]
    assert batch["list"][1].data_ptr() == RAGGED[1].data_ptr()
    # The tensor of DALI 1.35.0 for these samples: zeros of the data are elements, too.
    coo = batch["coo"].coalesce()
    assert coo.shape == (2, 5)
    assert coo.indices().tolist() == [[0, 0, 0, 1, 1, 1, 1, 1], [0, 1, 2, 0, 1, 2, 3, 4]]
    assert coo.values().tolist() == [0, 1, 2, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "samples",
    [
        [torch.arange(6).reshape(2, 3), torch.arange(4).reshape(2, 2) + 10],
        [torch.tensor(3), torch.tensor(0)],
        [torch.zeros(0, 2), torch.ones(1, 2)],
        [torch.zeros(2, 0), torch.zeros(1, 0)],
    ],
    ids=["matrices", "scalars", "one empty", "all empty"],
)
def test_sparse_batches_contain_each_sample_at_the_origin(samples):
    iterator = DALIRaggedIterator(pipeline(samples), ["x"], output_types=["sparse_coo"])
    sparse = next(iterator)[0]["x"]
    expected = torch.zeros(sparse.shape, dtype=samples[0].dtype)
    for i, sample in enumerate(samples):
        expected[(i, *map(slice, sample.shape))] = sample
    assert torch.equal(sparse.to_dense(), expected)
    assert sparse._nnz() == sum(s.numel() for s in samples)


@pytest.mark.parametrize("form", ["sparse_list", "sparse_coo"])
def test_ragged_batches_can_be_partial(form):
    iterator = DALIRaggedIterator(
        pipeline(RAGGED),
        ["x"],
        size=3,
        output_types=[form],
        last_batch_policy=LastBatchPolicy.PARTIAL,
    )
    last = list(iterator)[-1][0]["x"]
    assert len(last) == 1
    assert last[0].to_dense().tolist() == [0, 1, 2]


def test_without_forms_ragged_outputs_are_dense():
    assert next(DALIRaggedIterator(pipeline(torch.ones(2, 3)), ["x"]))[0]["x"].shape == (2, 3)
    with pytest.raises(RuntimeError, match="give SPARSE_LIST_TAG"):
        DALIRaggedIterator(pipeline(RAGGED), ["x"])


@pytest.mark.parametrize("forms", [["dense", "dense"], ["other"], []])
def test_wrong_forms_are_errors(forms):
    with pytest.raises(ValueError, match=r"`output_types` is .*expected 1 of DENSE_TAG"):
        DALIRaggedIterator(pipeline(torch.ones(2, 3)), ["x"], output_types=forms)


def test_torch_types_match_those_of_dali():
    assert to_torch_type[types.FLOAT] == torch.float32
    assert to_torch_type[types.UINT8] == torch.uint8
    assert len(to_torch_type) == 12


def test_the_stream_of_feed_ndarray_is_checked():
    with pytest.raises(TypeError, match="feed_ndarray: expected a CUDA stream, got str"):
        feed_ndarray(TensorCPU(torch.ones(3)), torch.zeros(3), cuda_stream="own")


def test_feed_ndarray_fills_a_tensor():
    target = torch.zeros(2, 3)
    assert feed_ndarray(TensorListCPU(torch.ones(2, 3)), target) is target
    assert target.sum() == 6
    strided = torch.zeros(3, 2).T
    feed_ndarray(TensorListCPU([torch.ones(3), torch.ones(3) * 2]), strided)
    assert strided.tolist() == [[1, 1, 1], [2, 2, 2]]
    one = torch.zeros(3)
    assert feed_ndarray(TensorCPU(torch.ones(3)), one).sum() == 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int16, torch.int64])
def test_feed_ndarray_converts_to_a_type_that_has_all_values(dtype):
    target = torch.zeros(2, 3, dtype=dtype)
    feed_ndarray(TensorListCPU(torch.full((2, 3), 200, dtype=torch.uint8)), target)
    assert (target == 200).all()


@pytest.mark.parametrize(
    ("data", "target", "error"),
    [
        (torch.ones(2, 3), torch.zeros(2, 4), ValueError),
        (torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.uint8), TypeError),
        (torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.bfloat16), TypeError),
        (torch.ones(2, 3, dtype=torch.uint8), torch.zeros(2, 3, dtype=torch.int8), TypeError),
        (RAGGED, torch.zeros(2, 3), ValueError),
    ],
)
def test_feed_ndarray_rejects_other_shapes_and_types(data, target, error):
    with pytest.raises(error, match="feed_ndarray: the data"):
        feed_ndarray(TensorListCPU(data), target)
