# SPDX-License-Identifier: Apache-2.0
"""The tests' own tools: loops over cases, --op and --case, the fuzz driver, programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import cases, fuzz, programs
from helpers.cases import CasesFailedError, check_each, for_each

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program that can import the helpers and the package."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(ROOT)])
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_loop_runs_every_case_and_names_all_that_fail():
    seen = []

    def check(case: int) -> None:
        seen.append(case)
        assert case % 2, f"{case} is even"

    with pytest.raises(CasesFailedError) as caught:
        check_each(range(5), check)
    assert seen == [0, 1, 2, 3, 4]
    text = str(caught.value)
    assert text.startswith("3 of 5 cases failed")
    for even in (0, 2, 4):
        assert f"AssertionError: {even} is even" in text
    assert f"pytest {__file__.removeprefix(f'{ROOT}/')}::test_a_loop" in text
    assert "--case 4" in text


def test_several_decorators_run_over_all_combinations():
    seen = []

    @for_each("a, b", [(1, 2), pytest.param(3, 4, id="second")])
    @for_each("c", "xy")
    def combined(a, b, c):
        seen.append((a, b, c))
        assert c != "y"

    with pytest.raises(CasesFailedError, match=r"(?s)^2 of 4 .*\n1-2-y\n.*\nsecond-y\n"):
        combined()
    assert seen == [(1, 2, "x"), (1, 2, "y"), (3, 4, "x"), (3, 4, "y")]


def test_a_loop_over_nothing_is_an_error():
    with pytest.raises(ValueError, match="the test has no cases"):
        check_each([], lambda case: None)
    with pytest.raises(ValueError, match="no values for case"):
        for_each("case", [])


def test_a_loop_is_skipped_if_all_cases_are():
    ran = cases.ran

    def check(case: int) -> None:
        if case < 2:
            pytest.skip(f"not {case}")

    check_each([1, 2], check)
    with pytest.raises(pytest.skip.Exception, match="not 0"):
        check_each([0, 1], check)
    assert cases.ran == ran + 4


def test_case_runs_the_cases_with_its_text():
    test = f"{TESTS}/ops/test_schemas.py::test_inputs_are_those_of_dali"
    done = run(*PYTEST, test, "--case", "crop_mirror_n", folder=ROOT)
    assert done.returncode == 0, done.stdout
    assert "tests over cases: 1, cases: 1" in done.stdout
    done = run(*PYTEST, test, "--case", "no such operator", folder=ROOT)
    assert done.returncode == 5
    assert "no test has a case with the text 'no such operator'" in done.stdout


def test_op_imports_the_tests_of_one_operator_only():
    program = "import sys, pytest; pytest.main(sys.argv[1:]);"
    program += "print(sorted(name for name in sys.modules if name.startswith('test_')))"
    done = run(
        sys.executable, "-c", program, *PYTEST[3:], "--op", "flip", "--collect-only", folder=ROOT
    )
    assert "tests/ops/window/test_flip.py::test_matches_reference" in done.stdout
    assert "tests/gpu/test_gpu_matches_cpu.py::test_results_equal_those_of_the_cpu" in done.stdout
    files = [*(TESTS / "ops").glob("test_*.py"), TESTS / "gpu" / "test_gpu_matches_cpu.py"]
    expected = sorted(["test_flip", *(path.stem for path in files)])
    assert done.stdout.splitlines()[-1] == str(expected)


def test_an_unknown_operator_ends_the_run_with_a_suggestion():
    done = run(*PYTEST, "--op", "fn.flop", folder=ROOT)
    assert done.returncode == 4
    assert "--op: there is no operator fn.flop; did you mean flip" in done.stderr


def test_the_fuzz_driver_covers_every_operator_without_effects_outside():
    left_out = set(fuzz.registry()) - set(fuzz.operators())
    known = fuzz.registry().items()
    never_run = {name for name, schema in known if schema.source or schema.never}
    assert left_out == never_run | (fuzz.LEFT_OUT & set(fuzz.registry()))


def test_the_fuzz_driver_ends_a_use_that_hangs_and_shows_it(tmp_path):
    program = "from helpers import fuzz; fuzz.Use.run = lambda use: __import__('time').sleep(60);"
    program += "fuzz.main()"
    arguments = ["--operators", "copy", "--timeout", "0.2"]
    done = run(sys.executable, "-c", program, *arguments, folder=tmp_path)
    assert done.returncode != 0
    assert "Timeout" in done.stderr
    assert (tmp_path / "fuzz.log").read_text().startswith("copy(")


def test_a_program_does_not_end_with_the_code_of_an_earlier_one_with_its_id():
    assert programs.run("-c", "pass").returncode == 0
    ids = range(int(Path("/proc/sys/kernel/pid_max").read_text()))
    programs._server.codes.update(dict.fromkeys(ids, 0))
    done = programs.run("-c", "import time; time.sleep(0.1); raise SystemExit(3)")
    assert done.returncode == 3
