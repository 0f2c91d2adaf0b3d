# SPDX-License-Identifier: Apache-2.0
"""Definition: arguments that operators accept, and errors with the line of the call."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.parts import parts_of

from torchdali import Pipeline, errors, fn, ops, types
from torchdali.data_node import DataNode
from torchdali.pipeline import DataNode as PipelineDataNode

HERE = os.path.basename(__file__)


@pytest.fixture
def node():
    return fn.external_source(name="data", layout="HWC")


def args_of(data_node):
    return data_node.source.args


def test_a_data_node_has_name_device_and_source(node):
    assert PipelineDataNode is DataNode
    assert (node.name, node.device) == ("data", "cpu")
    assert repr(node) == 'DataNode(name="data", device="cpu")'
    flipped = fn.flip(node)
    assert flipped.name.startswith("__Flip_")
    assert flipped.source.inputs[0] is node
    assert flipped.source.outputs[0].name == flipped.name


def test_outputs_of_an_operator_with_several_are_numbered():
    files, labels = fn.readers.file(files=["a.jpg"], name="reader")
    assert (files.name, labels.name) == ("reader[0]", "reader[1]")
    assert (files.index, labels.index) == (0, 1)
    assert files.source is labels.source


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda n: list(n), "iterated"),
        (lambda n: bool(n), "truth value"),
        (lambda n: 1 if n else 2, "truth value"),
        (lambda n: n and n, "truth value"),
        (lambda n: not n, "truth value"),
        (lambda n: len(n), "len"),
        (lambda n: hash(n), "unhashable"),
        (lambda n: n(), "not callable"),
    ],
)
def test_a_data_node_has_no_truth_value_length_or_items(node, use, text):
    with pytest.raises(TypeError, match=text):
        use(node)


# -- arguments


@pytest.mark.parametrize(
    "value",
    [True, 1, 1.0, np.bool_(True), np.int32(1), np.array(1), np.array([1]), torch.tensor(1)],
)
def test_arguments_may_be_flags_and_numbers_of_many_types(node, value):
    assert args_of(fn.flip(node, horizontal=value))["horizontal"] == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, [3.0]),
        ([1, 2.5], [1.0, 2.5]),
        ((1, 2), [1.0, 2.0]),
        (np.array([1, 2], np.uint8), [1.0, 2.0]),
        (torch.tensor([0.5, 1]), [0.5, 1.0]),
        (np.float32(0.5), [0.5]),
        (range(2), [0.0, 1.0]),
    ],
)
def test_list_arguments_may_have_many_types_or_be_one_number(node, value, expected):
    args = args_of(fn.crop_mirror_normalize(node, mean=value))
    assert args["mean"] == expected
    assert all(type(item) is float for item in args["mean"])


@pytest.mark.parametrize(
    "value",
    [types.FLOAT, 9, np.float32, np.dtype("float32"), torch.float32, types.DALIDataType(9)],
)
def test_element_types_may_be_those_of_dali_numpy_or_torch(node, value):
    assert args_of(fn.cast(node, dtype=value))["dtype"] == 9


def test_paths_may_be_path_objects_and_bytes(tmp_path):
    files, _ = fn.readers.file(file_root=tmp_path, files=[Path("a.jpg"), b"b.jpg", "c.jpg"])
    args = args_of(files)
    assert args["file_root"] == str(tmp_path)
    assert args["files"] == ["a.jpg", "b.jpg", "c.jpg"]
    assert args_of(fn.readers.file(files="a.jpg")[0])["files"] == ["a.jpg"]


def test_none_means_that_an_argument_is_absent(node):
    assert args_of(fn.flip(node, horizontal=None)) == {}
    assert fn.flip(node, name=None, device=None, seed=None).device == "cpu"


@pytest.mark.parametrize("dtype", [types.NO_TYPE, -1])
def test_no_type_means_that_an_optional_type_is_absent(node, dtype):
    assert args_of(fn.resize(node, size=[4, 5], dtype=dtype)) == args_of(
        fn.resize(node, size=[4, 5])
    )
    assert args_of(fn.cast(node, dtype=dtype)) == {"dtype": -1}  # an error of build()


def test_a_data_node_as_argument_has_one_value_per_sample(node):
    coin = fn.random.coin_flip()
    flipped = fn.flip(node, horizontal=coin)
    assert flipped.source.arg_inputs["horizontal"] is coin
    assert "horizontal" not in flipped.source.args


@pytest.mark.parametrize(
    ("call", "cls", "text"),
    [
        (lambda n: fn.flip(n, horizontl=1), TypeError, "did you mean `horizontal`"),
        (lambda n: fn.flip(n, xyz=1), TypeError, "unexpected argument `xyz`"),
        (lambda n: fn.flip(n, horizontal="yes"), TypeError, "`horizontal` takes"),
        (lambda n: fn.flip(n, horizontal=[1, 2]), TypeError, "`horizontal` takes"),
        (lambda n: fn.cast(n), TypeError, "needs the argument `dtype`"),
        (lambda n: fn.cast(n, dtype=None), TypeError, "needs the argument `dtype`"),
        (lambda n: fn.cast(n, dtype=n), TypeError, "`dtype` takes a constant"),
        (lambda n: fn.cast(n, dtype="uint8"), TypeError, r"types.UINT8, torch.uint8, np.uint8"),
        (lambda n: fn.cast(n, dtype=float), TypeError, r"types.FLOAT, torch.float32, np.float32"),
        (lambda n: fn.cast(n, dtype=types.RGB), TypeError, "`dtype` takes a types.DALIDataType"),
        (lambda n: fn.cast(n, dtype=99), ValueError, "number of a types.DALIDataType"),
        (lambda n: fn.cast(n, dtype=torch.bfloat16), ValueError, "element type that DALI has"),
        (lambda n: fn.crop_mirror_normalize(n, mean="s"), TypeError, "`mean` takes a number"),
        (lambda n: fn.crop_mirror_normalize(n, mean=[1, None]), TypeError, "`mean` takes a number"),
        (lambda n: fn.crop_mirror_normalize(n, mean=[n, n]), TypeError, "list of data nodes"),
        (lambda n: fn.transpose(n, perm=np.eye(2)), TypeError, "1-D list"),
        (lambda n: fn.transpose(n, perm=[[1, 0]]), TypeError, "`perm` takes an integer"),
        (lambda _: fn.flip(), ValueError, "takes 1 input"),
        (lambda _: fn.flip(None), TypeError, "takes a DataNode.* got NoneType"),
        (lambda n: fn.flip(n, n), ValueError, "takes 1 input .*, got 2"),
        (lambda _: fn.flip("text"), TypeError, "takes a DataNode, got str"),
        (lambda _: fn.flip("images"), TypeError, "`data` takes a DataNode.* got str"),
        (lambda n: fn.flip(n, name=5), TypeError, "`name` takes a string"),
        (lambda n: fn.flip(n, device="tpu"), ValueError, '"cpu", "gpu" or "mixed"'),
        (lambda n: fn.peek_image_shape(n, device="gpu"), NotImplementedError, 'device="gpu"'),
        (lambda n: fn.flip(n, device="mixed"), NotImplementedError, 'device="mixed"'),
        (lambda _: fn.random.uniform(seed=1.5), ValueError, "whole number"),
        (lambda _: fn.random.uniform(seed="1"), TypeError, "`seed` takes an integer"),
        (lambda _: fn.readers.file("root"), ValueError, "takes 0 inputs"),
        (lambda _: fn.readers.file(files=[1]), TypeError, "`files` takes a string"),
        (lambda _: fn.readers.file(files=["a"], shard_id=2**70), ValueError, "64 bits"),
        (lambda _: fn.flip(fn.external_source(layout="AB")), ValueError, 'layout "AB"'),
        (lambda _: fn.flip(DataNode("stray")), ValueError, "made by no operator"),
    ],
)
def test_a_wrong_call_is_an_error_with_operator_and_line(node, call, cls, text):
    with pytest.raises(cls, match=text) as caught:
        call(node)
    message = str(caught.value)
    assert message.startswith("fn.")
    assert f"defined at {os.path.relpath(__file__)}:" in message
    assert isinstance(caught.value, RuntimeError)


def test_the_error_shows_the_line_of_the_call(node):
    with pytest.raises(errors.ArgumentTypeError) as caught:
        fn.flip(node, vertical="upside down")  # this very line
    assert "# this very line" in str(caught.value)
    assert ", in test_the_error_shows_the_line_of_the_call" in str(caught.value)


def test_old_argument_names_work_with_a_warning(node):
    with pytest.warns(DeprecationWarning, match="old name of `dtype`") as caught:
        new = fn.crop_mirror_normalize(node, output_dtype=types.FLOAT16)
    assert args_of(new) == {"dtype": 8}
    assert caught[0].filename == __file__
    with pytest.raises(TypeError, match="both `dtype` and its old name `output_dtype`"):
        fn.crop_mirror_normalize(node, output_dtype=types.FLOAT, dtype=types.FLOAT)


def test_old_operator_names_work_with_a_warning():
    with pytest.warns(DeprecationWarning, match="old name of fn.random.coin_flip") as caught:
        coin = fn.coin_flip()
    assert caught[0].filename == __file__
    assert coin.source.schema.name == "random.coin_flip"
    with pytest.warns(DeprecationWarning, match="old name of ops.decoders.Image"):
        decoder = ops.ImageDecoder(output_type=types.GRAY)
    assert isinstance(decoder, ops.decoders.Image)


def test_lists_of_inputs_make_one_operator_each(node):
    other = fn.external_source(name="other", layout="HWC")
    first, second = fn.flip([node, other], vertical=1)
    assert first.source.inputs[0] is node
    assert second.source.inputs[0] is other
    assert first.source is not second.source
    with pytest.raises(TypeError, match="got a list with int"):
        fn.flip([node, 3])


# -- functions and classes


def test_functions_have_signatures_and_docstrings():
    signature = inspect.signature(fn.flip)
    assert next(iter(signature.parameters.values())).kind is inspect.Parameter.POSITIONAL_ONLY
    assert signature.parameters["horizontal"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["device"].default == "cpu"
    assert inspect.signature(fn.cast).parameters["dtype"].default is inspect.Parameter.empty
    assert fn.readers.file.__module__ == "torchdali.fn.readers"
    assert fn.readers.file.__name__ == "file"
    assert "Args:" in fn.flip.__doc__
    assert "Returns:" in fn.flip.__doc__


def test_families_can_be_imported():
    from torchdali.fn import random
    from torchdali.fn.readers import file
    from torchdali.ops.random import CoinFlip

    assert random.uniform is fn.random.uniform
    assert file is fn.readers.file
    assert CoinFlip is ops.random.CoinFlip


def test_an_operator_object_keeps_arguments_and_takes_inputs_when_called(node):
    flip = ops.Flip(horizontal=0, vertical=1)
    assert flip.device == "cpu"
    assert flip.schema.name == "flip"
    assert flip.preserve is False
    assert args_of(flip(node)) == {"horizontal": 0, "vertical": 1}
    assert args_of(flip(node, vertical=0)) == {"horizontal": 0, "vertical": 0}
    assert flip(node).source is not flip(node).source


def test_an_operator_object_checks_when_it_is_made(node):
    with pytest.raises(TypeError, match="did you mean `vertical`"):
        ops.Flip(verticl=1)
    with pytest.raises(TypeError, match="`vertical` takes"):
        ops.Flip(vertical="x")
    with pytest.raises(NotImplementedError, match="gpu"):
        ops.PeekImageShape(device="gpu")
    with pytest.raises(TypeError, match="needs the argument `dtype`"):
        ops.Cast()(node)


def test_one_operator_object_serves_several_pipelines():
    uniform = ops.random.Uniform(range=[0.0, 1.0], seed=5)
    results = []
    for _ in range(2):
        pipe = Pipeline(batch_size=4, num_threads=1)
        with pipe:
            pipe.set_outputs(uniform())
        results.append(pipe.run()[0].as_torch())
    assert torch.equal(*results)


# -- the current pipeline


def test_with_makes_a_pipeline_current_and_restores_the_previous_one():
    outer, inner = Pipeline(2, 1), Pipeline(2, 1)
    assert Pipeline.current() is None
    with outer:
        assert Pipeline.current() is outer
        with inner:
            assert Pipeline.current() is inner
        assert Pipeline.current() is outer
    Pipeline.push_current(inner)
    assert Pipeline.current() is inner
    Pipeline.pop_current()
    with pytest.raises(IndexError):
        Pipeline.pop_current()


def test_an_exception_in_with_restores_the_previous_pipeline():
    with pytest.raises(ZeroDivisionError), Pipeline(2, 1):
        raise ZeroDivisionError
    assert Pipeline.current() is None


def test_a_node_of_another_pipeline_is_an_error():
    first, second = Pipeline(2, 1), Pipeline(2, 1)
    with first:
        ours = fn.random.uniform(shape=[2])
    with second, pytest.raises(RuntimeError, match="belongs to another pipeline"):
        fn.copy(ours)
    second.set_outputs(ours)
    with pytest.raises(RuntimeError, match="belongs to another pipeline"):
        second.build()


def test_nodes_made_outside_belong_to_the_pipeline_of_their_inputs():
    first, second = Pipeline(2, 1), Pipeline(2, 1)
    with first:
        ours = fn.random.uniform(shape=[2])
    copied = fn.copy(ours)
    second.set_outputs(copied)
    with pytest.raises(RuntimeError, match="belongs to another pipeline"):
        second.build()
    first.set_outputs(copied)
    assert len(first.run()[0]) == 2


def test_free_nodes_may_be_used_in_several_pipelines_under_equal_names():
    free = fn.copy(fn.random.uniform(shape=[2], seed=3))
    pipes = []
    for _ in range(2):
        pipe = Pipeline(3, 1)
        pipe.set_outputs(free)
        pipe.build()
        pipes.append(pipe)
    assert torch.equal(pipes[0].run()[0].as_torch(), pipes[1].run()[0].as_torch())
    names = [list(parts_of(pipe).built().names.values()) for pipe in pipes]
    assert names[0] == names[1]


@pytest.mark.parametrize("copy", [fn.copy, ops.Copy(seed=3)])
def test_a_seed_without_effect_causes_a_warning(node, copy):
    with pytest.warns(UserWarning, match="fn.copy: .*`seed` has no effect") as caught:
        copy(node, seed=3)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fn.copy(node, seed=-1)
        fn.random.uniform(seed=3)


def test_preserve_needs_a_pipeline(node):
    with pytest.raises(RuntimeError, match="inside a pipeline"):
        fn.copy(node, preserve=True)
