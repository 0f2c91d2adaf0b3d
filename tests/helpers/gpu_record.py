# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: ``--gpu-record FILE`` notes which operators passed their tests on a GPU.

An operator is recorded if at least one of its tests ran on the GPU and none of them failed. Its
tests are those of test_gpu_matches_cpu.py, and those marked ``on_gpu`` with its name. The run must
include all tests marked ``cuda``, as `make test-gpu` does.

With ``--collect-only`` it notes what would run. That is how a run of an earlier commit is noted, of
which it is known that all tests passed: ``--gpu-record-run`` then holds, as JSON, what the machine
would have told.
"""

from __future__ import annotations

import collections
import datetime
import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from tools.docs.gpu_record import Record
from tools.gpu_kernels import fingerprint

_PROPERTY = "on_gpu"
_OK, _TESTS_FAILED = 0, 1


def operators_of(item: Any) -> list[str]:
    """Returns the operators that a collected test runs on the GPU; none where it uses the CPU."""
    if item.get_closest_marker("cuda") is None:
        return []
    marked = [name for mark in item.iter_markers("on_gpu") for name in mark.args]
    if item.path.name != "test_gpu_matches_cpu.py":
        return marked
    values = getattr(item, "callspec", None)
    given = values.params if values else {}
    return [*marked, given["op"]] if "op" in given else marked


class Notes:
    """Counts tests of operators; on the process that reports, whatever runs them."""

    def __init__(self, path: Path, run: str | None) -> None:
        self.path = path
        self.run = run
        self.passed: collections.Counter[str] = collections.Counter()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        names = [name for key, name in report.user_properties if key == _PROPERTY]
        if report.failed:
            self.failed.update(names)
        elif report.when == "call" and report.passed:
            self.passed.update(names)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            for item in session.items:
                self.passed.update(operators_of(item))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (_OK, _TESTS_FAILED) or not self.passed:
            return
        root = session.config.rootpath
        record = Record(
            kernels=fingerprint(root / "csrc"),
            operators={n: self.passed[n] for n in sorted(self.passed) if n not in self.failed},
            **(json.loads(self.run) if self.run else this_run(root)),
        )
        record.write(self.path)


def this_run(root: Path) -> dict[str, str]:
    """Returns where and when this process runs. TORCHDALI_COMMIT is for trees without .git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--match="]
    commit = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return {
        "how": "make test-gpu",
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "commit": os.environ.get("TORCHDALI_COMMIT") or commit.stdout.strip(),
    }


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpu")
    group.addoption("--gpu-record", type=Path, metavar="FILE", help="note what ran on the GPU")
    group.addoption(
        "--gpu-record-run", metavar="JSON", help="facts of a run that is only collected"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "on_gpu(*names): runs these operators on the GPU, if `cuda`")
    path = config.getoption("--gpu-record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes(path, config.getoption("--gpu-record-run")))


def pytest_collection_modifyitems(items: Iterable[Any]) -> None:
    for item in items:
        item.user_properties += [(_PROPERTY, name) for name in operators_of(item)]
