# SPDX-License-Identifier: Apache-2.0
"""TensorListCPU and TensorCPU: NumPy, buffers, DLPack, copies to external memory."""

from __future__ import annotations

import array
import ctypes
import gc
import weakref

import numpy as np
import pytest
import torch

from torchdali import fn, pipeline_def, types
from torchdali.errors import ArgumentError
from torchdali.tensors import TensorCPU, TensorListCPU


def test_read_only_memory_is_not_copied():
    array = np.arange(4)
    array.flags.writeable = False
    assert TensorCPU(array).data_ptr() == array.ctypes.data
    assert TensorCPU(b"abc").as_torch().tolist() == [97, 98, 99]


def test_copy_to_external_packs_densely(ragged):
    target = (ctypes.c_uint8 * 11)()
    ragged.copy_to_external(ctypes.c_void_p(ctypes.addressof(target)))
    assert list(target) == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    strided = TensorCPU(np.arange(8, dtype=np.uint8)[::2])
    strided.copy_to_external(ctypes.addressof(target))
    assert list(target)[:4] == [0, 2, 4, 6]
    wide = TensorListCPU([np.array([1, 2], np.int16), np.array([3], np.int16)])
    wide.copy_to_external(ctypes.addressof(target))
    assert list(target)[:6] == [1, 0, 2, 0, 3, 0]
    with pytest.raises(ValueError, match="null"):
        strided.copy_to_external(ctypes.c_void_p(None))
    for wrong in ("address", None, 1.5):
        with pytest.raises(TypeError, match=r"ctypes\.c_void_p"):
            strided.copy_to_external(wrong)


def test_numpy_converts_to_a_requested_type(dense):
    assert np.array(dense, dtype=np.float32).dtype == np.float32
    copy = np.array(dense)
    assert copy.ctypes.data != dense.data_ptr()
    interface = dense[0].__array_interface__
    assert interface["shape"] == (3, 4)
    assert interface["data"][0] == dense.data_ptr()


def test_memoryview_shares_the_memory(dense, ragged):
    assert memoryview(dense).shape == (2, 3, 4)
    view = memoryview(dense[0])
    assert (view.nbytes, view.format, view.readonly) == (12, "B", False)
    view[0, 1] = 99
    assert dense.at(0)[0, 1] == 99
    assert np.frombuffer(dense[1], np.uint8).ctypes.data == dense[1].data_ptr()
    with pytest.raises(RuntimeError, match="different shapes"):
        memoryview(ragged)


def test_a_memoryview_keeps_the_memory_until_it_is_released():
    array = np.arange(5, dtype=np.uint8)
    alive = weakref.ref(array)
    view = memoryview(TensorCPU(array))
    del array
    gc.collect()
    assert list(view) == [0, 1, 2, 3, 4]
    view.release()
    del view
    gc.collect()
    assert alive() is None


def test_the_dlpack_device_is_the_cpu(dense):
    assert dense.__dlpack_device__() == (1, 0)


def test_dlpack_accepts_the_arguments_of_the_protocol(dense):
    for data in (dense, dense[0]):
        copied = torch.from_dlpack(data.__dlpack__(max_version=(1, 0), copy=True))
        assert torch.equal(copied, data.as_torch())
        assert copied.data_ptr() != data.data_ptr()
        same = torch.from_dlpack(data.__dlpack__(None, None, (1, 0), False))
        assert same.data_ptr() == data.data_ptr()
        assert np.from_dlpack(data).ctypes.data == data.data_ptr()


class DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


@pytest.mark.parametrize(
    ("ndim", "shape", "text"),
    [
        (-1, [2], "-1 dimensions"),
        (65, [1] * 65, "65 dimensions"),
        (2, None, "no shape, or a negative"),
        (2, [2, -2], "no shape, or a negative"),
    ],
)
def test_a_capsule_with_an_impossible_shape_is_an_error(ndim, shape, text):
    memory = (ctypes.c_float * 4)()
    extents = None if shape is None else (ctypes.c_int64 * len(shape))(*shape)
    managed = DLManagedTensor(ctypes.addressof(memory), (1, 0), ndim, (2, 32, 1, 0), extents)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.addressof(managed), b"dltensor", None)
    with pytest.raises(ArgumentError, match=text):
        TensorCPU(capsule)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define():
        return fn.dl_tensor_python_function(fn.constant(fdata=1.0), function=lambda _: capsule)

    with pytest.raises(ArgumentError, match=r"dimensions|negative extent|without a shape"):
        define().run()


def test_a_used_capsule_is_an_error():
    capsule = torch.utils.dlpack.to_dlpack(torch.zeros(2))
    assert TensorCPU(capsule, layout="X").layout() == "X"
    with pytest.raises(ValueError, match="DLPack"):
        TensorCPU(capsule)


@pytest.mark.parametrize(
    "buffer",
    [array.array("f", [1, 2, 3]), (ctypes.c_float * 3)(1, 2, 3), memoryview(np.float32([1, 2, 3]))],
    ids=["array", "ctypes", "memoryview"],
)
def test_any_buffer_is_accepted(buffer):
    for made in (TensorCPU(buffer), TensorListCPU(buffer).as_tensor()):
        assert made.dtype is types.FLOAT
        assert made.as_torch().tolist() == [1, 2, 3]


def test_fields_of_records_are_copied():
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "u1"), ("b", "f4")])
    assert TensorCPU(records["b"]).as_torch().tolist() == [2.5, 4.5]


def test_from_dlpack_list_makes_a_batch():
    batch = TensorListCPU.from_dlpack_list([torch.zeros(2), torch.ones(3)], layout="X")
    assert batch.shape() == [(2,), (3,)]
