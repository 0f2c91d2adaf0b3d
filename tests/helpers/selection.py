# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: ``--op NAME`` runs the tests of one operator, ``--case TEXT`` some cases.

With ``--op`` only the operator's own test files are imported, and the suites over all operators run
its cases alone: contract, parity, GPU against CPU, debug mode, errors and schema.
"""

from __future__ import annotations

import difflib
from collections.abc import Generator
from pathlib import Path

import pytest

from torchdali._engine.schema import registry

from . import case_files, cases

TESTS = Path(__file__).parents[1]
# They run over the cases of all operators, or over the registry.
SUITES = [
    TESTS / "gpu" / "test_gpu_matches_cpu.py",
    *(TESTS / "ops").glob("test_*.py"),
]
_PROPERTY = "cases"
_NO_TESTS_RAN = 5  # pytest's exit status


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchdali")
    group.addoption(
        "--op",
        action="append",
        metavar="NAME",
        help="only tests of this operator, as fn names it; may be given several times",
    )
    group.addoption("--case", metavar="TEXT", help="only cases whose name contains TEXT")


def pytest_configure(config: pytest.Config) -> None:
    cases.chosen = config.getoption("--case")
    names = config.getoption("--op")
    if names:
        case_files.select([_known(name) for name in names])
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_CaseCount(cases.chosen))


def _known(name: str) -> str:
    """Returns the name of an operator as `fn` has it, or ends the run."""
    name = name.removeprefix("fn.")
    if name in registry():
        return name
    close = difflib.get_close_matches(name, registry(), n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise pytest.UsageError(f"--op: there is no operator fn.{name}{hint}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if case_files.selected is None or collection_path.suffix != ".py":
        return None
    wanted = collection_path in SUITES or collection_path in case_files.selected_files()
    return None if wanted else True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    before = cases.ran
    try:
        return (yield)
    finally:
        if cases.ran > before:
            item.user_properties.append((_PROPERTY, cases.ran - before))


class _CaseCount:
    """Reports how many cases the tests ran over, and fails a run with ``--case`` without any."""

    def __init__(self, chosen: str | None) -> None:
        self.chosen = chosen
        self.tests = self.cases = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        counts = [count for key, count in report.user_properties if key == _PROPERTY]
        if counts and report.when == "call":
            self.tests += 1
            self.cases += sum(counts)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.chosen is not None and exitstatus == 0 and not self.cases:
            session.exitstatus = _NO_TESTS_RAN

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.tests:
            terminalreporter.write_line(f"tests over cases: {self.tests}, cases: {self.cases}")
        elif self.chosen is not None:
            terminalreporter.write_line(f"no test has a case with the text {self.chosen!r}")
