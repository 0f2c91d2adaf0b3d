# SPDX-License-Identifier: Apache-2.0
"""The tutorials: stored without outputs, with links that work, and their cells run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from helpers import videos
from helpers.cases import for_each

from tools.docs import notebooks

TUTORIALS = notebooks.tutorials()
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def cells(path: Path, kind: str) -> list[str]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


@for_each("path", TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_is_stored_without_traces_of_execution(path):
    text = path.read_text(encoding="utf-8")
    assert text == notebooks.cleaned(text), "make format removes outputs and metadata"


@for_each("path", TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_says_what_it_is_about_and_where_to_go_on(path):
    first, *_, last = cells(path, "markdown")
    assert first.startswith("# ")
    assert "At the end you " in first
    assert "**Data:**" in first
    assert "**Needs:**" in first
    assert "## What next" in last
    assert LINK.findall(last)
    if "sklearn" in "".join(cells(path, "code")):
        assert re.search(r"CC BY [24]\.0", first), "the license of the data"
    for target in LINK.findall("\n".join(cells(path, "markdown"))):
        assert "://" in target or (path.parent / target).exists(), f"a broken link: {target}"
    readme = (path.parent / "README.md").read_text()
    assert f"]({path.name})" in readme, "it is not in the list of tutorials"


def test_cleaning_removes_what_execution_adds():
    cell = {"cell_type": "code", "id": "a1", "metadata": {"execution": {}}, "source": "x = 1\n\n"}
    cell |= {"execution_count": 3, "outputs": [{"output_type": "stream", "text": "noise"}]}
    empty = {"cell_type": "code", "metadata": {}, "source": "", "outputs": []}
    info = {"language_info": {"name": "python", "version": "3.11.7"}, "widgets": {}}
    text = notebooks.cleaned(json.dumps({"cells": [cell, empty], "metadata": info}))
    assert "noise" not in text
    assert "3.11" not in text
    assert json.loads(text)["cells"] == [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        | {"source": ["x = 1"]}
    ]
    assert notebooks.cleaned(text) == text


# What the pages must show: pictures, and no traceback or path of a temporary file.
PICTURES = {
    "audio": 2,
    "augmentation": 50,
    "detection": 30,
    "gpu": 10,
    "images": 30,
    "profiling": 2,
    "shards": 16,
    "video": 12,
    "your_operator": 10,
}


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_runs(path):
    for package in ("nbclient", "ipykernel", "sklearn", "PIL"):
        pytest.importorskip(package)
    if path.stem == "video":
        videos.require()
    if path.stem == "your_operator":
        pytest.importorskip("numba")
    page = notebooks.page(notebooks.execute(path))
    assert len(re.findall(r"<img|<svg", page)) >= PICTURES[path.stem]
    assert "ipykernel_" not in page
    if path.stem == "gpu" and "CUDA_VISIBLE_DEVICES" not in os.environ:
        import torch

        assert ("the CPU: it found no GPU" in page) or torch.cuda.is_available()
