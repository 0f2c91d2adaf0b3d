# SPDX-License-Identifier: Apache-2.0
"""The pages: length of README, links, make targets, and code blocks that run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import programs, ray_nodes, videos
from helpers.cases import for_each
from helpers.pages import RUN
from PIL import Image

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    p
    for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("csrc/**/*.md")]
    if not p.name.startswith(".")
)


def test_the_readme_has_at_most_150_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@for_each("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_to_files_are_not_broken(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_make_targets_in_the_pages_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for name in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE):
            assert name in targets, f"{page.name}: make {name}"


def test_the_changelog_has_an_unreleased_section():
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", RUN)
def test_the_code_of_a_page_runs(name, tmp_path):
    if name == "ray.md":
        ray_nodes.require()
    for package in RUN[name]:
        pytest.importorskip(package)
    if name == "video.md":
        videos.require()
    if name == "profiling.md":
        (tmp_path / "photos" / "one").mkdir(parents=True)
        Image.new("RGB", (64, 48), "red").save(tmp_path / "photos" / "one" / "red.jpg")
    text = (ROOT / "docs" / "guide" / name).read_text()
    # Blank lines keep the line numbers, so that a traceback names the line of the page.
    lines, inside = [], False
    for line in text.splitlines():
        fence = line.startswith("```")
        lines.append(line if inside and not fence else "")
        inside = line == "```python" if fence else inside
    (tmp_path / f"{name}.py").write_text("\n".join(lines))
    done = programs.run(f"{name}.py", cwd=tmp_path, env={"OMP_NUM_THREADS": "1"}, timeout=240)
    assert done.returncode == 0, done.stderr
