# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of every operator: the error names the operator, what was wrong and where."""

from __future__ import annotations

import re

import pytest
import torch
from helpers.case_files import cases_by_operator
from helpers.cases import check_each
from helpers.ops import OpCase, PerSample, find, run_case, run_op

from torchdali import Pipeline, errors, fn, types
from torchdali._engine.schema import registry

SCHEMAS = registry()
CASES = cases_by_operator()

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def constants_of(case: OpCase) -> dict[str, object]:
    return {n: a for n, a in case.args.items() if not isinstance(a, PerSample)}


def skip_any_layout(name: str) -> None:
    schema = SCHEMAS[name]
    if not schema.inputs or not schema.inputs[0].layouts:
        pytest.skip(f"fn.{name} takes any layout")


def test_a_wrong_layout_is_an_error_that_lists_the_layouts():
    def check(name: str) -> None:
        skip_any_layout(name)
        schema = SCHEMAS[name]
        case = next(c for c in CASES[name] if c.all_inputs())
        wrong = OpCase(name, "XY", (4, 4), case.args, batch=case.batch)
        with pytest.raises(ValueError, match="layout") as caught:
            run_case(wrong.replace(more_inputs=case.more_inputs))
        text = str(caught.value)
        assert text.startswith(
            f'fn.{name}: input `{schema.inputs[0].name}` has layout "XY", expected'
        )
        for layout in schema.inputs[0].layouts:
            assert f'"{layout}"' in text
        assert "defined at " in text

    check_each(CASES, check)


def test_a_layout_that_is_known_only_at_run_time_is_checked_then():
    def check(name: str) -> None:
        skip_any_layout(name)
        case = next((c for c in CASES[name] if not has_tensors(c)), CASES[name][0])
        pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
        with pipe:
            # The output of cast has no layout that is known when the pipeline is built.
            sample = fn.cast(fn.external_source(name="x"), dtype=types.UINT8)
            more = [fn.external_source(name=f"more_{i}") for i in range(len(case.more_inputs))]
            made = find(name)(sample, *more, **constants_of(case))
            pipe.set_outputs(*(made if isinstance(made, list) else [made]))
        pipe.build()
        pipe.feed_input("x", [torch.zeros(4, 4), torch.zeros(4, 4)], layout="XY")
        for i, one in enumerate(case.more_inputs):
            pipe.feed_input(f"more_{i}", [one.make(0), one.make(1)], layout=one.layout or None)
        with pytest.raises(ValueError, match="layout") as caught:
            pipe.run()
        pipe.close()
        text = str(caught.value)
        assert text.startswith(
            f'fn.{name}: input `{SCHEMAS[name].inputs[0].name}` has layout "XY", expected'
        )
        assert "sample 0 of 2" in text
        assert "defined at " in text
        assert "To fix it:" in text

    check_each(CASES, check)


def has_tensors(case: OpCase) -> bool:
    return bool(case.more_inputs) or any(isinstance(a, PerSample) for a in case.args.values())


def test_a_missing_gpu_implementation_is_an_error_that_names_the_operator():
    def check(name: str) -> None:
        if "gpu" in SCHEMAS[name].devices:
            pytest.skip(f"fn.{name} has a GPU implementation")
        with pytest.raises(RuntimeError, match=rf"fn\.{re.escape(name)}"):
            run_case(CASES[name][0], device="gpu")

    check_each(CASES, check)


def test_an_unknown_argument_is_a_type_error_that_names_it():
    def check(name: str) -> None:
        case = CASES[name][0]
        inputs = [one.make(0) for one in case.all_inputs()]
        with pytest.raises(TypeError, match=rf"fn\.{re.escape(name)}.*no_such_argument"):
            run_op(name, *inputs, layout=case.layout, no_such_argument=1)

    check_each(CASES, check)


def test_a_missing_input_is_an_error_that_names_the_operator():
    def check(name: str) -> None:
        if SCHEMAS[name].min_inputs == 0:
            pytest.skip(f"fn.{name} needs no input")
        pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
        with pipe, pytest.raises((TypeError, ValueError), match=rf"fn\.{re.escape(name)}"):
            find(name)(**constants_of(CASES[name][0]))

    check_each(CASES, check)


@pytest.mark.parametrize(
    ("layout", "fix"),
    [
        ("CHW", "reorder the axes with fn.transpose(..., perm=[1, 2, 0])"),
        ("FCHW", "reorder the axes with fn.transpose(..., perm=[0, 2, 3, 1])"),
        ("HW", 'add the axes it lacks with fn.expand_dims(..., axes=[2], new_axis_names="C")'),
        ("XYC", "name the axes with fn.reshape(..., layout=)"),
    ],
)
def test_the_fix_for_a_wrong_layout_keeps_the_meaning_of_the_axes(layout, fix):
    pipe = Pipeline(1, 1, device_id=None)
    with pipe:
        data = fn.external_source(lambda: [torch.zeros((3,) * len(layout))], layout=layout)
        pipe.set_outputs(fn.hue(fn.cast(data, dtype=types.UINT8), hue=5.0))
    with pytest.raises(errors.LayoutError) as caught:
        pipe.run()
    assert fix in caught.value.fix
