# SPDX-License-Identifier: Apache-2.0
"""What every operator of the registry owes its users, over every case of tests/ops/test_*.py."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.digests import digest, digests
from helpers.ops import (
    OpCase,
    PerSample,
    Run,
    all_cases,
    find,
    run_batches,
    run_case,
    run_op,
)

from torchdali import Pipeline, fn, types
from torchdali._engine.extension import _C
from torchdali._engine.schema import registry

TESTS = Path(__file__).parents[1]
CASES = all_cases()
SCHEMAS = registry()
# A source decides what a batch holds: it has no samples to be given, and tests of its own.
OPERATORS = sorted(name for name, schema in SCHEMAS.items() if not schema.source)
# Written in Python, with arguments of its own; every case is fed through it.
PYTHON_SOURCES = {"external_source"}
TESTED = sorted({case.op for case in CASES} & set(OPERATORS))
FACTS = json.loads((TESTS / "data" / "dali_operators.json").read_text())
# Instruction sets below the one in use, which is compared with each.
ISAS = ["baseline", "avx2", "avx512"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def assert_same_bytes(actual: Run, expected: Run) -> None:
    """Compares all samples, whatever batches they came in; NaN equals NaN of the same bits."""
    assert actual.layouts == expected.layouts
    for ours, theirs in zip(actual.samples(), expected.samples(), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            flat_a, flat_b = a.contiguous().reshape(-1), b.contiguous().reshape(-1)
            if flat_a.numel():
                assert torch.equal(flat_a.view(torch.uint8), flat_b.view(torch.uint8))


def non_contiguous(sample: torch.Tensor) -> torch.Tensor:
    """Returns an equal tensor whose elements are not next to each other."""
    if sample.ndim == 0:
        return sample
    return torch.stack([sample, sample], dim=sample.ndim)[..., 0]


def has_tensor_args(case: OpCase) -> bool:
    return any(isinstance(a, PerSample) for a in case.args.values())


def has_tensors(case: OpCase) -> bool:
    return bool(case.more_inputs) or has_tensor_args(case)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_cases(name):
    file = f"test_{name.replace('.', '_')}.py"
    assert any(case.op == name for case in CASES), (
        f"fn.{name} has no case: add some to CASES in tests/ops/ROOM/{file}"
    )


@pytest.mark.parametrize(
    "name", sorted(n for n, s in SCHEMAS.items() if s.source and n not in PYTHON_SOURCES)
)
def test_every_source_has_tests(name):
    found = list(TESTS.rglob(f"test_*{name.replace('.', '_')}*.py"))
    assert found, f"fn.{name} has no test file"


@functools.cache
def whole_digest(case: OpCase) -> str:
    """Returns the digest of a case's samples in one batch; looks after its inputs."""
    fed: list[tuple[torch.Tensor, torch.Tensor]] = []

    def remember(sample: torch.Tensor) -> torch.Tensor:
        sample = sample.contiguous()
        fed.append((sample, sample.clone()))
        return sample

    run = run_case(case, prepare=remember)
    for sample, before in fed:
        torch.testing.assert_close(sample, before, rtol=0, atol=0, equal_nan=True)
    return digest(run)


