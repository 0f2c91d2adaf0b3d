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

TESTS = Path(__file__).parents[1]
OPERATORS = fuzz.operators()
CHUNKS = 4  # processes; a crash costs the operators behind it in its chunk


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_uses_work_or_raise_errors_of_ours(chunk, tmp_path):
    names = OPERATORS[chunk::CHUNKS]
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


def test_every_operator_without_effects_outside_is_driven():
    left_out = set(fuzz.registry()) - set(OPERATORS)
    sources = {name for name, schema in fuzz.registry().items() if schema.source}
    assert left_out == sources | (fuzz.LEFT_OUT & set(fuzz.registry()))


def test_a_use_that_does_not_end_is_ended_and_shown(tmp_path):
    program = "from helpers import fuzz; fuzz.Use.run = lambda use: __import__('time').sleep(60);"
    program += "fuzz.main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--operators", "copy", "--timeout", "0.2"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode != 0
    assert "Timeout" in done.stderr
    assert (tmp_path / "fuzz.log").read_text().startswith("copy(")
