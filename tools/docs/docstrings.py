# SPDX-License-Identifier: Apache-2.0
"""Converts docstrings in Google's style to Markdown, for reference pages."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

__all__ = ["markdown", "own", "summary"]

DOCS = Path(__file__).resolve().parents[2] / "docs"
_SECTION = re.compile(r"(Args|Attributes|Examples?|Keyword Args|Notes?|Raises|Returns|Yields):$")
_LISTS = ("Args", "Attributes", "Keyword Args", "Raises")
_ITEM = re.compile(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): ?(.*)")
_CODE = re.compile(r"``.+?``|`[^`]+`")
# What Markdown would take for markup; an asterisk or two between spaces is not.
_MARKUP = re.compile(r"(?<!\S)\*+(?=[^\s*])|(?<=[^\s*])\*+|__|<|\](?=\()")
_PAGE = re.compile(r"\bdocs/([\w/]+\.md)\b")


def own(value: object) -> str:
    """Returns the docstring of an object, or "" if it only has that of a foreign class."""
    if isinstance(value, type):
        return inspect.cleandoc(value.__dict__.get("__doc__") or "")
    foreign = not type(value).__module__.startswith("torchdali")
    found = getattr(value, "__doc__", None)
    return "" if foreign and found == type(value).__doc__ else inspect.cleandoc(found or "")


def summary(doc: str, up: str = "") -> str:
    """Returns the first sentence of a docstring in one line, as Markdown."""
    first = " ".join(doc.split("\n\n")[0].split())
    sentence = re.match(r".*?[^.][.](?= [A-Z`]|$)", first)
    return _text(sentence[0] if sentence else first, up)


def markdown(doc: str, up: str) -> str:
    """Returns a docstring as Markdown.

    Args:
        doc: without indentation.
        up: the path from the page to docs/, such as "../".
    """
    return "\n\n".join(_blocks(doc.splitlines(), up))


def _blocks(lines: list[str], up: str) -> Iterator[str]:
    plain: list[str] = []
    at = 0
    while at < len(lines):
        section = _SECTION.match(lines[at])
        if not section:
            plain.append(lines[at])
            at += 1
            continue
        yield from _paragraphs("\n".join(plain), up)
        plain = []
        end = at + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
            end += 1
        body = textwrap.dedent("\n".join(lines[at + 1 : end])).strip("\n")
        yield from _section(section[1], body, up)
        at = end
    yield from _paragraphs("\n".join(plain), up)


def _section(name: str, body: str, up: str) -> Iterator[str]:
    if name.startswith("Example"):
        yield _code(body)
    elif name not in _LISTS or not _ITEM.match(body):
        first, *rest = list(_paragraphs(body, up)) or [""]
        yield f"**{name}:** {first}"
        yield from rest
    else:
        yield f"**{name}:**"
        yield "\n".join(_items(body, up))


def _items(body: str, up: str) -> Iterator[str]:
    for item in re.split(r"\n(?=\S)", body):
        found = _ITEM.match(item)
        if not found:  # a note about all arguments
            yield f"- {_text(item, up)}"
            continue
        names = ", ".join(f"`{name}`" for name in found[1].split(", "))
        text = found[2] + textwrap.dedent(item[found.end() :])
        blocks = list(_paragraphs(text.strip("\n"), up)) or [""]
        first = blocks[0].replace("\n", "\n  ")
        rest = textwrap.indent("\n\n".join(blocks[1:]), "    ")
        yield f"- {names}: {first}" + (f"\n\n{rest}" if rest else "")


def _paragraphs(text: str, up: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if not block.strip():
            continue
        lines = block.splitlines()
        first_code = next((i for i, line in enumerate(lines) if line.startswith("  ")), len(lines))
        if all(line.startswith("  ") for line in lines):
            yield _code(textwrap.dedent(block))
        elif lines[0].startswith(("- ", "* ")):
            yield "\n".join(_text(line, up) if line else "" for line in lines)
        elif lines[first_code - 1].rstrip().endswith(":") and 0 < first_code < len(lines):
            yield _text("\n".join(lines[:first_code]), up)
            yield _code(textwrap.dedent("\n".join(lines[first_code:])))
        else:
            yield _text(block, up)


def _code(text: str) -> str:
    try:
        ast.parse(text)
        language = "python"
    except SyntaxError:
        language = "pycon" if text.startswith(">>>") else "text"
    return f"```{language}\n{text}\n```"


def _text(text: str, up: str) -> str:
    """Returns a text in which only code between backticks is markup, and pages are links."""
    text = re.sub(r"::$", ":", text)
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts.append(_plain(text[end : code.start()], up))
        parts.append(f"`{code[0].strip('`')}`")
        end = code.end()
    return "".join([*parts, _plain(text[end:], up)])


def _plain(text: str, up: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        if match[0] == "]":  # the parenthesis after it would make a link
            return "]\\"
        return "".join(f"\\{letter}" for letter in match[0])

    def linked(match: re.Match[str]) -> str:
        page = DOCS / match[1]
        if not up or not page.exists():
            return match[0]
        title = page.read_text().partition("# ")[2].partition("\n")[0]
        return f"[{title}]({up}{match[1]})"

    return _PAGE.sub(linked, _MARKUP.sub(escaped, text))