@pytest.mark.parametrize("case", [c for c in CASES if not c.sees_batch], ids=str)
def test_a_batch_equals_its_samples_in_batches_of_any_size(case):
    assert digest(run_case(case, [1] * case.batch)) == whole_digest(case)
    if case.batch > 1 and case.all_inputs():
        assert digest(run_case(case, [1, case.batch - 1])) == whole_digest(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_threads_and_strides_change_nothing_and_inputs_stay_as_they_were(case):
    assert digest(run_case(case, num_threads=8, prepare=non_contiguous)) == whole_digest(case)


def has_values_of_frames(case: OpCase) -> bool:
    """Tells whether the samples of a case can be the frames of a sequence, with their values."""
    schema = SCHEMAS[case.op]
    if not schema.sequences or schema.random or case.more_inputs or case.sees_batch:
        return False
    if not case.layout or case.shape is None or not has_tensor_args(case):
        return False
    values = [a for a in case.args.values() if isinstance(a, PerSample)]
    return f"F{case.layout}" in schema.inputs[0].layouts and not any(a.layout for a in values)


@pytest.mark.parametrize("case", [c for c in CASES if has_values_of_frames(c)], ids=str)
def test_frames_with_values_of_their_own_are_as_samples_with_theirs(case):
    if isinstance(case.shape, list):
        case = case.replace(shape=case.shape[0])  # frames of one size
    samples = run_case(case)
    frames = range(case.batch)
    sources = {"data": (f"F{case.layout}", [[torch.stack([case.input(i) for i in frames])]])}
    constants = {}
    for name, value in case.args.items():
        if isinstance(value, PerSample):
            values = torch.stack([value.at(i) for i in frames])
            sources[name] = ("F" + "*" * (values.ndim - 1), [[values]])
        else:
            constants[name] = value
    run_sequence = functools.partial(
        run_batches, case.op, sources, 1, constants, batch_sizes=[1], seed=case.seed
    )
    shapes = {tuple(s.shape) for s in samples.samples()[0]}
    if len(shapes) > 1 and case.op != "rotate":
        with pytest.raises(ValueError, match="of the sequence would have shape"):
            run_sequence()
        return
    run = run_sequence()
    for out, expected in zip(run.batches[0], samples.samples(), strict=True):
        for frame, sample in zip(out[0], expected, strict=True):
            if frame.shape == sample.shape:  # rotate gives all frames the largest canvas
                torch.testing.assert_close(frame, sample, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set_gives_the_same_bytes(isa):
    in_use = str(_C.instruction_set())
    if ISAS.index(isa) >= ISAS.index(in_use):
        pytest.skip(f"{isa} is not below {in_use}, which this run uses")
    output = subprocess.run(
        [sys.executable, "-m", "helpers.digests"],
        env={
            **os.environ,
            "TORCHDALI_ISA": isa,
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert output.returncode == 0, output.stderr
    others = json.loads(output.stdout)
    ours = digests(CASES)
    different = [str(c) for c, a, b in zip(CASES, ours, others, strict=True) if a != b]
    assert not different


@pytest.mark.parametrize("name", TESTED)
def test_a_wrong_layout_is_an_error_that_says_what_to_do(name):
    schema = SCHEMAS[name]
    if not schema.inputs or not schema.inputs[0].layouts:
        pytest.skip("takes any layout")
    case = next(c for c in CASES if c.op == name and c.all_inputs())
    wrong = OpCase(name, "XY", (4, 4), case.args, batch=case.batch)
    with pytest.raises(ValueError, match="layout") as caught:
        run_case(wrong.replace(more_inputs=case.more_inputs))
    text = str(caught.value)
    assert text.startswith(f'fn.{name}: input `{schema.inputs[0].name}` has layout "XY", expected')
    for layout in schema.inputs[0].layouts:
        assert f'"{layout}"' in text
    assert "defined at " in text


@pytest.mark.parametrize("name", TESTED)
def test_a_wrong_layout_of_one_sample_is_found_when_it_runs(name):
    schema = SCHEMAS[name]
    if not schema.inputs or not schema.inputs[0].layouts:
        pytest.skip("takes any layout")
    # What passes through cast has no layout that is known when the pipeline is built.
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
    cases = [c for c in CASES if c.op == name]
    case = next((c for c in cases if not has_tensors(c)), cases[0])
    constants = {n: a for n, a in case.args.items() if not isinstance(a, PerSample)}
    with pipe:
        sample = fn.cast(fn.external_source(name="x"), dtype=types.UINT8)
        more = [fn.external_source(name=f"more_{i}") for i in range(len(case.more_inputs))]
        pipe.set_outputs(find(name)(sample, *more, **constants))
    pipe.build()
    pipe.feed_input("x", [torch.zeros(4, 4), torch.zeros(4, 4)], layout="XY")
    for i, one in enumerate(case.more_inputs):
        pipe.feed_input(f"more_{i}", [one.make(0), one.make(1)], layout=one.layout or None)
    with pytest.raises(ValueError, match="layout") as caught:
        pipe.run()
    pipe.close()
    text = str(caught.value)
    assert text.startswith(f'fn.{name}: input `{schema.inputs[0].name}` has layout "XY", expected')
    assert "sample 0 of 2" in text
    assert "defined at " in text
    assert "To fix it:" in text


@pytest.mark.parametrize("name", TESTED)
def test_a_device_that_it_has_not_is_an_error_that_names_the_operator(name):
    if "gpu" in SCHEMAS[name].devices:
        pytest.skip("has a GPU implementation")
    case = next(c for c in CASES if c.op == name)
    with pytest.raises(RuntimeError, match=rf"fn\.{re.escape(name)}"):
        run_case(case, device="gpu")


@pytest.mark.parametrize("name", TESTED)
def test_an_unknown_argument_is_a_type_error_that_names_it(name):
    case = next(c for c in CASES if c.op == name)
    inputs = [one.make(0) for one in case.all_inputs()]
    with pytest.raises(TypeError, match=rf"fn\.{re.escape(name)}.*no_such_argument"):
        run_op(name, *inputs, layout=case.layout, no_such_argument=1)


@pytest.mark.parametrize("case", [c for c in CASES if SCHEMAS[c.op].random], ids=str)
def test_a_resumed_pipeline_goes_on_drawing(case):
    sizes = [case.batch] * 4 if not case.all_inputs() else [1] * (case.batch - 1) + [1, 2, 1]
    whole = run_case(case, sizes)
    for resume_after in range(len(sizes)):
        assert_same_bytes(run_case(case, sizes, resume_after=resume_after), whole)


def file_arguments(folder: Path) -> dict[str, object]:
    files = [folder / f"{i}.bin" for i in range(10)]
    for i, file in enumerate(files):
        file.write_bytes(bytes([i]))
    return {"files": [str(file) for file in files], "random_shuffle": True}


# Arguments that a source runs with, on data that is made in a folder.
SOURCES = {"readers.file": file_arguments}


@pytest.mark.parametrize("name", sorted(set(SCHEMAS) - set(OPERATORS) - PYTHON_SOURCES))
def test_a_source_can_be_resumed(name, tmp_path):
    arguments = SOURCES[name](tmp_path)

    def make(checkpoint=None):
        pipe = Pipeline(4, 2, device_id=None, enable_checkpointing=True, checkpoint=checkpoint)
        with pipe:
            made = find(name)(name="source", **arguments)
            pipe.set_outputs(*(made if isinstance(made, list | tuple) else [made]))
        return pipe

    def run(pipe):
        return [bytes(s.numpy()) for out in pipe.run() for s in out.as_torch_list()]

    pipe = make()
    for _ in range(9):
        again = make(pipe.checkpoint())
        ahead = [run(again) for _ in range(3)]
        assert run(pipe) == ahead[0]


@pytest.mark.parametrize("name", TESTED)
def test_a_missing_input_is_an_error_that_names_the_operator(name):
    schema = SCHEMAS[name]
    if schema.min_inputs == 0:
        pytest.skip("needs no input")
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    case = next(c for c in CASES if c.op == name)
    constants = {n: a for n, a in case.args.items() if not isinstance(a, PerSample)}
    with pipe, pytest.raises((TypeError, ValueError), match=rf"fn\.{re.escape(name)}"):
        find(name)(**constants)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_everything_is_documented(name):
    schema = SCHEMAS[name]
    described = [(schema.name, schema.doc)]
    described += [(one.name, one.doc) for one in (*schema.inputs, *schema.outputs, *schema.args)]
    for what, doc in described:
        assert len(doc) > 10, f"`{what}` of fn.{name} has no docs"
        assert doc.rstrip()[-1] in ".:)", f"the docs of `{what}` do not end like a sentence: {doc}"


# Types that the facts call otherwise: an enumerator that DALI declares as a number.
TYPE_NAMES = {"int_list": "int or list of int", "float_list": "float or list of float"}
TYPE_NAMES |= {"str_list": "str or list of str", "layout": "layout str", "function": "object"}
TYPE_NAMES |= {"layout_list": "layout str or list of layout str"}
RENAMED_TYPES = {("output_dtype", "int"): "DALIDataType"}
# What DALI has not: how functions are called in parallel, and seeded; an index of JPEG files, and
# decoding them smaller.
_FUNCTION_ARGS = {"workers", "seed_generators"}
_INDEX_ARGS = {"jpeg_index", "jpeg_index_size"}
EXTRA_ARGS = {"python_function": _FUNCTION_ARGS, "dl_tensor_python_function": _FUNCTION_ARGS}
EXTRA_ARGS |= {
    f"decoders.{kind}": _INDEX_ARGS for kind in ("image_crop", "image_slice", "image_random_crop")
}
EXTRA_ARGS["decoders.image"] = _INDEX_ARGS | {"scaled_margin"}
# DALI's pages say one thing, its operators do the other.
DEFAULTS = {("dl_tensor_python_function", "batch_processing"): True}
# 2 pi / 128 as a float32; the pages have six digits.
DEFAULTS |= {("water", name): 0.049087387 for name in ("freq_x", "freq_y")}


@pytest.mark.parametrize("name", sorted((SCHEMAS.keys() & FACTS.keys()) - PYTHON_SOURCES))
def test_arguments_are_those_of_dali(name):
    theirs = FACTS[name]["args"]
    ours = {a.name: a for a in SCHEMAS[name].args if a.name not in EXTRA_ARGS.get(name, ())}
    assert sorted(ours) == sorted(theirs)
    assert len(SCHEMAS[name].args) == len(ours) + len(EXTRA_ARGS.get(name, ()))
    for argument in ours.values():
        kind, per_sample, required, *default = theirs[argument.name]
        kind = RENAMED_TYPES.get((argument.name, kind), kind)
        where = f"`{argument.name}` of fn.{name}"
        assert TYPE_NAMES.get(argument.type, argument.type) == kind, where
        assert argument.per_sample == per_sample, where
        assert argument.required == required, where
        if not argument.ignored:  # what has no effect needs no default
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


@pytest.mark.parametrize("name", sorted((SCHEMAS.keys() & FACTS.keys()) - PYTHON_SOURCES))
def test_inputs_are_those_of_dali(name):
    schema = SCHEMAS[name]
    assert [schema.min_inputs, schema.max_inputs] == FACTS[name]["inputs"]
    if FACTS[name]["layouts"]:
        assert list(schema.inputs[0].layouts) == FACTS[name]["layouts"]
