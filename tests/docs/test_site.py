# SPDX-License-Identifier: Apache-2.0
"""The documentation site: links, navigation, and the programs that its front page leads to.

`make site` builds it and checks every link.
"""

from __future__ import annotations

import posixpath
import re
import types
from pathlib import Path

import pytest
from helpers.pages import RUN

from tools.docs import site
from tools.docs.site import Site, expand, links, on_config, on_page_markdown

ROOT = Path(__file__).resolve().parents[2]
# Programs on these pages run in other tests.
ELSEWHERE = {
    "from_torchvision.md": "test_from_torchvision.py",
    "your_operators.md": "test_your_operators.py",
}


@pytest.fixture
def repository(tmp_path):
    files = {
        "README.md": "See [the guide](docs/guide/a.md#one) and [`x`](docs/design).\n",
        "docs/index.md": "# Home\n",
        "docs/guide/a.md": "# A\n\n"
        "[code](../../examples/run.py), [all](../../examples), `[no](x)`\n"
        "```python no-run\n[no](../../examples/run.py)\n```\n[home](../../README.md#top)\n",
        "docs/design/README.md": "# Design\n",
        "docs/design/b.md": "# zeta\n",
        "docs/design/c.md": "# Alpha\n",
        "examples/run.py": "print(1)\n",
        "examples/.hidden": "no\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_site_of_several_versions_has_a_list_of_them_instead_of_a_name(monkeypatch):
    def config():
        return on_config(types.SimpleNamespace(site_name="torchdali", extra={}, nav=[]))

    assert re.fullmatch(r"torchdali \d+\.\d+\.\d+", config().site_name)
    assert config().extra == {}
    monkeypatch.setenv("MIKE_DOCS_VERSION", "0.1")
    assert (config().site_name, config().extra["version"]) == ("torchdali", {"provider": "mike"})


def test_links_that_leave_the_folder_lead_to_pages_of_the_site(repository):
    made = Site(repository)
    text = made.rewrite((repository / "docs/guide/a.md").read_text(), "guide/a.md")
    assert "[code](../code/examples/run.py.md), [all](../code/examples.md), `[no](x)`" in text
    assert "[home](../overview.md#top)" in text
    assert "\n[no](../../examples/run.py)\n" in text
    assert made.texts["code/examples/run.py.md"].endswith("````python\nprint(1)\n````\n")
    folder = made.rewrite(made.texts["code/examples.md"], "code/examples.md")
    assert "[`run.py`](examples/run.py.md)" in folder
    assert "hidden" not in folder
    home = made.rewrite(made.texts["overview.md"], "overview.md")
    assert home == "See [the guide](guide/a.md#one) and [`x`](design/README.md).\n"


def test_words_for_tests_are_not_on_the_site(repository, monkeypatch):
    monkeypatch.setattr(site, "_site", [Site(repository)])

    class Page:
        class file:
            src_uri = "guide/a.md"

    assert "\n```python\n" in on_page_markdown((repository / "docs/guide/a.md").read_text(), Page)


def test_folders_in_the_navigation_are_expanded(repository):
    given = [{"Start": ["index.md"]}, {"Design": ["design/"]}, {"All": ["guide/a.md", "guide/"]}]
    assert expand(given, repository / "docs") == [
        {"Start": ["index.md"]},
        {"Design": ["design/README.md", {"Alpha": "design/c.md"}, {"zeta": "design/b.md"}]},
        {"All": ["guide/a.md"]},
    ]


def pages_of_the_table() -> list[str]:
    text = (ROOT / "docs" / "index.md").read_text()
    table = text.partition("| I have |")[2].partition("\n\n")[0]
    return [posixpath.basename(target) for target in links(table)]


def test_the_front_page_begins_with_the_loader():
    text = (ROOT / "docs" / "index.md").read_text()
    first = text.partition("```python no-run\n")[2].partition("```")[0]
    assert len([line for line in first.splitlines() if line.strip()]) == 3
    assert first.startswith("from torchdali import DataLoader")


@pytest.mark.parametrize("name", pages_of_the_table())
def test_the_pages_of_the_table_begin_with_a_program_that_runs(name):
    text = (ROOT / "docs" / "guide" / name).read_text()
    kinds = re.findall(r"^```(.+)$", text, re.M)
    assert kinds[0] in ("python", "python torchvision", "cpp")
    assert text.index(f"```{kinds[0]}") < 2000, "the program is far down"
    assert name in RUN or name in ELSEWHERE
