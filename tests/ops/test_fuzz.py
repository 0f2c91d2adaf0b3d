# SPDX-License-Identifier: Apache-2.0
"""Operators driven with random inputs and arguments: docs/design/fuzzing.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hypothesis")
from helpers import fuzz
from helpers.case_files import operators

TESTS = Path(__file__).parents[1]
OPERATORS = fuzz.operators()
FUZZED = [name for name in OPERATORS if name in operators()]
# Each is a process; a crash hides the rest of the operators in its chunk.
CHUNKS = [names for start in range(4) if (names := FUZZED[start::4])]


@pytest.mark.slow
@pytest.mark.parametrize("names", CHUNKS or [()], ids=lambda names: f"{len(names)} operators")
def test_random_uses_work_or_raise_torchdali_errors(names, tmp_path):
    if not names:
        pytest.skip("no operator of --op is driven")
    done = subprocess.run(
        [sys.executable, "-m", "helpers.fuzz", "--examples", "25", "--operators", *names],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    log = tmp_path / "fuzz.log"
    use = log.read_text().strip() if log.exists() else "no use was run"
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nthe last use: {use}"
    assert len(done.stdout.splitlines()) >= len(names)
