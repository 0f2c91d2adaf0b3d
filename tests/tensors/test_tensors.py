# SPDX-License-Identifier: Apache-2.0
"""TensorListCPU and TensorCPU: construction, views, subscripts, changes in place."""

from __future__ import annotations

import ctypes
import typing

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import counting

from torchdali import backend, errors, tensors, types
from torchdali.tensors import TensorCPU, TensorListCPU, wrap


def test_backend_has_the_same_classes():
    assert backend.TensorListCPU is tensors.TensorListCPU
    assert backend.TensorCPU is TensorCPU


def test_a_dense_batch_has_shape_type_and_layout(dense):
    assert len(dense) == 2
    assert dense.shape() == [(3, 4), (3, 4)]
    assert dense.ndim() == 2
    assert dense.layout() == "HW"
    assert dense.dtype is types.UINT8
    assert dense.is_dense_tensor()


def test_a_ragged_batch_has_shapes_type_and_layout(ragged):
    assert len(ragged) == 2
    assert ragged.shape() == [(2, 3), (1, 5)]
    assert not ragged.is_dense_tensor()
    assert ragged.at(1).tolist() == [[0, 1, 2, 3, 4]]
    with pytest.raises(RuntimeError, match="different shapes"):
        ragged.as_torch()
    with pytest.raises(RuntimeError, match="different shapes"):
        ragged.as_array()


def test_views_are_not_copied(dense):
    whole = dense.as_torch()
    pointer = whole.data_ptr()
    assert dense.torch().data_ptr() == pointer
    assert dense.as_array().ctypes.data == pointer
    assert np.asarray(dense).ctypes.data == pointer
    assert np.asarray(dense[1]).ctypes.data == pointer + 12
    assert dense.at(1).ctypes.data == pointer + 12
    assert dense.as_tensor().data_ptr() == pointer
    assert torch.from_dlpack(dense).data_ptr() == pointer
    assert torch.from_dlpack(dense[0]).data_ptr() == pointer
    assert [t.data_ptr() for t in dense.as_torch_list()] == [pointer, pointer + 12]


def test_samples_outlive_the_batch(dense):
    sample = dense[0]
    expected = sample.as_torch().clone()
    del dense
    assert torch.equal(sample.as_torch(), expected)


def test_as_tensor_packs_equal_shapes_once():
    batch = TensorListCPU([np.zeros(3, np.float32), np.ones(3, np.float32)])
    assert batch.is_dense_tensor()
    assert batch.as_torch().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert batch.as_torch().data_ptr() == batch.as_tensor().data_ptr()


def test_as_tensor_puts_the_batch_before_the_layout(dense):
    assert dense.as_tensor().layout() == "NHW"
    assert TensorListCPU(counting(2, 3)).as_tensor().layout() == ""


def test_as_reshaped_tensor_is_a_view(dense):
    reshaped = dense.as_reshaped_tensor([6, 4])
    assert reshaped.shape() == [6, 4]
    assert reshaped.data_ptr() == dense.data_ptr()
    for wrong in ([5, 5], [-1], [24, -1], []):
        with pytest.raises(RuntimeError, match="cannot become"):
            dense.as_reshaped_tensor(wrong)


def test_as_reshaped_tensor_packs_separate_samples_once(ragged):
    flat = ragged.as_reshaped_tensor([11])
    assert flat.as_torch().tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    assert flat.data_ptr() == ragged.data_ptr() == ragged.as_reshaped_tensor([1, 11]).data_ptr()
    assert ragged[1].data_ptr() == flat.data_ptr() + 6
    assert ragged.shape() == [(2, 3), (1, 5)]


def test_data_ptr_is_the_address_of_packed_elements():
    strided = TensorCPU(np.arange(8, dtype=np.uint8)[::2])
    assert ctypes.string_at(strided.data_ptr(), 4) == bytes([0, 2, 4, 6])
    batch = TensorListCPU(np.arange(8, dtype=np.uint8).reshape(2, 4)[:, ::2])
    assert ctypes.string_at(batch.data_ptr(), 4) == bytes([0, 2, 4, 6])


