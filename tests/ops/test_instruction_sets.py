# SPDX-License-Identifier: Apache-2.0
"""Every instruction set gives the same bytes, over all cases of tests/ops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.case_files import all_cases, operators
from helpers.cases import check_each
from helpers.digests import digests

from torchdali._engine.extension import _C

TESTS = Path(__file__).parents[1]
CASES = all_cases()
INSTRUCTION_SETS = ["baseline", "avx2", "avx512"]

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.slow]


def test_every_instruction_set_gives_the_same_bytes():
    in_use = str(_C.instruction_set())
    below = INSTRUCTION_SETS[: INSTRUCTION_SETS.index(in_use)]
    if not below:
        pytest.skip(f"{in_use} is the only instruction set of this machine")
    programs = {
        name: subprocess.Popen(
            [sys.executable, "-m", "helpers.digests", *operators()],
            env={
                **os.environ,
                "TORCHDALI_ISA": name,
                "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in below
    }
    expected = digests(CASES)
    found = {}
    for name, program in programs.items():
        output, errors = program.communicate(timeout=240)
        assert program.returncode == 0, errors
        found[name] = json.loads(output)

    def check(index: int) -> None:
        for name in below:
            assert found[name][index] == expected[index], f"{name} and {in_use} differ"

    check_each(range(len(CASES)), check, name=lambda index: str(CASES[index]))
