# SPDX-License-Identifier: Apache-2.0
"""docs/guide/from_dataloader.md: the code before and after the change has the same result."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "from_dataloader.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_there_are_three_examples():
    assert len(BLOCKS) == 6


@pytest.mark.parametrize("number", range(3))
def test_before_and_after_have_the_same_result(number, tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "photos").mkdir()
    random = np.random.default_rng(1)
    for i in range(10):
        pixels = random.integers(0, 255, (40 + i, 50, 3), np.uint8)
        image.fromarray(pixels).save(tmp_path / "photos" / f"{i}.jpg")
    monkeypatch.chdir(tmp_path)
    state = torch.get_rng_state()
    results = []
    for block in BLOCKS[2 * number : 2 * number + 2]:
        namespace = {"__name__": "example"}
        exec(compile(block, str(PAGE), "exec"), namespace)
        results.append(namespace["result"])
    torch.set_rng_state(state)
    monkeypatch.undo()
    assert results[0] == results[1]
