# SPDX-License-Identifier: Apache-2.0
"""Runs of pytest for tools/mutants.py: in a process group of its own, watched for hangs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NO_TESTS = 5  # pytest's exit status where nothing was collected
# A pytest plugin. It reads what to do from plan.json, next to it.
PLUGIN = '''\
"""Made by tools/mutants.py: chooses tests, notes failures, and which tests reach which mutants."""

import json
import os
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PLAN = json.loads((FOLDER / "plan.json").read_text())
IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
COUNT = {"passed": 0, "failed": 0, "skipped": 0}
REACHED = FOLDER / f"reached-{os.getpid()}.bin"
if PLAN["records"]:
    REACHED.write_bytes(bytes(4096))
    os.environ["TORCHDALI_MUTANTS_REACHED"] = str(REACHED)


def record(test, seconds):
    """Notes what was reached since the last call."""
    with REACHED.open("r+b") as file:
        found = [number for number, byte in enumerate(file.read()) if byte]
        file.seek(0)
        file.write(bytes(4096))
    with REACHED.with_suffix(".jsonl").open("a") as file:
        entry = {"test": test, "seconds": seconds, "reached": found}
        file.write(json.dumps(entry) + "\\n")


def pytest_collection_modifyitems(items):
    if PLAN["tests"] is not None:
        place = {test: number for number, test in enumerate(PLAN["tests"])}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda i: place[i.nodeid]
        )
    left_out = set(PLAN["left_out"])
    items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_collection_finish():
    if PLAN["records"]:
        record("", 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    start = time.monotonic()
    try:
        return (yield)
    finally:
        if PLAN["records"]:
            record(item.nodeid, round(time.monotonic() - start, 3))


def note(report):
    if not IS_WORKER:
        lines = str(report.longrepr).strip().splitlines()
        errors = [line for line in lines if line.startswith("E ")] or lines[-1:]
        entry = {"test": report.nodeid, "why": errors[0][:200] if errors else ""}
        with (FOLDER / "failures.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\\n")


def pytest_collectreport(report):
    if report.failed:
        note(report)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        COUNT[report.outcome] += 1
    if report.failed:
        note(report)


def pytest_sessionfinish():
    if not IS_WORKER:
        (FOLDER / "count.json").write_text(json.dumps(COUNT))
'''


@dataclass(frozen=True)
class Failure:
    """A test that failed, and the first line of why."""

    test: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """What a run of pytest gave."""

    status: int
    hung: bool
    failures: list[Failure]
    count: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all tests passed, or there were none."""
        return not self.hung and self.status in (0, NO_TESTS) and not self.failures


@dataclass(frozen=True)
class Runner:
    """How tests are run.

    Args:
        copy: the tree with the mutants.
        folder: for files of the runs.
        python: interpreter that has what the tests need.
        jobs: processes.
        timeout: seconds for one test.
        limit: seconds for one run.
    """

    copy: Path
    folder: Path
    python: str
    jobs: int
    timeout: int
    limit: int

    def run_all(self, left_out: Sequence[str]) -> tuple[Outcome, list[dict[str, Any]]]:
        """Runs all tests without a mutant; returns what each has reached, too.

        That is a list of {"test", "seconds", "reached"}, with "" for the collection of tests.
        """
        outcome = self._run(0, None, left_out, [f"-n{self.jobs}"], records=True)
        found = []
        for path in self.folder.glob("reached-*.jsonl"):
            found += [json.loads(line) for line in path.read_text().splitlines()]
        return outcome, found

    def run_first(self, mutant: int, tests: Sequence[str]) -> Outcome:
        """Runs some tests with a mutant, in their order, up to the first failure."""
        files = sorted({test.partition("::")[0] for test in tests})
        return self._run(mutant, tests, [], [f"-n{self.jobs}", "-x", *files])

    def run_one(self, mutant: int, test: str) -> Outcome:
        """Runs one test with a mutant, in one process."""
        return self._run(mutant, [test], [], ["-n0", test.partition("::")[0]])

    def _run(
        self,
        mutant: int,
        tests: Sequence[str] | None,
        left_out: Sequence[str],
        arguments: Sequence[str],
        records: bool = False,
    ) -> Outcome:
        folder = self.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "mutants_plugin.py").write_text(PLUGIN)
        chosen = None if tests is None else list(tests)
        plan = {"tests": chosen, "left_out": list(left_out), "records": records}
        (folder / "plan.json").write_text(json.dumps(plan))
        command = [self.python, "-m", "pytest", "-q", "-p", "mutants_plugin", "-m", "not cuda"]
        command += ["-p", "no:cacheprovider", f"--timeout={self.timeout}"]
        # A test that hangs in the engine gets no signal.
        command += ["--timeout-method=thread"]
        status, hung = self._watched([*command, *arguments], mutant)
        report, count = folder / "failures.jsonl", folder / "count.json"
        lines = report.read_text().splitlines() if report.exists() else []
        return Outcome(
            status,
            hung,
            [Failure(**json.loads(line)) for line in lines],
            json.loads(count.read_text()) if count.exists() else {},
        )

    def _environment(self, mutant: int) -> dict[str, str]:
        return {
            **os.environ,
            "TORCHDALI_MUTANT": str(mutant),
            "CI": "1",  # hypothesis draws the same examples in every run
            "PYTHONPATH": os.pathsep.join([str(self.copy), str(self.folder)]),
        }

    def _watched(self, command: Sequence[str], mutant: int) -> tuple[int, bool]:
        """Runs a command; ends it where it prints nothing for long, or takes too long."""
        log = self.folder / "pytest.log"
        stall = 2 * self.timeout + 120
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.copy,
                env=self._environment(mutant),
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            begin = moved = time.monotonic()
            size = 0
            hung = False
            while process.poll() is None:
                time.sleep(0.2)
                now = time.monotonic()
                if log.stat().st_size != size:
                    size, moved = log.stat().st_size, now
                if now - moved > stall or now - begin > self.limit:
                    hung = True
                    break
            end_group(process)
        return process.returncode, hung


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of a process group that was started here."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
