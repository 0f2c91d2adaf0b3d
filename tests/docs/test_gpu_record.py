# SPDX-License-Identifier: Apache-2.0
"""The record of GPU tests: what is recorded, and how the page of operators shows it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpu import test_gpu_by_copy, test_mixed_decoders
from helpers.case_files import all_cases
from helpers.gpu_record import Notes

from tools.docs import gpu_record, operator_states
from tools.docs.gpu_record import NO_KERNEL, NOT_RUN, Record
from tools.gpu_kernels import fingerprint
from torchdali._engine.schema import every_operator, registry

ROOT = Path(__file__).parents[2]
RUN = {
    "how": "a test",
    "gpu": "GPU X",
    "torch": "2.0",
    "cuda": "13.0",
    "date": "2026-01-02",
    "commit": "abc",
}


def report(outcome: str, *names: str, when: str = "call") -> Any:
    return SimpleNamespace(
        user_properties=[("on_gpu", name) for name in names],
        when=when,
        failed=outcome == "failed",
        passed=outcome == "passed",
    )


def write(path: Path, reports: list[Any], exitstatus: int) -> None:
    notes = Notes(path, json.dumps(RUN))
    for one in reports:
        notes.pytest_runtest_logreport(one)
    config = SimpleNamespace(rootpath=ROOT)
    notes.pytest_sessionfinish(SimpleNamespace(config=config), exitstatus)


def test_operators_are_recorded_if_all_their_tests_passed(tmp_path):
    path = tmp_path / "record.json"
    reports = [
        report("passed", "flip"),
        report("passed", "flip", "crop"),
        report("failed", "crop"),
        report("skipped", "pad"),
        report("passed", "pad", when="setup"),
        report("passed", "cat"),
        report("failed", "cat", when="teardown"),
    ]
    write(path, reports, 1)
    record = Record.read(path)
    assert record is not None
    assert record.operators == {"flip": 2}
    assert record.kernels == fingerprint(ROOT / "csrc")
    assert (record.gpu, record.commit) == ("GPU X", "abc")


@pytest.mark.parametrize(("reports", "exitstatus"), [([], 0), ([report("passed", "flip")], 2)])
def test_an_interrupted_run_records_nothing(reports, exitstatus, tmp_path):
    write(tmp_path / "record.json", reports, exitstatus)
    assert Record.read(tmp_path / "record.json") is None


def test_every_operator_with_a_gpu_kernel_has_gpu_tests():
    (by_copy,) = test_gpu_by_copy.test_sequences_of_a_video_that_is_fed.pytestmark
    marked = {*by_copy.args, *test_mixed_decoders.pytestmark.args}
    noted = {case.op for case in all_cases()} | marked
    for schema in registry().values():
        if operator_states._ran(schema, None, "") == NOT_RUN:
            assert schema.name in noted


def test_the_page_shows_the_state_of_each_operator():
    def page(record: Record | None, kernels: str = "now") -> dict[str, str]:
        facts = json.loads((ROOT / "tests" / "data" / "dali_operators.json").read_text())
        text = operator_states.page(facts, record, kernels)
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:3] == "| ["]
        return {row[0].partition("`")[2].partition("`")[0]: row[-1].rstrip(" |") for row in rows}

    nothing = page(None)
    assert nothing["fn.flip"] == nothing["fn.decoders.image"] == NOT_RUN
    assert nothing["plugin.numba.fn.experimental.numba_function"] == NOT_RUN
    assert nothing["fn.random.uniform"] == NO_KERNEL
    record = Record(**RUN, kernels="now", operators={"flip": 3})
    assert page(record)["fn.flip"] == "GPU X, 2026-01-02"
    assert page(record)["fn.crop"] == NOT_RUN
    assert page(record, "later")["fn.flip"] == "GPU X, 2026-01-02, before kernels changed"


def test_the_fingerprint_ignores_comments_and_unused_files(tmp_path):
    def make(kernel: str, header: str = "int a;", launcher: str = "int b;") -> str:
        for folder in ("gpu/cuda", "kernels/color"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "kernels/color/k_gpu.h").write_text('#include "gpu/h.h"\n' + kernel)
        (tmp_path / "gpu" / "h.h").write_text(header)
        (tmp_path / "gpu/cuda/launch.cuh").write_text(launcher)
        (tmp_path / "gpu" / "other.h").write_text(f"int unused; // {kernel}")
        return fingerprint(tmp_path)

    first = make('f("//");')
    assert make('f(  "//" ); // a comment\n/* more */') == first
    assert make('f("/");') != first
    assert make('f("//");', "int b;") != first
    assert make('f("//");', launcher="int c;") != first


def test_the_record_of_this_checkout_can_be_read():
    record = Record.read(ROOT / gpu_record.PATH)
    assert record is None or set(record.operators) <= set(every_operator())
