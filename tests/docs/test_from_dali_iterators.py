# SPDX-License-Identifier: Apache-2.0
"""docs/guide/from_dali_loops.md: each example gives the same before and after the change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import programs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guide" / "from_dali_loops.md").read_text()
PRELUDE, *BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True))


def test_there_are_three_examples():
    assert len(EXAMPLES) == 3
    assert PAGE.count("\nBefore:") == PAGE.count("\nAfter:") == 3


@pytest.mark.parametrize("number", range(3))
def test_before_and_after_print_the_same(number, tmp_path):
    for name in ("dark", "light"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for index in range(5):
            pixels = bytes([10 * index] * 192)
            (tmp_path / "photos" / name / f"{index}.ppm").write_bytes(b"P6 8 8 255\n" + pixels)
    printed = []
    for which, code in zip(("before", "after"), EXAMPLES[number], strict=True):
        script = tmp_path / f"{which}.py"
        script.write_text(PRELUDE + code)
        done = programs.run(script, cwd=tmp_path, warnings="error")
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1] != ""
