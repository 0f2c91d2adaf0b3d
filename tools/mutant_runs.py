# SPDX-License-Identifier: Apache-2.0
"""Runs of pytest for tools/mutants.py: in a process group of its own, watched for hangs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

NO_TESTS = 5  # pytest's exit status where nothing was collected
# A pytest plugin: leaves out tests that are named in a file, and writes failures to another.
PLUGIN = '''\
"""Made by tools/mutants.py."""

import json
import os
from pathlib import Path

REPORT, LEFT_OUT = (Path(os.environ[n]) for n in ("MUTANTS_REPORT", "MUTANTS_LEFT_OUT"))
COUNT = {"passed": 0, "failed": 0, "skipped": 0}


def pytest_collection_modifyitems(config, items):
    left_out = set(json.loads(LEFT_OUT.read_text()))
    items[:] = [item for item in items if item.nodeid not in left_out]


def note(report):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        lines = str(report.longrepr).strip().splitlines()
        errors = [line for line in lines if line.startswith("E ")] or lines[-1:]
        entry = {"test": report.nodeid, "why": errors[0][:200] if errors else ""}
        with REPORT.open("a") as file:
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
    if "PYTEST_XDIST_WORKER" not in os.environ:
        REPORT.with_suffix(".count").write_text(json.dumps(COUNT))
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
    seconds: float
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

    def environment(self, mutant: int) -> dict[str, str]:
        """Returns the environment of a run; mutant 0 is the original."""
        return {
            **os.environ,
            "TORCHDALI_MUTANT": str(mutant),
            "CI": "1",  # hypothesis draws the same examples in every run
            "PYTHONPATH": os.pathsep.join([str(self.copy), str(self.folder)]),
            "MUTANTS_REPORT": str(self.folder / "report.jsonl"),
            "MUTANTS_LEFT_OUT": str(self.folder / "left_out.json"),
        }

    def run(
        self,
        mutant: int,
        paths: Sequence[str],
        left_out: Sequence[str],
        *,
        first: bool = True,
        jobs: int | None = None,
        ignored: Sequence[str] = (),
    ) -> Outcome:
        """Runs tests.

        Args:
            mutant: its number.
            paths: of test files or tests; none: all.
            left_out: tests that are not run.
            first: stop at the first failure.
            jobs: processes, 0: none but the one; None: as many as usual.
            ignored: test files that are not run.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "mutants_plugin.py").write_text(PLUGIN)
        (self.folder / "left_out.json").write_text(json.dumps(list(left_out)))
        report = self.folder / "report.jsonl"
        report.write_text("")
        report.with_suffix(".count").unlink(missing_ok=True)
        command = [self.python, "-m", "pytest", "-q", "-p", "mutants_plugin", "-m", "not cuda"]
        command += ["-p", "no:cacheprovider", f"--timeout={self.timeout}"]
        command += ["--timeout-method=thread", "-n", str(self.jobs if jobs is None else jobs)]
        command += ["-x"] if first else []
        command += [f"--ignore={path}" for path in ignored]
        start = time.monotonic()
        status, hung = self._watched([*command, *paths], mutant)
        failures = [Failure(**json.loads(line)) for line in report.read_text().splitlines()]
        count_file = report.with_suffix(".count")
        count = json.loads(count_file.read_text()) if count_file.exists() else {}
        return Outcome(status, hung, time.monotonic() - start, failures, count)

    def _watched(self, command: Sequence[str], mutant: int) -> tuple[int, bool]:
        """Runs a command; ends it where it prints nothing for long, or takes too long."""
        log = self.folder / "pytest.log"
        stall = 2 * self.timeout + 120
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.copy,
                env=self.environment(mutant),
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
