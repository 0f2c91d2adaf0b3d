# SPDX-License-Identifier: Apache-2.0
"""Constants in a definition: types.Constant, ScalarConstant, inputs, outputs, merging."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.expressions import check_against_dali, evaluate
from helpers.inputs import ramp
from helpers.parts import nodes_of

from torchdali import Pipeline, fn, math, types
from torchdali._graph.constant import constant_node
from torchdali.data_node import DataNode
from torchdali.tensors import TensorCPU, TensorListCPU
from torchdali.types import Constant, ScalarConstant

NUMERIC = [t for t in types.DALIDataType if 0 <= t.value <= types.BOOL.value]


def samples_of(*outputs, batch_size=2):
    pipe = Pipeline(batch_size, 1, None)
    pipe.set_outputs(*outputs)
    result = pipe.run()
    pipe.close()
    return [(out.as_torch_list(), out.layout()) for out in result]


def value_of(output):
    ((samples, _),) = samples_of(output, batch_size=1)
    return samples[0]


# -- against real DALI

IN_DALI = [
    # outputs
    "5, True, 2.5",
    "np.int16(5), np.float64(5), np.int64(5), np.uint64(5), np.float32(2.5)",
    "np.ones((2, 3)), np.ones((2, 3), np.uint8), np.array(3, np.uint16), np.array([True, False])",
    "np.array([1, 2], np.float16), np.arange(4), np.arange(4, dtype=np.uint64), np.array([1.5])",
    "[1, 2, 3], (1, 2), [1, 2.5], [True, False], [True, 3], []",
    "np.zeros((0, 3), np.float32), np.int8(-3), np.uint32(9)",
    # types.Constant
    "types.Constant(5).uint8(), types.Constant(5).float16(), types.Constant(1).bool()",
    "types.Constant(5).int64(), types.Constant(5).uint64(), types.Constant(np.int64(5))",
    "types.Constant([1, 2, 3]), types.Constant([1, 2.5]), types.Constant([])",
    "types.Constant(3, shape=[1]), types.Constant(3, shape=()), types.Constant(3, shape=[2, 2])",
    "types.Constant(3, shape=4), types.Constant([1, 2, 3, 4], shape=[2, 2], layout='HW')",
    "types.Constant(3, device='cpu'), types.Constant(3, layout=''), types.Constant(3, name='n')",
    "types.Constant([1.7, -2.2], dtype=types.INT32), types.Constant(1.7, dtype=types.INT32)",
    "types.Constant([300, -2], dtype=types.UINT8), types.Constant([1.5, 0.0], dtype=types.BOOL)",
    "types.Constant(np.array([5]), dtype=types.INT64), types.Constant([1.5], dtype=types.FLOAT16)",
    "types.Constant(np.arange(6, dtype=np.uint8), shape=[2, 3]), types.Constant(np.array(7))",
    "types.Constant(np.arange(6), shape=[1, 6], layout='AB', dtype=types.FLOAT)",
    "types.Constant(np.float32(3), device='cpu'), types.Constant(np.float64(5), device='cpu')",
    "types.ConstantNode('cpu', [1, 2], None, [2, 1], 'HW')",
    # inputs and arguments
    "fn.copy(5), fn.copy(2.5), fn.copy(True), fn.copy(types.Constant(3).uint8())",
    "fn.copy(np.arange(4, dtype=np.uint8)), fn.copy(np.arange(4)), fn.copy(np.float64(3))",
    "fn.copy([1, 2]), fn.copy((1, 2.5))",
    "fn.cast(5, dtype=types.FLOAT), fn.cast(5, dtype=types.Constant(1))",
    "fn.crop(np.zeros((4, 4, 3), np.uint8), crop=types.Constant([2.0, 3.0]))",
    "fn.flip(types.Constant(np.arange(4, dtype=np.uint8), shape=[2, 2, 1], layout='HWC'), "
    "horizontal=types.Constant(1), vertical=types.Constant([1]))",
    # with data
    "x, 5, [1.5, 2], fn.cast(x, dtype=types.INT32), np.ones(2, np.uint8)",
    "7, x",
]


@pytest.mark.dali
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@for_each("expression", IN_DALI)
def test_equals_dali(expression):
    sources = {"x": ("", [[ramp((2, i + 1)) for i in range(3)]])}
    check_against_dali(f"{expression},", sources, batch_size=3)


@pytest.mark.dali
def test_batch_sizes_equal_dali():
    batches = [[ramp((2,))] * size for size in (1, 3, 2)]
    sources = {"x": ("", batches)}
    check_against_dali("5, x, [1, 2], fn.copy(7)", sources, batch_size=3, iterations=3)


# -- constants that DALI does not support


@for_each("dtype", NUMERIC)
@for_each("kind", ["list", "numpy", "torch", "scalar"])
def test_constants_of_every_element_type_work(dtype, kind):
    torch_type, numpy_type = types.to_torch_type(dtype), types.to_numpy_type(dtype)
    value = {
        "list": [1, 0],
        "numpy": np.array([1, 0], numpy_type),
        "torch": torch.tensor([1, 0], dtype=torch_type),
        "scalar": 1,
    }[kind]
    actual = value_of(Constant(value, dtype=dtype))
    assert actual.dtype == torch_type
    assert actual.tolist() == (1 if kind == "scalar" else [1, 0])


@for_each("dtype", [t for t in NUMERIC if t.name not in ("INT64", "UINT64", "FLOAT64")])
def test_numpy_constants_keep_their_type_except_64_bits(dtype):
    narrow = {"INT64": types.INT32, "UINT64": types.UINT32, "FLOAT64": types.FLOAT}
    expected = types.to_torch_type(narrow.get(dtype.name, dtype))
    assert value_of(np.ones(2, types.to_numpy_type(dtype))).dtype == expected
    assert value_of(types.to_numpy_type(dtype)(1)).dtype == expected


@for_each("dtype", NUMERIC)
def test_torch_constants_keep_their_type(dtype):
    x = torch.ones(2, dtype=types.to_torch_type(dtype))
    assert value_of(x).dtype == x.dtype
    assert Constant(x[0]).dtype == dtype


@for_each(
    "value",
    [
        1 << 40,
        (1 << 64) - 1,
        [1 << 40, -1],
        [1 << 63, 1],
        np.array([1 << 40]),
        np.array([(1 << 64) - 1], np.uint64),
        np.int64(-(1 << 40)),
    ],
)
def test_integers_that_need_64_bits_are_int64(value):
    assert value_of(value).tolist() == np.asarray(value).tolist()


def test_nested_lists_are_arrays():
    assert value_of([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert value_of([[1, 2], [3, 4]]).dtype == torch.int32
    assert value_of([[1.5], [2.5]]).dtype == torch.float32
    assert value_of(Constant([[True], [False]])).dtype == torch.bool
    assert value_of([np.arange(2, dtype=np.uint8)] * 2).tolist() == [[0, 1], [0, 1]]


def test_arrays_of_any_memory_layout_and_protocol_are_constants():
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    for view in (x.T, x[::2], x[:, ::-1], x.astype(">i2"), TensorCPU(x), torch.from_numpy(x).T):
        expected = np.asarray(view)
        assert np.array_equal(value_of(view).numpy(), expected)


def test_a_tensor_keeps_its_layout():
    ((samples, layout),) = samples_of(Constant(TensorCPU(np.zeros((2, 3), np.uint8), "HW")))
    assert layout == "HW"
    assert len(samples) == 2


def test_the_users_array_is_read_when_the_constant_is_made():
    x = np.zeros(3, np.uint8)
    node = Constant(x)
    x[:] = 9
    assert value_of(node).tolist() == [0, 0, 0]


def test_outputs_are_copies_of_the_constant():
    pipe = Pipeline(1, 1, None, prefetch_queue_depth=1)
    pipe.set_outputs([1, 2])
    pipe.run()[0].as_torch()[0, 0] = 99
    assert pipe.run()[0].as_torch().tolist() == [[1, 2]]
    pipe.close()


# -- ScalarConstant and Constant


def test_numbers_become_scalar_constants():
    for value, dtype in [(5, types.INT32), (2.5, types.FLOAT), (True, types.BOOL)]:
        constant = Constant(value)
        assert isinstance(constant, ScalarConstant)
        assert (constant.value, constant.dtype, constant.shape) == (value, dtype, [])
    assert Constant(np.uint8(3)).dtype == types.UINT8
    assert Constant(torch.tensor(3.5, dtype=torch.float64)).dtype == types.FLOAT64
    assert Constant(1.7, types.INT8).value == 1
    assert type(Constant(1, types.FLOAT).value) is float
    assert Constant(Constant(3).uint8()) == Constant(3, types.UINT8)
    assert ScalarConstant(1, torch.int16).dtype == types.INT16


@pytest.mark.parametrize(
    "options", [{"device": "cpu"}, {"layout": ""}, {"shape": [2]}, {"name": "n"}], ids=str
)
def test_options_make_a_node_of_a_constant(options):
    assert isinstance(Constant(5, **options), DataNode)


def test_scalar_constants_can_be_converted():
    names = [t.name.lower().replace("float", "float32") for t in NUMERIC]
    names = [name.replace("float3216", "float16").replace("float3264", "float64") for name in names]
    for name, dtype in zip(names, NUMERIC, strict=True):
        converted = getattr(Constant(3), name)()
        assert converted.dtype == dtype
        assert converted.value == (1 if dtype is types.BOOL else 3)


def test_scalar_constants_work_as_numbers():
    assert int(Constant(3)) == 3
    assert bool(Constant(0)) is False
    assert float(Constant(2.5)) == 2.5
    with pytest.raises(TypeError, match="float"):
        int(Constant(2.5))
    with pytest.raises(TypeError, match="float"):
        bool(Constant(2.5))
    with pytest.raises(TypeError, match="float"):
        float(Constant(2))
    assert Constant(3) == Constant(3)
    assert Constant(3) != Constant(3).uint8()
    assert len({Constant(3), Constant(3), Constant(4)}) == 2
    assert (str(Constant(3)), repr(Constant(3))) == ("3:DALIDataType.INT32", "3")


@for_each(
    ("make", "error", "text"),
    [
        (lambda: ScalarConstant("3"), TypeError, "holds bool, int or float"),
        (lambda: ScalarConstant([3]), TypeError, "holds bool, int or float"),
        (lambda: ScalarConstant(3, types.STRING), TypeError, "STRING"),
        (lambda: Constant("3"), TypeError, "a constant is a number.* got str"),
        (lambda: Constant(None), TypeError, "got NoneType"),
        (lambda: Constant(["a"]), TypeError, "got list"),
        (lambda: Constant([1, [None]]), TypeError, "got list"),
        (lambda: Constant([fn.copy(1)]), TypeError, "a DataNode in it.*fn.stack"),
        (lambda: fn.copy(1) * [[2], [fn.copy(1)]], TypeError, "a DataNode in it.*fn.stack"),
        (lambda: (1, fn.copy(1)) * fn.copy(1), TypeError, "this tuple has a DataNode in it"),
        (lambda: math.min(1, [fn.copy(1)]), TypeError, "a DataNode in it.*fn.stack"),
        (lambda: fn.copy(1)[[1, [fn.copy(1)]]], TypeError, "a subscript is an integer"),
        (lambda: Constant([[1, 2], [3]]), ValueError, "rows of one length"),
        (lambda: Constant([1 << 64]), ValueError, "no type of integers"),
        (lambda: Constant([-1, 1 << 63]), ValueError, "no type of integers"),
        (lambda: Constant([1], device="mixed"), RuntimeError, 'device="mixed"'),
        (lambda: Constant([1], device="tpu"), ValueError, "`device` takes"),
        (lambda: Constant([1], nme="x"), TypeError, "did you mean `name`"),
        (lambda: Constant(TensorListCPU([np.zeros(2)])), TypeError, "got TensorListCPU"),
        (lambda: Constant(torch.zeros(2, dtype=torch.bfloat16)), TypeError, "bfloat16"),
        (lambda: fn.copy("text"), TypeError, "`data` takes a DataNode.* got str"),
        (lambda: fn.copy(TensorListCPU([np.zeros(2)])), TypeError, "external_source"),
        (lambda: fn.copy([fn.copy(1), 2]), TypeError, "a list with int"),
    ],
)
def test_wrong_constants_are_errors(make, error, text):
    with pytest.raises(error, match=f"(?s:.*){text}"):
        make()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Constant([1, 2, 3], shape=[2, 2]), ValueError, "`shape` .* does not fit 3 values"),
        (lambda: Constant([1, 2], layout="HW"), ValueError, '`layout` "HW" does not fit'),
    ],
)
def test_values_out_of_range_are_errors_of_the_build(make, error, text):
    pipe = Pipeline(1, 1, None)
    pipe.set_outputs(make())
    with pytest.raises(error, match=f"fn.constant: {text}(?s:.*)defined at .*test_constants.py"):
        pipe.build()


def test_the_example_of_the_documentation_runs():
    finder = doctest.DocTestFinder()
    (example,) = finder.find(Constant, "Constant", globs={"types": types})
    assert len(example.examples) == 2
    assert doctest.DocTestRunner().run(example).failed == 0


# -- graphs


def test_equal_constants_are_merged():
    pipe = Pipeline(1, 1, None)
    with pipe:
        same = [
            fn.copy(Constant([1, 2])),
            fn.copy([1, 2]),
            fn.copy(np.ones(2)),
            fn.copy(np.ones(2)),
        ]
        other = [fn.copy([1.0, 2.0]), fn.copy(Constant([1, 2], name="mine")), fn.copy([1, True])]
        pipe.set_outputs(*same, *other)
    pipe.build()
    constants = [n for n in nodes_of(pipe) if n.schema.name == "constant"]
    assert len(constants) == 5
    pipe.close()


def test_unused_constants_are_pruned():
    pipe = Pipeline(1, 1, None)
    with pipe:
        Constant([1, 2])
        pipe.set_outputs(Constant(3))
    pipe.build()
    assert len(nodes_of(pipe)) == 1
    pipe.close()


def test_a_constant_may_be_used_in_several_pipelines():
    node = Constant([1, 2])
    assert value_of(node).tolist() == value_of(fn.copy(node)).tolist() == [1, 2]


def test_a_pipeline_of_constants_has_full_batches():
    (output,) = evaluate("5,", batch_size=7)[0]
    assert len(output.samples) == 7


def test_the_repr_of_a_large_constant_is_short():
    node = constant_node(np.zeros((100, 100), np.uint8))
    assert "<10000 bytes>" in repr(node.source)
    assert len(repr(node.source)) < 300


def test_arguments_may_be_constants():
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    flipped = fn.flip(Constant(image, layout="HWC"), horizontal=Constant(1), vertical=np.array([0]))
    assert np.array_equal(value_of(flipped).numpy(), image[:, ::-1])
    low = fn.random.uniform(range=(Constant(1.0), 2.0), shape=np.array([3]))
    assert value_of(low).shape == (3,)


@pytest.mark.parametrize(
    ("enumerator", "dtype"),
    [
        (types.INTERP_LINEAR, types.INTERP_TYPE),
        (types.GRAY, types.IMAGE_TYPE),
        (types.DALIDataType.FLOAT, types.DATA_TYPE),
    ],
)
def test_constants_of_enumerators_are_int32_in_tensors(enumerator, dtype):
    constant = Constant(enumerator)
    assert (constant.dtype, constant.value) == (dtype, enumerator)
    assert (constant.int32().dtype, type(constant.int32().value)) == (types.INT32, int)
    alone, chosen, listed, added = samples_of(
        constant,
        fn.random.choice([enumerator, enumerator], shape=[2]),
        [enumerator],
        fn.copy(np.int32(2)) + constant,
        batch_size=1,
    )
    number = int(enumerator)
    for (samples, _), expected in (
        (alone, torch.tensor(number)),
        (chosen, torch.tensor([number] * 2)),
        (listed, torch.tensor([number])),
        (added, torch.tensor(number + 2)),
    ):
        assert torch.equal(samples[0], expected.to(torch.int32))


def test_a_constant_of_an_enumerator_is_an_argument_of_its_enumeration():
    image = ramp((4, 5, 3)).to(torch.uint8)
    resized = [
        value_of(fn.resize(fn.reshape(image, layout="HWC"), size=[7, 9], interp_type=interp))
        for interp in (
            types.INTERP_NN,
            Constant(types.INTERP_NN),
            fn.random.choice([types.INTERP_NN, types.INTERP_NN]),
        )
    ]
    assert torch.equal(resized[0], resized[1])
    assert torch.equal(resized[0], resized[2])
    with pytest.raises(TypeError, match="takes a types.DALIInterpType"):
        fn.resize(image, size=[7, 9], interp_type=Constant(types.GRAY))
