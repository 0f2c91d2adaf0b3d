# SPDX-License-Identifier: Apache-2.0
"""Every public name is in the reference, and docstrings become Markdown."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from helpers.cases import check_each

from tools.docs import docstrings, modules
from torchdali._engine.schema import registry

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, REFERENCE = ROOT / "torchdali", ROOT / "docs" / "reference"


def public() -> dict[str, Path]:
    """Returns all modules without a leading underscore, and their files."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and not any(part.startswith("_") for part in parts):
            found[".".join(parts)] = path
    return found


def names(module: str, path: Path) -> list[str]:
    """Returns ``__all__``. Literal ones are read; others belong to modules that make names."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            target = getattr(statement, "target", None) or statement.targets[0]
            if isinstance(target, ast.Name) and target.id == "__all__":
                try:
                    return list(ast.literal_eval(statement.value))
                except ValueError:
                    return list(importlib.import_module(f"torchdali.{module}").__all__)
    raise AssertionError(f"torchdali.{module} has no __all__")


def pages() -> dict[str, str]:
    return {p.relative_to(REFERENCE).as_posix(): p.read_text() for p in REFERENCE.rglob("*.md")}


def missing(found: dict[str, str]) -> list[str]:
    """Returns the public names without an entry: a heading, or a row of a table of constants."""
    headings = {
        heading for text in found.values() for heading in re.findall(r"^## (\w+)$", text, re.M)
    }
    rows = {
        row for text in found.values() for row in re.findall(r"^\| `(?:types\.)?(\w+)`", text, re.M)
    }
    operators = {schema.path[-1] for schema in registry().values()}
    titles = {re.search(r"^# torchdali\.?([\w.]*)$", text, re.M) for text in found.values()}
    described = {title[1] for title in titles if title}
    absent = []
    for module, path in public().items():
        if module in modules.INTERNAL:
            continue
        for name in names(module, path):
            inner = {f"{module}.{name}", name}
            if not (
                inner & (described | public().keys())
                or name in headings | rows | operators
                or name == "__version__"
            ):
                absent.append(f"torchdali.{module}.{name}")
    return absent


def test_every_public_name_is_in_the_reference():
    assert not missing(pages()), "give it a docstring, and run `make generate`"


def test_a_name_without_an_entry_is_found():
    found = pages()
    found["loader.md"] = found["loader.md"].replace("## ShuffleWindow", "## Other")
    assert missing(found) == [
        "torchdali.loader.ShuffleWindow",
        "torchdali.loader.shuffle_window.ShuffleWindow",
    ]
    del found["lightning.md"]
    assert "torchdali.lightning.DataModule" in missing(found)


def test_internal_modules_exist():
    assert modules.INTERNAL.keys() <= public().keys()


def test_entries_have_a_text():
    def check(page: str) -> None:
        text = (REFERENCE / page).read_text()
        for entry in re.split(r"^##+ ", text, flags=re.M)[1:]:
            rest = re.sub(r"```python\n.*?```", "", entry.partition("\n")[2], flags=re.S)
            assert rest.strip(), f"{entry.partition(chr(10))[0]} has no docstring"

    check_each(sorted(page for page in pages() if not page.startswith("fn/")), check)


def example(sizes, *, rate=1.0):
    """Adds ``b`` to a ** 2, a * b and *args; see docs/guide/audio.md.

    Use it like this::

        example([1], rate=2.0)

    Args:
        sizes: widths <w>, and
            heights.

            More about them.
        rate, other: samples per second.

    Returns:
        A number.
    """


def test_docstrings_become_markdown():
    assert docstrings.markdown(inspect.cleandoc(example.__doc__), "../") == "\n\n".join(
        [
            r"Adds `b` to a ** 2, a * b and \*args; see [Audio](../guide/audio.md).",
            "Use it like this:",
            "```python\nexample([1], rate=2.0)\n```",
            "**Args:**",
            "- `sizes`: widths \\<w>, and\n  heights.\n\n    More about them.\n"
            "- `rate`, `other`: samples per second.",
            "**Returns:** A number.",
        ]
    )


@pytest.mark.parametrize(
    ("doc", "first"),
    [
        ("Reads a file. Then more.\n\nArgs:", "Reads a file."),
        ("Reads `a.b`, in one\nline: yes.", "Reads `a.b`, in one line: yes."),
    ],
)
def test_summaries_are_first_sentences(doc, first):
    assert docstrings.summary(doc) == first
