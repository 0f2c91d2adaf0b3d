# SPDX-License-Identifier: Apache-2.0
"""TensorGPU and TensorListGPU: common behavior with the CPU classes, and GPU memory."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import torch

from torchdali import errors, tensors, types
from torchdali.backend import Stream
from torchdali.plugin.pytorch import feed_ndarray
from torchdali.tensors import TensorGPU, TensorListGPU

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@without_gpu
@pytest.mark.parametrize(
    "make",
    [
        lambda: TensorGPU(torch.zeros(2)),
        lambda: TensorListGPU(),
        lambda: TensorListGPU(np.zeros((2, 2))),
        lambda: TensorListGPU.from_dlpack_list([torch.zeros(2)]),
        lambda: Stream(None),
    ],
    ids=["tensor", "empty", "list", "dlpack", "stream"],
)
def test_without_a_gpu_an_error_says_so(make):
    with pytest.raises(errors.UnsupportedError, match="needs a GPU, and"):
        make()


class _Sample(TensorGPU):
    """The GPU class over CPU memory: everything but streams and addresses."""

    __slots__ = ()
    _device = "cpu"


class _Batch(TensorListGPU):
    __slots__ = ()
    _sample_class = _Sample


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr(tensors, "require_gpu", lambda what: None)


def test_a_gpu_batch_behaves_like_a_cpu_batch(pretended):
    batch = _Batch(torch.arange(24).reshape(2, 3, 4), "HW")
    assert batch.shape() == [(3, 4), (3, 4)]
    assert (batch.layout(), batch.ndim(), batch.dtype) == ("HW", 2, types.INT64)
    assert isinstance(batch[1], _Sample)
    assert isinstance(batch.at(0), _Sample)
    assert batch.as_tensor().layout() == "NHW"
    assert batch.as_reshaped_tensor([4, 6]).data_ptr() == batch.data_ptr()
    assert [sample.layout() for sample in batch] == ["HW", "HW"]
    assert _Batch(batch, "AB").layout() == "AB"
    assert _Batch([batch[0], batch[1]]).layout() == "HW"
    assert torch.from_dlpack(batch).data_ptr() == batch.data_ptr()
    assert repr(batch).startswith("_Batch(\n")
    with pytest.raises(IndexError):
        batch.at(2)
    batch.reset()
    assert (len(batch), len(_Batch())) == (0, 0)


def test_a_copy_on_the_cpu_keeps_layout_and_source_info(pretended):
    sample = _Sample(torch.zeros(1, 3), "HW")
    assert sample.as_cpu().layout() == "HW"
    ragged = _Batch([torch.zeros(2), torch.zeros(3)], "X")
    copied = ragged.as_cpu()
    assert isinstance(copied, tensors.TensorListCPU)
    assert (copied.shape(), copied.layout()) == ([(2,), (3,)], "X")
    assert sample.squeeze(0)
    assert (sample.shape(), sample.layout()) == ([3], "W")


def test_memory_of_the_cpu_is_an_error(pretended):
    with pytest.raises(errors.UnsupportedError, match="GPU memory is needed"):
        TensorGPU(torch.zeros(2))
    with pytest.raises(TypeError, match="CUDA array"):
        TensorGPU([1, 2])
    with pytest.raises(errors.LayoutError):
        _Sample(torch.zeros(2), "HW")


@pytest.mark.cuda
def test_a_sample_is_a_view_of_gpu_memory():
    tensor = torch.arange(6, device="cuda").reshape(2, 3)

    class Array:
        __cuda_array_interface__ = tensor.__cuda_array_interface__

    for data in (tensor, Array(), torch.utils.dlpack.to_dlpack(tensor)):
        sample = TensorGPU(data, "HW")
        assert sample.data_ptr() == tensor.data_ptr()
        assert (sample.shape(), sample.layout()) == ([2, 3], "HW")
        assert sample.device_id() == tensor.get_device()
        assert sample.__cuda_array_interface__["data"][0] == tensor.data_ptr()
    with pytest.raises(errors.UnsupportedError, match="of device 99"):
        TensorGPU(tensor, device_id=99)


@pytest.mark.cuda
@pytest.mark.parametrize("own_stream", [False, True])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_copy_to_external_copies_to_a_gpu_address(own_stream, non_blocking):
    batch = TensorListGPU([torch.arange(3, device="cuda"), torch.arange(2, device="cuda")])
    target = torch.zeros(5, dtype=torch.int64, device="cuda")
    stream = Stream(None) if own_stream else None
    batch.copy_to_external(
        ctypes.c_void_p(target.data_ptr()), stream, non_blocking, use_copy_kernel=True
    )
    torch.cuda.synchronize()
    assert target.tolist() == [0, 1, 2, 0, 1]


@pytest.mark.cuda
def test_feed_ndarray_copies_on_the_given_stream():
    own = torch.cuda.Stream()
    target = torch.zeros(3, device="cuda")
    with torch.cuda.stream(own):
        torch.cuda._sleep(1_000_000_000)  # the copy waits for it on its own stream only
    feed_ndarray(TensorGPU(torch.ones(3, device="cuda")), target, cuda_stream=own)
    assert target.tolist() == [0, 0, 0]
    own.synchronize()
    assert target.tolist() == [1, 1, 1]


@pytest.mark.cuda
def test_a_gpu_batch_can_be_an_input():
    batch = TensorListGPU(torch.arange(4.0, device="cuda").reshape(2, 2), "X")
    assert batch.as_cpu().as_array().tolist() == [[0, 1], [2, 3]]
    assert batch.stream == torch.cuda.current_stream().cuda_stream
    assert "num_samples=2" in repr(batch)
    made = TensorListGPU.from_dlpack_list(
        [torch.zeros(2, device="cuda")] * 2, "X", stream=Stream(None), contiguous=True
    )
    assert made.is_dense_tensor()
    assert made.device_id() == torch.cuda.current_device()
