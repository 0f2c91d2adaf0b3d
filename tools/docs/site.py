# SPDX-License-Identifier: Apache-2.0
"""The hooks of mkdocs.yml: pages of the repository outside of docs/, folders in `nav`, the version.

The Markdown files are written for readers of the repository, so some link to files outside of
docs/. These become pages of the site: Markdown as it is, other files as code, folders as lists of
their files.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tools.docs import notebooks

__all__ = ["Site", "expand", "on_config", "on_files", "on_page_markdown"]

ROOT = Path(__file__).resolve().parents[2]
# Pages of the repository and their names on the site. Other files are found by the links to them.
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "overview.md",
    "csrc/README.md": "engine.md",
}
LANGUAGES = {".cpp": "cpp", ".cu": "cpp", ".h": "cpp", ".py": "python", ".toml": "toml"}
LANGUAGES |= {".json": "json", ".pyi": "python", ".sh": "bash", ".yaml": "yaml"}
_CODE = re.compile(r"^(```+)[^\n]*\n.*?^\1[^\n]*$|``[^\n]*?``|`[^`\n]*`", re.DOTALL | re.MULTILINE)
# Words after the language of a block of code, which are for the tests.
_WORDS = re.compile(r"^(```+\w+) [^\n]*$", re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?[^)\n]*\))")


def _outside_code(text: str, change: Any) -> str:
    """Returns a text in which `change` has replaced the parts that are not code."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def links(text: str) -> list[str]:
    """Returns the targets of the links of a Markdown text, without anchors and other sites."""
    found: list[str] = []

    def collect(part: str) -> str:
        found.extend(match[2] for match in _LINK.finditer(part) if "://" not in match[2])
        return part

    _outside_code(text, collect)
    return found


class Site:
    """Which file of the repository is which page.

    Args:
        root: the repository.
    """

    def __init__(self, root: Path):
        self._root = root
        self.pages: dict[str, str] = {}  # path in the repository -> page
        self.texts: dict[str, str] = {}  # page -> Markdown, of pages outside of docs/
        for path in sorted((root / "docs").rglob("*.md")):
            self._add_links(path.relative_to(root).as_posix(), path.read_text())
        for path in sorted((root / "docs").rglob("*.ipynb")):
            self._add_links(path.relative_to(root).as_posix(), _text(path))
        for name in PAGES:
            self._add(name)

    def source(self, page: str) -> str:
        """Returns the path in the repository of a page."""
        return next((path for path, p in self.pages.items() if p == page), f"docs/{page}")

    def page(self, path: str) -> str | None:
        """Returns the page (or image) of a path in the repository, or None if it has none."""
        if not path.startswith("docs/"):
            return self.pages.get(path)
        if (self._root / path).is_dir():
            path += "/README.md"
        if not (self._root / path).exists():
            return None
        return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))

    def rewrite(self, text: str, page: str) -> str:
        """Returns the text of a page with links that are valid on the site."""
        folder = posixpath.dirname(self.source(page))

        def change(match: re.Match[str]) -> str:
            if "://" in match[2]:
                return match[0]
            target = self.page(posixpath.normpath(posixpath.join(folder, match[2])))
            if target is None:  # mkdocs says that it is broken
                return match[0]
            relative = posixpath.relpath(target, posixpath.dirname(page) or ".")
            return f"{match[1]}{relative}{match[3]}"

        return _outside_code(text, lambda part: _LINK.sub(change, part))

    def _add_links(self, source: str, text: str) -> None:
        for target in links(text):
            self._add(posixpath.normpath(posixpath.join(posixpath.dirname(source), target)))

    def _add(self, name: str) -> None:
        """Adds the page of a file or folder that is not in docs/, and of those that it links to."""
        path = self._root / name
        if name in self.pages or name.startswith(("docs/", "..")) or not path.exists():
            return
        page = PAGES.get(name, f"code/{name}.md")
        self.pages[name] = page
        if path.is_dir():
            files = [p.relative_to(path).as_posix() for p in _files(path)]
            listed = [f"- [`{file}`]({path.name}/{file})" for file in files]
            # Links of a page start at the folder of its source, which is that of the folder.
            self.texts[page] = "\n".join([f"# `{name}`", "", *listed, ""])
            for file in files:
                self._add(f"{name}/{file}")
        elif path.suffix == ".md":
            self.texts[page] = path.read_text()
            self._add_links(name, self.texts[page])
        else:
            language = LANGUAGES.get(path.suffix, "text")
            code = path.read_text().rstrip("\n")
            self.texts[page] = f"# `{name}`\n\n````{language}\n{code}\n````\n"


