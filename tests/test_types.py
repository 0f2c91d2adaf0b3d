# SPDX-License-Identifier: Apache-2.0
"""types: DALI's enumerations and their counterparts in NumPy and torch."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import types

ELEMENT_TYPES = {
    "UINT8": 0,
    "UINT16": 1,
    "UINT32": 2,
    "UINT64": 3,
    "INT8": 4,
    "INT16": 5,
    "INT32": 6,
    "INT64": 7,
    "FLOAT16": 8,
    "FLOAT": 9,
    "FLOAT64": 10,
    "BOOL": 11,
}


def test_values_are_those_of_dali():
    assert {name: int(types.DALIDataType[name]) for name in ELEMENT_TYPES} == ELEMENT_TYPES
    assert types.NO_TYPE == -1
    assert types.PYTHON_OBJECT == 24
    assert [int(m) for m in types.DALIImageType] == [0, 1, 2, 3, 4]
    assert types.YCbCr == 3
    assert types.INTERP_GAUSSIAN == 5
    assert types.PipelineAPIType.SCHEDULED.value == 2
    assert types.EvalMode.default is types.EvalMode.eager


def test_members_have_their_names_as_repr():
    assert str(types.FLOAT) == "DALIDataType.FLOAT"
    assert f"{types.INTERP_NN}" == "DALIInterpType.INTERP_NN"
    assert repr(types.RGB) == "<DALIImageType.RGB: 0>"


def test_every_alias_of_the_module_is_a_member():
    for enum in (types.DALIDataType, types.DALIImageType, types.DALIInterpType):
        for member in enum:
            if not member.name.startswith("_"):
                assert getattr(types, member.name) is member


@for_each("name", ELEMENT_TYPES)
def test_element_types_convert_to_numpy_and_torch_and_back(name):
    dali = types.DALIDataType[name]
    array = np.zeros(2, types.to_numpy_type(dali))
    assert torch.from_numpy(array).dtype == types.to_torch_type(dali)
    for spelling in (
        array.dtype,
        array.dtype.type,
        array.dtype.name,
        types.to_torch_type(dali),
        str(types.to_torch_type(dali)),
        dali,
    ):
        assert types.to_dali_type(spelling) is dali


@for_each(
    "unknown",
    ["complex64", torch.bfloat16, np.complex128, "x", "int", None, 5, np.dtype(">i4"), "FLOAT"],
)
def test_unsupported_types_are_type_errors(unknown):
    with pytest.raises(TypeError, match="counterpart"):
        types.to_dali_type(unknown)


def test_names_of_c_types_are_those_of_dali():
    names = {"float": "FLOAT", "double": "FLOAT64", "half": "FLOAT16", "long": "INT64"}
    names |= {"boolean": "BOOL", "byte": "UINT8", "sbyte": "INT8", "ushort": "UINT16"}
    assert {name: types.to_dali_type(name).name for name in names} == names
    assert types.to_dali_type(bool) is types.BOOL


@pytest.mark.parametrize("ambiguous", [int, float])
def test_int_and_float_are_ambiguous(ambiguous):
    with pytest.raises(TypeError, match="say which"):
        types.to_dali_type(ambiguous)


def test_converters_of_other_frameworks_are_asked_in_order(request):
    def mine(kind):
        if kind != "my float":
            raise TypeError
        return types.FLOAT

    def other(kind):
        raise TypeError

    # The list is shared with the module that reads it, so it is changed in place.
    for converter in (mine, other):
        types.dali_type_converters.insert(0, converter)
    request.addfinalizer(types.dali_type_converters.clear)
    assert types.to_dali_type("my float") is types.FLOAT
    with pytest.raises(TypeError, match="counterpart"):
        types.to_dali_type("your float")


def test_types_without_elements_have_no_numpy_type():
    with pytest.raises(KeyError):
        types.to_numpy_type(types.STRING)


@pytest.mark.parametrize("member", [types.FLOAT16, types.RGB, types.INTERP_NN], ids=str)
def test_members_survive_pickling_and_copies(member):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(member, protocol)
        assert b"torchdali.types" in text
        assert pickle.loads(text) is member
    assert copy.deepcopy(member) is member
    assert type(member)(int(member)) is member


def test_a_dtype_can_still_be_called():
    for name in ELEMENT_TYPES:
        with pytest.warns(DeprecationWarning, match="property"):
            character = types.DALIDataType[name]()
        assert np.dtype(character) == types.to_numpy_type(types.DALIDataType[name])
    with pytest.raises(TypeError):
        types.STRING()


def test_a_stream_holds_its_handle():
    assert types.CUDAStream().ptr == 0
    assert repr(types.CUDAStream(0x10)) == "CUDAStream(0x10)"
    with pytest.raises(AttributeError):
        types.CUDAStream().ptr = 3


def test_a_layout_is_a_string_with_another_repr():
    layout = types.TensorLayout("HWC")
    assert layout == "HWC"
    assert len(layout) == 3
    assert repr(layout) == "torchdali.types.TensorLayout('HWC')"
    assert layout[1:] == "WC"
    assert types.TensorLayout(layout) == layout
    assert repr(pickle.loads(pickle.dumps(layout))) == repr(layout)
    assert {layout: 1}["HWC"] == 1
    with pytest.raises(TypeError, match="str"):
        types.TensorLayout(5)


def test_infos_have_a_repr():
    assert "idx_in_batch=1" in repr(types.SampleInfo(5, 1, 2, 0))
    assert repr(types.BatchInfo(3, 1)) == "BatchInfo(iteration=3, epoch_idx=1)"
    info = pickle.loads(pickle.dumps(types.SampleInfo(5, 1, 2, 0)))
    assert (info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx) == (5, 1, 2, 0)
    assert pickle.loads(pickle.dumps(types.BatchInfo(3, 1))).iteration == 3
