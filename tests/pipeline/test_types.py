# SPDX-License-Identifier: Apache-2.0
"""types: DALI's enumerations and their counterparts in NumPy and torch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

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


def test_values_are_dalis():
    assert {name: int(types.DALIDataType[name]) for name in ELEMENT_TYPES} == ELEMENT_TYPES
    assert types.NO_TYPE == -1
    assert types.PYTHON_OBJECT == 24
    assert [int(m) for m in types.DALIImageType] == [0, 1, 2, 3, 4]
    assert types.YCbCr == 3
    assert types.INTERP_GAUSSIAN == 5
    assert types.PipelineAPIType.SCHEDULED.value == 2
    assert types.EvalMode.default is types.EvalMode.eager


def test_members_show_their_names():
    assert str(types.FLOAT) == "DALIDataType.FLOAT"
    assert f"{types.INTERP_NN}" == "DALIInterpType.INTERP_NN"
    assert repr(types.RGB) == "<DALIImageType.RGB: 0>"


def test_every_alias_of_the_module_is_a_member():
    for enum in (types.DALIDataType, types.DALIImageType, types.DALIInterpType):
        for member in enum:
            if not member.name.startswith("_"):
                assert getattr(types, member.name) is member


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_element_types_go_to_numpy_and_torch_and_back(name):
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


@pytest.mark.parametrize("unknown", ["complex64", torch.bfloat16, np.complex128, "x"])
def test_a_type_that_dali_has_not_is_a_type_error(unknown):
    with pytest.raises(TypeError, match="counterpart"):
        types.to_dali_type(unknown)


def test_no_element_type_has_no_numpy_type():
    with pytest.raises(KeyError):
        types.to_numpy_type(types.STRING)


def test_members_survive_pickling():
    assert pickle.loads(pickle.dumps(types.FLOAT16)) is types.FLOAT16


def test_a_layout_is_a_string_with_another_repr():
    layout = types.TensorLayout("HWC")
    assert layout == "HWC"
    assert len(layout) == 3
    assert repr(layout) == "torchdali.types.TensorLayout('HWC')"


def test_infos_show_what_they_hold():
    assert "idx_in_batch=1" in repr(types.SampleInfo(5, 1, 2, 0))
    assert repr(types.BatchInfo(3, 1)) == "BatchInfo(iteration=3, epoch_idx=1)"
