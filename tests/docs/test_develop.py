# SPDX-License-Identifier: Apache-2.0
"""The pages for developers: their examples, in a copy of the checkout, build and pass tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.checkout import Checkout

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "develop"
# The path of a file in backquotes, and after an empty line its text.
FILE = re.compile(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(checkout: Checkout, page: str) -> None:
    """Writes the files of a page, and applies its diffs."""
    text = (PAGES / page).read_text()
    for name, content in FILE.findall(text):
        path = checkout.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    for diff in DIFF.findall(text):
        checkout.run("git", "apply", "--recount", "-", text=diff)


def test_the_operator_its_gpu_half_and_the_reader_pass_all_suites(tmp_path):
    checkout = Checkout(tmp_path)
    follow(checkout, "add_an_operator.md")
    follow(checkout, "add_a_reader.md")
    checkout.build()
    assert passed(checkout.test("--op", "solarize", "--op", "readers.records")) > 10
    follow(checkout, "add_a_gpu_half.md")
    checkout.build()
    assert passed(checkout.test("--op", "solarize")) > 10
    assert passed(checkout.test("tests/gpu", "--op", "solarize")) >= 1


def test_the_argument_of_dataloader_passes_its_tests(tmp_path):
    checkout = Checkout(tmp_path)
    follow(checkout, "add_a_loader_argument.md")
    checkout.link_engine()
    file = "tests/loader/dataset/test_channels_last.py"
    options = "tests/loader/dataset/test_options.py"
    assert passed(checkout.test(file, options)) > 5


def passed(printed: str) -> int:
    """Returns how many tests passed."""
    match = re.search(r"(\d+) passed", printed)
    assert match, printed
    return int(match[1])
