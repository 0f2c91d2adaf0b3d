# SPDX-License-Identifier: Apache-2.0
"""The schema of every operator: documented, with DALI's arguments and inputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.case_files import operators
from helpers.cases import for_each

from torchdali import types
from torchdali._engine.schema import registry

SCHEMAS = registry()
FACTS = json.loads((Path(__file__).parents[1] / "data" / "dali_operators.json").read_text())
# Written in Python, with arguments of its own: tests/sources.
PYTHON_SOURCES = {"external_source"}


@for_each("name", operators())
def test_operators_arguments_and_outputs_are_documented(name):
    schema = SCHEMAS[name]
    described = [(schema.name, schema.doc)]
    described += [(one.name, one.doc) for one in (*schema.inputs, *schema.outputs, *schema.args)]
    for what, doc in described:
        assert len(doc) > 10, f"`{what}` of fn.{name} has no docs"
        assert doc.rstrip()[-1] in ".:)", f"the docs of `{what}` do not end like a sentence: {doc}"


# The facts call some types by other names.
TYPE_NAMES = {"int_list": "int or list of int", "float_list": "float or list of float"}
TYPE_NAMES |= {"str_list": "str or list of str", "layout": "layout str", "function": "object"}
TYPE_NAMES |= {"layout_list": "layout str or list of layout str"}
TYPE_NAMES |= {"DALIDataType_list": "DALIDataType or list of DALIDataType"}
TYPE_NAMES |= {"features": "dict of (string, tfrecord.Feature)"}
# Arguments that DALI does not have: parallel and seeded calls of functions; an index of JPEG files,
# and decoding at a smaller scale.
_FUNCTION_ARGS = {"workers", "seed_generators"}
_INDEX_ARGS = {"jpeg_index", "jpeg_index_size", "max_pixels"}
EXTRA_ARGS = {"python_function": _FUNCTION_ARGS, "dl_tensor_python_function": _FUNCTION_ARGS}
EXTRA_ARGS |= {
    f"decoders.{kind}": _INDEX_ARGS for kind in ("image_crop", "image_slice", "image_random_crop")
}
EXTRA_ARGS["peek_image_shape"] = {"type"}  # the old name of `dtype`
EXTRA_ARGS["decoders.image"] = _INDEX_ARGS | {"scaled_margin"}
# What torchvision does otherwise.
EXTRA_ARGS["decoders.image_random_crop"] = _INDEX_ARGS | {"window_rule"}
EXTRA_ARGS["random_crop_generator"] = {"window_rule"}
EXTRA_ARGS["tensor_resize"] = {"filter_edges"}
EXTRA_ARGS["experimental.resize"] = {"filter_edges", "size_rounding"}
EXTRA_ARGS["random_resized_crop"] = {"filter_edges", "window_rule"}
EXTRA_ARGS["resize"] = EXTRA_ARGS["resize_crop_mirror"] = {"filter_edges", "size_rounding"}
EXTRA_ARGS["audio_resample"] = {"antialias"}
EXTRA_ARGS["decoders.audio"] = {"antialias", "start", "duration"}
EXTRA_ARGS["decoders.video"] = EXTRA_ARGS["experimental.inputs.video"] = {"adjust_orientation"}
# All readers have these.
for _reader in ("caffe", "caffe2"):
    EXTRA_ARGS[f"readers.{_reader}"] = {"shuffle_after_epoch", "shuffle_after_epoch_seed"}
# Those that know the lengths of their samples.
for _reader in ("file", "mxnet", "nemo_asr", "tfrecord", "webdataset"):
    EXTRA_ARGS[f"readers.{_reader}"] = {"bucket_by", "bucket_window"}
EXTRA_ARGS["readers.nemo_asr"] |= {"antialias"}
_VIDEO_ARGS = {"adjust_orientation", "clips_per_video", "jitter", "seek_mode"}
_VIDEO_ARGS |= {"shuffle_after_epoch", "shuffle_after_epoch_seed"}
EXTRA_ARGS["readers.video"] = EXTRA_ARGS["experimental.readers.video"] = _VIDEO_ARGS
EXTRA_ARGS["readers.video_resize"] = _VIDEO_ARGS | EXTRA_ARGS["resize"]
# Arguments that DALI requires: indexes are made if they are missing.
OPTIONAL_ARGS = {("readers.mxnet", "index_path"), ("readers.tfrecord", "index_path")}
# Strings, which cannot be tensors.
TEXTS = {("experimental.readers.video", "pad_mode")}
# DALI's documentation and its operators disagree about these.
DEFAULTS = {("dl_tensor_python_function", "batch_processing"): True}
# 2 pi / 128 as a float32; the documentation has six digits.
DEFAULTS |= {("water", name): 0.049087387 for name in ("freq_x", "freq_y")}


def skip_without_facts(name: str) -> None:
    if name not in FACTS or name in PYTHON_SOURCES:
        pytest.skip(f"there are no facts of DALI to compare fn.{name} with")


@for_each("name", operators())
def test_arguments_are_those_of_dali(name):
    skip_without_facts(name)
    theirs = FACTS[name]["args"]
    ours = {a.name: a for a in SCHEMAS[name].args if a.name not in EXTRA_ARGS.get(name, ())}
    assert sorted(ours) == sorted(theirs)
    assert len(SCHEMAS[name].args) == len(ours) + len(EXTRA_ARGS.get(name, ()))
    for argument in ours.values():
        kind, per_sample, required, *default = theirs[argument.name]
        # DALI declares some old names, even of paths, as numbers.
        kind = theirs[argument.renamed_to][0] if argument.renamed_to else kind
        where = f"`{argument.name}` of fn.{name}"
        assert TYPE_NAMES.get(argument.type, argument.type) == kind, where
        per_sample = per_sample and (name, argument.name) not in TEXTS
        assert argument.per_sample == per_sample, where
        assert argument.required == (required and (name, argument.name) not in OPTIONAL_ARGS), where
        if not argument.ignored:  # an argument without effect needs no default
            assert argument.has_default == bool(default), where
        if default and not argument.ignored:
            expected = DEFAULTS.get((name, argument.name), default[0])
            assert default_text(argument.default, argument.type) == expected, where


def default_text(value: object, kind: str) -> object:
    """Returns a default as the facts have it: enumerators by name, lists as lists."""
    if kind.startswith("DALI"):
        return getattr(types, kind)(value).name
    if kind.endswith("_list"):
        return list(value) if isinstance(value, list | tuple) else [value]
    return value


@for_each("name", operators())
def test_inputs_are_those_of_dali(name):
    skip_without_facts(name)
    schema = SCHEMAS[name]
    assert [schema.min_inputs, schema.max_inputs] == FACTS[name]["inputs"]
    if FACTS[name]["layouts"]:
        assert list(schema.inputs[0].layouts) == FACTS[name]["layouts"]
