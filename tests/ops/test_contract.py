# SPDX-License-Identifier: Apache-2.0
"""The contract of every operator, over all cases of tests/ops: what results may depend on."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import contract
from helpers.case_files import (
    all_cases,
    cases_by_operator,
    files,
    modules,
    operators,
    operators_of,
    parameters,
)
from helpers.cases import check_each
from helpers.ops import find

from torchdali import Pipeline
from torchdali._engine.schema import registry

SCHEMAS = registry()
CASES = cases_by_operator()
# A source decides what a batch holds: it takes no samples, and has tests of its own.
SOURCES = [name for name in operators() if SCHEMAS[name].source]
# Their data is fed, after a checkpoint again; every case gets its samples through one of them.
FED = {name for name in SOURCES if SCHEMAS[name].external}
# The arguments of each source: a function that writes data into a folder and returns them.
ARGUMENTS_OF_SOURCES = {
    op: make for module in modules() for op, make in getattr(module, "SOURCES", {}).items()
}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_files_list_the_operators_of_their_cases():
    """Otherwise ``--op`` would not find them."""
    for module in modules():
        found = {case.op for case in getattr(module, "CASES", [])}
        assert found <= set(operators_of(Path(str(module.__file__)))), f"add OPERATORS to {module}"
    # Expressions have no function in fn.
    assert [path.stem for path in files() if not operators_of(path)] == [
        "test_arithmetic",
        "test_arithmetic_values",
    ]


def test_every_operator_has_cases():
    for name in operators():
        file = f"test_{name.replace('.', '_')}.py"
        assert name in CASES or name in SOURCES, (
            f"fn.{name} has no case: add some to CASES in tests/ops/ROOM/{file}"
        )


def test_every_source_has_arguments_to_run_with():
    for name in set(SOURCES) - FED:
        assert name in ARGUMENTS_OF_SOURCES, f"add fn.{name} to SOURCES in its test file"


@pytest.mark.parametrize("op", parameters(CASES))
def test_a_result_depends_on_its_sample_alone(op):
    """Not on the batch, the number of threads or strides; and inputs stay as they were."""
    check_each(CASES[op], contract.check_independence)


CASES_OF_FRAMES = cases_by_operator(
    [case for case in all_cases() if contract.has_values_of_frames(case)]
)


@pytest.mark.parametrize("op", parameters(CASES_OF_FRAMES))
def test_frames_with_their_own_arguments_equal_samples(op):
    check_each(CASES_OF_FRAMES[op], contract.check_frames)


@pytest.mark.parametrize("op", parameters(name for name in CASES if SCHEMAS[name].random))
def test_a_resumed_pipeline_draws_the_same_values(op):
    check_each(CASES[op], contract.check_resumption)


@pytest.mark.parametrize("op", parameters(set(SOURCES) - FED))
def test_a_source_resumes_at_any_batch(op, tmp_path):
    arguments = ARGUMENTS_OF_SOURCES[op](tmp_path)

    def make(checkpoint=None):
        pipe = Pipeline(4, 2, device_id=None, enable_checkpointing=True, checkpoint=checkpoint)
        with pipe:
            made = find(op)(name="source", **arguments)
            made = list(made.values()) if isinstance(made, dict) else made
            pipe.set_outputs(*(made if isinstance(made, list | tuple) else [made]))
        return pipe

    def run(pipe):
        return [bytes(s.numpy()) for out in pipe.run() for s in out.as_torch_list()]

    pipe = make()
    for _ in range(9):
        resumed = make(pipe.checkpoint())
        ahead = [run(resumed) for _ in range(3)]
        assert run(pipe) == ahead[0]
