# SPDX-License-Identifier: Apache-2.0
"""Memory of torch's allocators as tensors: outputs of pipelines, and inputs of functions."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from helpers.gpu_functions import BATCH, pipeline, samples

from torchdali import fn, pipeline_def
from torchdali.pipeline import _callbacks

DTYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
          "float32", "float64", "bool")  # fmt: skip


def copied(data: list[np.ndarray]) -> list[torch.Tensor]:
    """Returns samples after a copy to the GPU; the pipeline is gone."""

    @pipeline_def(batch_size=len(data), num_threads=1, device_id=None)
    def define():
        return fn.external_source([data]).gpu()

    with define() as pipe:
        tensors = pipe.run()[0].as_torch_list()
    del pipe
    gc.collect()
    return tensors


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_have_type_and_place(backend, dtype):
    data = [
        np.arange(6, dtype=np.uint8).reshape(2, 3).astype(dtype),
        np.arange(20, 50, dtype=np.uint8).reshape(10, 3).astype(dtype),
    ]
    for tensor, array in zip(copied(data), data, strict=True):
        assert tensor.device.type == backend
        assert tensor.is_contiguous()
        torch.testing.assert_close(tensor.cpu(), torch.from_numpy(array), rtol=0, atol=0)


@pytest.mark.parametrize("shapes", [[()], [(0, 3), (2, 0)], [(2, 1, 3), (1, 2, 3)]], ids=str)
def test_tensors_have_torchs_shape_and_strides(backend, shapes):
    for tensor, shape in zip(copied([np.zeros(s, np.int16) for s in shapes]), shapes, strict=True):
        expected = torch.zeros(shape, dtype=torch.int16)
        assert (tensor.shape, tensor.stride()) == (expected.shape, expected.stride())
    del backend


def test_tensors_share_a_storage_of_torch(backend):
    first, second = copied([np.zeros((2, 3), np.float32), np.ones((4, 3), np.float32)])
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    assert first.untyped_storage().resizable()  # memory that torch was given is not
    first += 2
    assert second.tolist() == [[1.0] * 3] * 4
    del backend


class Told:
    """Records of which memory the allocator is told that the current stream uses it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[list[int]] = []  # addresses of storages
        self._tell = _callbacks._use_on_current_stream
        monkeypatch.setattr(_callbacks, "_use_on_current_stream", self._record)

    def _record(self, tensors: Sequence[torch.Tensor]) -> None:
        self.calls.append(storages(tensors))
        self._tell(tensors)


def storages(tensors: Sequence[torch.Tensor]) -> list[int]:
    return [tensor.untyped_storage().data_ptr() for tensor in tensors]


def test_the_allocator_is_told_of_the_stream_that_gets_outputs(backend, monkeypatch):
    told = Told(monkeypatch)

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
    def define():
        x = fn.external_source([samples()], cycle=True)
        return x.gpu(), x, fn.reductions.sum(x.gpu())

    with define() as pipe:
        for _ in range(2):
            told.calls.clear()
            x, _, total = pipe.run()
            assert told.calls == [storages(x.as_torch_list()[:1]), storages([total.as_torch()])]
    del backend


def test_the_allocator_is_told_of_the_stream_that_runs_a_function(backend, monkeypatch):
    told = Told(monkeypatch)
    given = []

    def function(x):
        given.append((told.calls[-1], storages([x])))
        return x

    with pipeline(function) as pipe:
        pipe.run()
    assert len(given) >= BATCH
    assert all(before == now for before, now in given)
    del backend
