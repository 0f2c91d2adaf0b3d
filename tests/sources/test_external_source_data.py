# SPDX-License-Identifier: Apache-2.0
"""Data of fn.external_source: arrays, buffers, numbers, tensors, and unsupported objects."""

from __future__ import annotations

import array
import functools
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.dali_oracle import DaliError, run_graph

from torchdali import Pipeline, fn, types
from torchdali.tensors import TensorCPU, TensorListCPU

BATCH = 3


def build(source=None, **options):
    pipe = Pipeline(BATCH, 1, py_start_method="fork", py_num_workers=1)
    with pipe:
        pipe.set_outputs(fn.external_source(source, name="data", **options))
    return pipe


def fed(data):
    pipe = build()
    pipe.feed_input("data", data)
    return pipe.run()[0]


WAYS = {
    "feed_input": fed,
    "callable": lambda data: build(lambda: data).run()[0],
    "iterable": lambda data: build([data]).run()[0],
    "workers": lambda data: build(lambda _: data, parallel=True).run()[0],
}


class Exported:
    """Supports DLPack only."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **options):
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


class Described:
    """Supports NumPy's array interface only."""

    def __init__(self, values):
        self._values = values
        self.__array_interface__ = values.__array_interface__


class Convertible:
    """Supports __array__ only."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(4, dtype=dtype)


class OnGpu:
    """Supports the CUDA array interface only."""

    __cuda_array_interface__ = ()


ROW = np.arange(4, dtype=np.float32)

SAMPLES = {
    "array": ROW,
    "scalar array": np.array(3, np.int16),
    "NumPy number": np.float16(1.5),
    "NumPy bool": np.bool_(True),
    "backwards": ROW[::-1],
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "big-endian": np.arange(4, dtype=">u2"),
    "field of records": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])["b"],
    "masked": np.ma.array([1, 2]),
    "empty": np.zeros((0, 2), np.uint8),
    "no axis is long": np.zeros((2, 0, 3), bool),
    "high rank": np.zeros((1, 2, 1, 2, 1, 2)),
    "tensor": torch.arange(4),
    "scalar tensor": torch.tensor(2.5),
    "half tensor": torch.ones(2, dtype=torch.float16),
    "unsigned tensor": torch.ones(2, dtype=torch.uint32),
    "strided tensor": torch.arange(8)[::2],
    "requires grad": torch.ones(2, requires_grad=True),
    "negative view": torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
    "TensorCPU": TensorCPU(ROW),
    "DLPack": Exported(torch.arange(4)),
    "array interface": Described(ROW),
    "__array__": Convertible(),
    "buffer": array.array("f", [1, 2]),
    "memoryview": memoryview(b"abc"),
    "bytearray": bytearray(b"abc"),
    "bytes": b"abc",
    "int": 2**40,
    "float": 2.5,
    "bool": True,
    "list": [[1, 2], [3, 4]],
}


def as_array(value):
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_neg().numpy()
    if isinstance(value, Exported):
        return value._tensor.numpy()
    if isinstance(value, (bytes, bytearray)):
        return np.frombuffer(value, np.uint8)
    value = np.asarray(value)
    return value.astype(value.dtype.newbyteorder("="))


@for_each("way", WAYS)
@for_each("value", SAMPLES.values(), ids=SAMPLES)
def test_a_sample_may_be_any_kind_of_array(value, way):
    out = WAYS[way]([value] * 2)
    expected = as_array(value)
    assert len(out) == 2
    for sample in out:
        got = np.array(sample)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_source_of_samples_may_return_any_kind_of_array(parallel):
    values = list(SAMPLES.values())
    for value in values:
        source = functools.partial(lambda value, _: value, value)
        pipe = build(source, batch=False, parallel=parallel)
        assert np.array_equal(np.array(pipe.run()[0][BATCH - 1]), as_array(value))


BATCHES = {
    "array": np.arange(6).reshape(BATCH, 2),
    "of scalars": np.arange(BATCH, dtype=np.uint8),
    "tensor": torch.arange(6).reshape(BATCH, 2),
    "TensorCPU": TensorCPU(np.arange(6).reshape(BATCH, 2)),
    "TensorList": TensorListCPU(np.arange(6).reshape(BATCH, 2)),
    "ragged TensorList": TensorListCPU([np.arange(i + 1) for i in range(BATCH)]),
    "DLPack": Exported(torch.arange(6).reshape(BATCH, 2)),
    "array interface": Described(np.arange(6).reshape(BATCH, 2)),
    "buffer": memoryview(bytearray(b"abc")),
    "ragged": [np.arange(i) for i in range(BATCH)],
    "one axis ragged": [np.ones((2, i + 1, 3), np.int8) for i in range(BATCH)],
    "tuple": tuple(np.ones(i + 1) for i in range(BATCH)),
    "mixed libraries": [torch.ones(2), np.ones(3, np.float32), TensorCPU(ROW)],
    "bytes": [b"a", b"bc", bytearray(b"def")],
    "numbers": [1, 2, 3],
    "smaller": np.zeros((1, 2)),
    "zero-sized": np.zeros((BATCH, 0, 2)),
    "partly zero-sized": [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((3, 0))],
}


@for_each("way", WAYS)
@for_each("data", BATCHES.values(), ids=BATCHES)
def test_a_batch_may_be_an_array_or_a_list_of_samples(data, way):
    out = WAYS[way](data)
    if isinstance(data, (list, tuple)):
        expected = [as_array(sample) for sample in data]
    elif isinstance(data, TensorListCPU):
        expected = [np.array(sample) for sample in data]
    else:
        expected = list(as_array(data))
    assert len(out) == len(expected)
    for sample, wanted in zip(out, expected, strict=True):
        assert np.array(sample).dtype == wanted.dtype
        assert np.array(sample).shape == wanted.shape
        assert np.array_equal(np.array(sample), wanted)


def test_layouts_of_tensors_are_kept():
    for data, layout in (
        (TensorListCPU(np.zeros((BATCH, 2)), "X"), "X"),
        (TensorCPU(np.zeros((BATCH, 2)), "NX"), "X"),
        ([TensorCPU(ROW, "X")] * 2, "X"),
        ([TensorCPU(ROW, "X"), TensorCPU(ROW, "Y")], ""),
        ([TensorCPU(ROW, "X"), ROW], ""),
    ):
        for way in ("feed_input", "callable", "iterable"):
            assert WAYS[way](data).layout() == layout
        assert WAYS["workers"](data).layout() == ""  # arrays are what workers send


@for_each(
    ("data", "text"),
    [
        (["a", "b"], "got str"),
        ([np.zeros(1), "b"], "got str"),
        ("ab", "got str"),
        (None, "got NoneType"),
        ([None], "got NoneType"),
        ({"a": 1}, "got dict"),
        ((x for x in [ROW]), "got generator"),
        (np.array(["ab"]), "no element type|axis"),
        ([np.array([None])], "no element type"),
        ([np.zeros(2, "M8[s]")], "no element type"),
        ([np.zeros(2, np.complex64)], "complex64"),
        ([np.zeros(2, np.longdouble)], "no element type"),
        ([2**70], "no element type"),
        ([torch.ones(2, dtype=torch.bfloat16)], "(?i)bfloat16"),
        ([torch.eye(2).to_sparse()], "(?i)dense|sparse"),
        ([torch.ones(2, device="meta")], "meta"),
        (OnGpu(), "on a GPU"),
        ([[1, 2], [3, [4]]], "inhomogeneous"),
        ([ROW, ROW.astype(np.float64)], "one type"),
        ([ROW, ROW.reshape(2, 2)], "dimensions"),
        (np.zeros((BATCH + 1, 1)), r"at most 3 samples|1 to 3 samples"),
        ([ROW] * (BATCH + 1), r"at most 3 samples|1 to 3 samples"),
        (np.zeros((0, 2)), "at least one sample|1 to 3 samples"),
        ([], "empty list|1 to 3 samples"),
        (torch.empty(BATCH, 2**50, 0), "too large: its extents, without those of 0"),
        ([torch.empty(0, 2**62)], "too large: its extents|array is too big"),
        (torch.empty(2**40, 0), r"at most 3 samples|1 to 3 samples"),
        (np.float32(1), "axis"),
        (5, "expected|axis"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else type(value).__name__,
)
@for_each("way", WAYS)
def test_unsupported_data_is_an_error_with_its_location(data, text, way):
    with pytest.raises(RuntimeError, match=text) as caught:
        WAYS[way](data)
    assert Path(__file__).name in str(caught.value)


def test_a_sample_that_is_no_array_is_an_error():
    for way in ("feed_input", "callable"):
        with pytest.raises(TypeError) as caught:
            WAYS[way]([ROW, ROW, "text"])
        assert "sample 2 of 3" in str(caught.value)
    with pytest.raises(RuntimeError, match="sample 1 of 3"):
        build(lambda i: "text" if i.idx_in_batch == 1 else ROW, batch=False, parallel=True).run()


# -- sizes of batches


@pytest.mark.parametrize("parallel", [False, True])
def test_batches_may_change_in_size_and_shape(parallel):
    sizes = [1, 3, 2, 3, 1]

    def source(index):
        return [np.full(index + 1, index) for _ in range(sizes[index])]

    pipe = build(source, parallel=parallel)
    for index, size in enumerate(sizes):
        assert pipe.run()[0].shape() == [(index + 1,)] * size


@for_each("first", ["fed", "pulled", "parallel"])
@for_each("second", ["fed", "pulled", "parallel"])
def test_sources_with_different_batch_sizes_are_an_error(first, second):
    def make(kind, size, name):
        if kind == "fed":
            return fn.external_source(name=name)
        return fn.external_source(lambda _: np.zeros((size, 1)), parallel=kind == "parallel")

    pipe = Pipeline(BATCH, 1, py_start_method="fork", prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(make(first, 2, "a"), make(second, 3, "b"))
    for name, kind, size in (("a", first, 2), ("b", second, 3)):
        if kind == "fed":
            pipe.feed_input(name, np.zeros((size, 1)))
    with pytest.raises(RuntimeError, match=r"batch of \d samples, but .* gives \d") as caught:
        pipe.run()
    assert Path(__file__).name in str(caught.value)


def test_outputs_of_a_source_with_different_batch_sizes_are_an_error():
    for parallel in (False, True):
        pipe = Pipeline(BATCH, 1, py_start_method="fork")
        with pipe:
            pipe.set_outputs(
                *fn.external_source(
                    lambda _: (np.zeros((2, 1)), np.zeros((3, 1))), 2, parallel=parallel
                )
            )
        with pytest.raises(RuntimeError, match="samples"):
            pipe.run()


# -- against DALI

PARITY = {
    **{
        f"{np.dtype(t).name} {form}": make(t)
        for t in (bool, np.float16, np.float64, np.int8, np.uint16, np.uint32, np.int64, np.uint64)
        for form, make in {
            "array": lambda t: np.arange(12).reshape(BATCH, 2, 2).astype(t),
            "list": lambda t: [np.arange(i * 2).reshape(i, 2).astype(t) for i in range(BATCH)],
        }.items()
    },
    "scalars": np.arange(BATCH),
    "scalar arrays": [np.array(i) for i in range(BATCH)],
    "zero-sized": np.zeros((BATCH, 0, 2)),
    "partly zero-sized": [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((3, 0))],
    "smaller": np.zeros((1, 2)),
    "high rank": np.zeros((BATCH, 1, 2, 1, 2, 1)),
    "too many": np.zeros((BATCH + 1, 1)),
    "none": np.zeros((0, 2)),
    "ranks": [np.zeros(2), np.zeros((2, 2))],
    "types": [np.zeros(2), np.zeros(2, np.uint8)],
    "datetime": np.zeros(2, np.int64).view("M8[s]"),
}


@pytest.mark.dali
@for_each("data", PARITY.values(), ids=PARITY)
@for_each("no_copy", [False, True])
def test_outputs_equal_dali(data, no_copy):
    def ours():
        pipe = build(no_copy=no_copy)
        pipe.feed_input("data", data)
        return pipe.run()[0]

    source = {"args": {"no_copy": no_copy}, "batches": [data]}
    try:
        ((wanted,),) = run_graph([], ["x"], {"x": source}, batch_size=BATCH)
    except (DaliError, TypeError, ValueError):
        with pytest.raises(RuntimeError):
            ours()
        return
    out = ours()
    assert out.layout() == wanted.layout
    assert len(out) == len(wanted.samples)
    for sample, right in zip(out, wanted.samples, strict=True):
        assert sample.as_torch().dtype == right.dtype
        assert torch.equal(sample.as_torch(), right)
    assert out.dtype is types.to_dali_type(wanted.samples[0].dtype)