def _files(folder: Path) -> Iterator[Path]:
    """Yields the sources in a folder, without what builds and hidden files leave."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        made = any(p.startswith((".", "__pycache__")) or p.endswith(".egg-info") for p in parts)
        made |= "build" in parts or path.suffix == ".so"
        if path.is_file() and path.stat().st_size and not made:
            yield path


def _named(entries: list[Any]) -> Iterator[str]:
    """Yields the pages in the entries of `nav`."""
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, str):
            yield value
        else:
            yield from _named(value)


def _text(path: Path) -> str:
    """Returns a page in Markdown; of a notebook its text without code."""
    text = path.read_text()
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def _heading(path: Path) -> str:
    found = re.search(r"^# (.*)$", path.read_text(), re.MULTILINE)
    return found[1] if found else path.stem


def expand(entries: list[Any], docs: Path) -> list[Any]:
    """Returns `nav` with the pages of folders in the places of entries that end in "/"."""
    taken = set(_named(entries))

    def pages(folder: str) -> list[Any]:
        inner = tuple(name for name in taken if name.endswith("/") and name[:-1].startswith(folder))
        found = sorted((docs / folder).rglob("*.md"), key=lambda path: _heading(path).lower())
        names = [path.relative_to(docs).as_posix() for path in found]
        names = [name for name in names if name not in taken and not name.startswith(inner)]
        index = [name for name in names if name == f"{folder}README.md"]
        others = [name for name in names if name not in index]
        titles = [_heading(docs / name).removeprefix("torchdali.") for name in others]
        return [*index, *({title: name} for title, name in zip(titles, others, strict=True))]

    def one(entry: Any) -> list[Any]:
        if isinstance(entry, str):
            return pages(entry) if entry.endswith("/") else [entry]
        ((title, value),) = entry.items()
        return [{title: value if isinstance(value, str) else all_of(value)}]

    def all_of(some: list[Any]) -> list[Any]:
        return [new for entry in some for new in one(entry)]

    return all_of(entries)


_site: list[Site] = []  # of the build that runs


def on_config(config: Any) -> Any:
    """Adds the version and the contents of folders.

    A site that mike builds, as one of several versions, has a list of them at its head instead.
    """
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    if "MIKE_DOCS_VERSION" in os.environ:
        config.extra["version"] = {"provider": "mike"}
    else:
        config.site_name = f"{config.site_name} {version[1]}"
    config.nav = expand(config.nav, ROOT / "docs")
    _site[:] = [Site(ROOT)]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are not in docs/."""
    from mkdocs.structure.files import File, InclusionLevel

    for name, text in _site[0].texts.items():
        file = File.generated(config, name, content=text)
        if name.startswith("code/"):  # they are reached by links
            file.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(file)
    return _with_tutorials(files, config)


def _with_tutorials(files: Any, config: Any) -> Any:
    """Executes the notebooks, and adds their pages."""
    from mkdocs.structure.files import File

    paths = notebooks.tutorials()
    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), 4)) as pool:
        executed = pool.map(notebooks.execute, paths)
        for path, notebook in zip(paths, executed, strict=True):
            name = f"tutorials/{path.stem}.md"
            content = f"{notebooks.page(notebook)}\n[This page as a notebook]({path.name})\n"
            files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrites the links of a page."""
    return _WORDS.sub(r"\1", _site[0].rewrite(markdown, page.file.src_uri))