@pytest.mark.parametrize("index", [2, -3, 100])
def test_a_subscript_out_of_range_is_an_index_error(dense, ragged, index):
    for batch in (dense, ragged):
        with pytest.raises(IndexError, match="of a batch of 2"):
            batch[index]
        with pytest.raises(IndexError, match="of a batch of 2"):
            batch.at(index)


def test_subscripts_count_from_the_end_too(dense):
    assert torch.equal(dense[-1].as_torch(), dense[1].as_torch())
    assert torch.equal(dense[np.int64(1)].as_torch(), dense[1].as_torch())
    with pytest.raises(TypeError):
        dense["0"]


def test_iteration_gives_samples(dense, ragged):
    assert [s.shape() for s in dense] == [[3, 4], [3, 4]]
    assert [s.layout() for s in ragged] == ["HW", "HW"]


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: torch.from_numpy(a),
        lambda a: memoryview(a),
        lambda a: TensorCPU(a),
        lambda a: torch.utils.dlpack.to_dlpack(torch.from_numpy(a)),
    ],
    ids=["numpy", "torch", "buffer", "TensorCPU", "capsule"],
)
def test_a_sample_is_a_view_of_its_source(make):
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    sample = TensorCPU(make(array), "HW")
    array[0, 0] = 7
    assert sample.as_torch()[0, 0] == 7
    assert sample.dtype is types.INT16
    assert sample.shape() == [2, 3]
    assert sample.layout() == "HW"


def test_strides_are_kept_and_negative_ones_are_packed():
    array = np.arange(12).reshape(3, 4)
    assert np.array_equal(TensorCPU(array[:, ::2]), array[:, ::2])
    assert np.array_equal(TensorCPU(array[::-1]), array[::-1])
    big_endian = array.astype(">i4")
    assert np.array_equal(TensorCPU(big_endian), array)


@for_each("wrong", ["text", 5, None, object(), [1, 2], np.zeros(2, "U3"), 1j])
def test_unsupported_objects_are_type_errors(wrong):
    with pytest.raises(TypeError):
        TensorCPU(wrong)


def test_unsupported_element_types_are_type_errors():
    with pytest.raises(TypeError, match="complex"):
        TensorCPU(np.zeros(2, np.complex64))
    with pytest.raises(TypeError, match="bfloat16"):
        TensorListCPU(torch.zeros(2, 2, dtype=torch.bfloat16))


def test_a_layout_has_one_letter_per_dimension():
    with pytest.raises(errors.LayoutError, match='"HWC" has 3 axes'):
        TensorCPU(np.zeros((2, 2)), "HWC")
    with pytest.raises(ValueError, match='"HWC" has 3 axes'):
        TensorListCPU(np.zeros((2, 2, 2)), "HWC")
    batch = TensorListCPU(np.zeros((2, 2, 2)), "HW")
    batch.set_layout(None)
    assert batch.layout() == ""
    with pytest.raises(ValueError, match="axes"):
        batch[0].set_layout("A")


@pytest.mark.parametrize(
    ("samples", "cls", "text"),
    [
        ([], ValueError, "empty"),
        ([np.zeros(2), np.zeros(2, np.float32)], TypeError, "sample 1 is torch.float32"),
        ([np.zeros(2), np.zeros((2, 2))], TypeError, "sample 1 has shape"),
        (np.float32(3), ValueError, "scalar"),
    ],
)
def test_samples_of_different_types_are_an_error(samples, cls, text):
    with pytest.raises(cls, match=text):
        TensorListCPU(samples)


def test_a_batch_of_samples_has_their_common_layout():
    first, second = TensorCPU(np.zeros((2, 3)), "HW"), TensorCPU(np.zeros((2, 3)), "HW")
    assert TensorListCPU([first, second]).layout() == "HW"
    second.set_layout("AB")
    assert TensorListCPU([first, second]).layout() == ""
    assert TensorListCPU([first, second], "XY").layout() == "XY"


