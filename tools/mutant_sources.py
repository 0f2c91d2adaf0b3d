# SPDX-License-Identifier: Apache-2.0
"""Finds the places of mutants in a checkout, and writes sources in which each can be switched on.

They read ``(mutant(7) ? mutated : original)``, so one build serves all mutants. In the environment,
TORCHDALI_MUTANT chooses one. TORCHDALI_MUTANTS_REACHED names a file of 4096 bytes, of which byte 7
becomes 1 when the code of mutant 7 runs, in any process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = "core/mutant_switch.h"
# What a file with a mutant includes, from csrc/.
HEADER_TEXT = """\
// Made by tools/mutants.py: the fault that this process has, 0 for none.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace torchdali {
inline const int chosen_mutant = [] {
  const char* text = std::getenv("TORCHDALI_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}();
inline bool* const reached_mutants = [] {
  static bool unused[4096];
  const char* path = std::getenv("TORCHDALI_MUTANTS_REACHED");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return unused;
  void* memory = ::mmap(nullptr, sizeof(unused), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? unused : static_cast<bool*>(memory);
}();
constexpr bool mutant(int number) {
  if (__builtin_is_constant_evaluated()) return false;
  reached_mutants[number] = true;
  return chosen_mutant == number;
}
}  // namespace torchdali
"""
MODULE = "torchdali/_mutant_switch.py"
# The same for Python.
MODULE_TEXT = """\
# Made by tools/mutants.py: the fault that this process has, 0 for none.
import mmap
import os

_chosen = int(os.environ.get("TORCHDALI_MUTANT") or 0)
_reached = bytearray(4096)
try:
    _file = os.open(os.environ["TORCHDALI_MUTANTS_REACHED"], os.O_RDWR)
    try:
        _reached = mmap.mmap(_file, 4096)
    finally:
        os.close(_file)
except (KeyError, OSError):
    pass


def on(number):
    _reached[number] = 1
    return number == _chosen
"""
# White space and comments, of C++ and of Python.
GAP = r"(?:\s|//[^\n]*\n|\#[^\n]*\n)*"


@dataclass(frozen=True)
class Mutant:
    """A small fault.

    Args:
        number: its identity, which never changes.
        area: the part of the project.
        code: a piece of the source with the change in it: ``f([[a < b => a <= b]])`` for an
            expression, ``[[done.notify_all() ~> ]]`` for a statement that is left out. White space
            and comments between tokens do not matter. The piece is searched for in the whole tree,
            where it has to occur exactly once; so it should be short, and a part of code
            that stays the same when it moves to another file.
        note: what goes wrong.
        tests: patterns of names of test files (or of folder/name) that should notice, in one text.
        alternates: other forms of `code`, for trees in which the first does not occur.
    """

    number: int
    area: str
    code: str
    note: str
    tests: str
    alternates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """Where a mutant is: a part of a file, and what replaces it."""

    path: Path
    begin: int
    end: int
    replacement: str


class NotApplicableError(Exception):
    """A mutant whose code does not occur exactly once."""


def parse(code: str) -> tuple[str, str, str, str, bool]:
    """Returns the text before, the original, the mutation, the text after; whether a statement.

    Raises:
        ValueError: there is no change in it.
    """
    before, _, rest = code.partition("[[")
    change, _, after = rest.rpartition("]]")
    for arrow in (" => ", " ~> "):
        original, found, mutated = change.partition(arrow)
        if found:
            return before, original.strip(), mutated.strip(), after, arrow == " ~> "
    raise ValueError(f"no change in {code!r}")


def _pattern(text: str) -> str:
    """Returns a regular expression for code with any white space between its tokens."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    return GAP.join(re.escape(token) for token in tokens)


def _switched(number: int, original: str, mutated: str, statement: bool, python: bool) -> str:
    if python:
        # No import at the top: it would need a place after the docstring and __future__.
        chosen = f"__import__('torchdali._mutant_switch', fromlist=['on']).on({number})"
        return f"({mutated or None} if {chosen} else {original})"
    if statement:
        original, mutated = f"(void)({original})", f"(void)({mutated or 0})"
    return f"(::torchdali::mutant({number}) ? ({mutated}) : ({original}))"


def sources(tree: Path) -> Iterator[Path]:
    """Yields the files in which mutants may stand."""
    for folder, patterns in (("csrc", ("*.h", "*.cpp")), ("torchdali", ("*.py",))):
        for pattern in patterns:
            yield from sorted((tree / folder).rglob(pattern))


def _find(code: str, number: int, texts: dict[Path, str]) -> list[Site]:
    before, original, mutated, after, statement = parse(code)
    parts = [_pattern(part) for part in (before, original, after)]
    # The change is the second group; a gap stands only where there is something on both sides.
    pattern = f"({parts[0]}){GAP}({parts[1]}){GAP}({parts[2]})"
    found = []
    for path, text in texts.items():
        python = path.suffix == ".py"
        for match in re.finditer(pattern, text):
            replacement = _switched(number, match[2], mutated, statement, python)
            found.append(Site(path, match.start(2), match.end(2), replacement))
    return found


def locate(mutant: Mutant, texts: dict[Path, str]) -> Site:
    """Returns where a mutant stands.

    Raises:
        NotApplicableError: nowhere, or in several places.
    """
    counts = []
    for code in (mutant.code, *mutant.alternates):
        found = _find(code, mutant.number, texts)
        if len(found) == 1:
            return found[0]
        counts.append(len(found))
    raise NotApplicableError(f"its code occurs {' and '.join(map(str, counts))} times")


def locate_all(
    tree: Path, mutants: list[Mutant]
) -> tuple[dict[int, Site], dict[int, str], dict[Path, str]]:
    """Returns the places of the mutants that apply, why others do not, and the texts of files."""
    texts = {path: path.read_text() for path in sources(tree)}
    sites: dict[int, Site] = {}
    missing: dict[int, str] = {}
    for mutant in mutants:
        try:
            sites[mutant.number] = locate(mutant, texts)
        except NotApplicableError as error:
            missing[mutant.number] = str(error)
    return sites, missing, texts


def changed_texts(sites: dict[int, Site], texts: dict[Path, str]) -> dict[Path, str]:
    """Returns the texts of the files in which mutants stand, with their switches."""
    changed: dict[Path, str] = {}
    for site in sorted(sites.values(), key=lambda s: s.begin, reverse=True):
        text = changed.get(site.path, texts[site.path])
        changed[site.path] = text[: site.begin] + site.replacement + text[site.end :]
    for path, text in changed.items():
        if path.suffix != ".py":
            changed[path] = f'#include "{HEADER}"\n{text}'
    return changed