def test_a_batch_from_a_batch_keeps_its_layout(dense):
    assert TensorListCPU(dense).layout() == "HW"
    assert TensorListCPU(dense, "AB").layout() == "AB"
    assert TensorListCPU(dense).data_ptr() == dense.data_ptr()


def test_squeeze_removes_axes_in_place_and_returns_whether_it_did():
    sample = TensorCPU(np.zeros((1, 2, 1)), "HWC")
    assert sample.squeeze(1) is False
    assert sample.squeeze(-1) is True
    assert (sample.shape(), sample.layout()) == ([1, 2], "HW")
    assert sample.squeeze() is True
    assert (sample.shape(), sample.layout()) == ([2], "W")
    assert sample.squeeze() is False
    with pytest.raises(IndexError, match="axis 5"):
        sample.squeeze(5)


def test_reinterpret_changes_the_type_and_no_bit():
    sample = TensorCPU(np.array([1.0], np.float32))
    sample.reinterpret(types.INT32)
    assert sample.as_torch().tolist() == [0x3F800000]
    with pytest.raises(ValueError, match="size"):
        sample.reinterpret(types.UINT8)
    batch = TensorListCPU([np.zeros(2, np.int8), np.full(3, -1, np.int8)])
    batch.reinterpret(types.UINT8)
    assert batch.at(1).tolist() == [255] * 3


def test_a_tensor_becomes_a_batch_along_its_first_axis(dense):
    whole = dense.as_tensor()
    assert (whole.layout(), TensorCPU(dense).layout()) == ("NHW", "NHW")
    assert TensorListCPU(whole).layout() == "HW"
    assert TensorListCPU(whole).data_ptr() == dense.data_ptr()


def test_tensors_have_a_repr():
    sample = TensorCPU(np.zeros((2, 3)), "HW")
    assert sample.get_property("layout") == "HW"
    assert sample.get_property("source_info") is None
    assert sample.get_property("anything") is None
    assert sample.source_info() == ""
    assert TensorCPU(np.zeros(2)).get_property("layout") is None


def test_a_tensor_on_another_device_is_an_error():
    with pytest.raises(errors.UnsupportedError, match="the data is on meta"):
        TensorCPU(torch.zeros(2, device="meta"))

    class OnGPU:
        __cuda_array_interface__: typing.ClassVar = {
            "shape": (1,),
            "typestr": "|u1",
            "data": (1, True),
        }

    with pytest.raises(errors.UnsupportedError, match=r"on a GPU \(OnGPU\)"):
        TensorCPU(OnGPU())
    with pytest.raises(TypeError, match="dense tensor"):
        TensorCPU(torch.eye(2).to_sparse())


def test_dtype_can_still_be_called():
    sample = TensorCPU(np.zeros(2, np.float32))
    with pytest.warns(DeprecationWarning, match="property"):
        assert sample.dtype() == "=f"


def test_broadcast_repeats_without_memory():
    batch = TensorListCPU.broadcast(TensorCPU(np.arange(3), "X"), 4)
    assert batch.shape() == [(3,)] * 4
    assert batch.layout() == "X"
    assert batch[0].data_ptr() == batch[3].data_ptr()


def test_reset_empties_a_batch(dense):
    dense.reset()
    assert len(dense) == 0
    assert dense.shape() == []
    assert dense.dtype is types.NO_TYPE
    assert list(dense) == []
    assert "num_samples=0" in repr(dense)


def test_repr_shows_values_type_layout_and_shapes(dense, ragged):
    text = repr(dense)
    assert text.startswith("TensorListCPU(\n")
    assert "dtype=DALIDataType.UINT8" in text
    assert 'layout="HW"' in text
    assert "num_samples=2" in text
    assert "shape=[(3, 4), (3, 4)]" in text
    assert "shape=[(2, 3), (1, 5)]" in repr(ragged)
    assert "layout=HW" in repr(dense[0])
    assert len(repr(TensorListCPU(torch.zeros(500, 64, 64)))) < 5000
    assert len(repr(wrap([torch.zeros(i % 9, 2) for i in range(500)], ""))) < 5000
