# SPDX-License-Identifier: Apache-2.0
"""Texts are plain technical English: finds phrases that read like a translation.

The lists are a safety net for phrases that were common here; they do not replace reading. An entry
must not match correct English. If it does, make its pattern more precise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".c", ".cpp", ".cu", ".cuh", ".h", ".md", ".py", ".pyi", ".sh", ".toml", ".yaml"}
SUFFIXES |= {".ipynb"}
FILES = [".ci/run", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "README.md", "csrc/README.md"]
FILES += ["pyproject.toml", "setup.py"]
FOLDERS = ["benchmarks", "csrc", "docs", "examples", "tests", "tools", "torchdali"]


class Phrase(NamedTuple):
    """A phrase to avoid, in lower case.

    Args:
        part: literal text that every match contains; only texts with it are searched.
        pattern: a regular expression for whole words.
        instead: what to write.
    """

    part: str
    pattern: str
    instead: str


def exactly(instead: str, *texts: str) -> list[Phrase]:
    return [Phrase(text, re.escape(text), instead) for text in texts]


PLACE = r"(?:in(?! for)|beside|before|behind|between|next to|on|right|where)"
NOUN = r"(?:condition|copy|decoder|operator|iteration|batch|stage|point|error|sample)"
VERB = r"(?:asks|asked|cares|has|holds|knows|looks|needs|reads|sees|uses|waits|wants)"
THING = r"(?:batch|class|core|file|line|peer|pipeline|result|row|sample|thread|worker)"
PHRASES = [
    # Order, time and place.
    Phrase("behind", r"behind (?:it|them|that|which|this|--)", '"after"'),
    Phrase("behind", r"behind (?:the|an?) (?:\w+ )?(?:end|last|first|one|others?)", '"after"'),
    Phrase("behind", rf"behind (?:the|an?) (?:\w+ )?{NOUN}", '"after"'),
    Phrase("behind", r"behind (?:each other|one another)", '"one after the other"'),
    Phrase(" stands ", rf"stands {PLACE}", '"is in", "is next to"'),
    Phrase(" stand ", rf"stand {PLACE}", '"are in", "are next to"'),
    Phrase(" lies ", rf"lies {PLACE}", '"is"'),
    Phrase(" lie ", rf"lie {PLACE}", '"are"'),
    Phrase("in hand", r"(?:batch|call|image|job|row|sample|task|use) in hand", '"current"'),
    *exactly('"instead of", "replaces"', "in the place of"),
    # Conditions and existence.
    Phrase("where there", r"where there (?:is|are|was|were) none", '"if there is none"'),
    *exactly('"does not exist"', "none is there", "none are there"),
    *exactly('"is out of range", "is not one of the"', "is none of the"),
    *exactly("name the things", "what there is", "what is there"),
    *exactly('"existing", "installed"', "that is there", "that are there"),
    *exactly('"already exists"', "is there already", "are there already"),
    *exactly('"available", or a number', "there is.", "there is;", "there are.", "there are;"),
    *exactly('"available"', "to be had"),
    Phrase("has not", r"has not[.,;:)]", '"does not have"'),
    *exactly('"this many"', "so many in"),
    *exactly('"different from"', "others than"),
    # Verbs for persons.
    Phrase("nobody ", rf"nobody (?:else )?{VERB}", '"nothing", "unused", "unknown"'),
    *exactly('"by running"', "by asking dali", "by asking it", "by asking libjpeg"),
    *exactly('"trusted"', "is believed", "are believed", "not believed"),
    Phrase("tself", r"puts? itself", "say what happens"),
    *exactly('"counterpart"', "cpu twin", "cpu twins", "gpu twin", "gpu twins"),
    # Other verbs.
    Phrase(" against", r"(?:held|holds?|holding) (?:\w+ ){0,3}against", '"checks against"'),
    *exactly('"tolerated"', "is borne", "are borne"),
    Phrase(" hangs on", r"(?:result|value|output|order|it) hangs on", '"depends on"'),
    *exactly('"release"', "let go of", "lets go of"),
    Phrase("deal", r"(?:deals?|dealt|dealing) out", '"distribute", "split"'),
    *exactly('"fed data"', "what is fed", "what was fed"),
    *exactly('"interrupted"', "broken off"),
    *exactly('"fixed"', "mended"),
    # Others.
    *exactly('"bit-identical", "exactly"', "to the bit", "to the last bit"),
    *exactly('"byte-identical"', "the same to the byte"),
    *exactly('"unchanged"', "as it was given", "as they were given"),
    Phrase(
        "that it ", r"the \w+ that it (?:is|was) (?:built|compiled|made)", '"the ... it was ..."'
    ),
    Phrase("one a", rf"one an? {THING}", '"one per"'),
    *exactly('"for any number of"', "whatever the number of"),
    *exactly('"forever"', "for ever"),
    *exactly('"workers", "worker pool"', "crew", "crews"),
]
# British stems and their American forms. Names in code, between backticks, are accepted.
SPELLINGS = {
    "behaviour": "behavior",
    "centre": "center",
    "centring": "centering",
    "colour": "color",
    "favour": "favor",
    "grey": "gray",
    "initialis": "initializ",
    "licence": "license",
    "neighbour": "neighbor",
    "normalis": "normaliz",
    "optimisa": "optimiza",
    "optimise": "optimize",
    "optimisi": "optimizi",
    "quantis": "quantiz",
    "randomis": "randomiz",
    "recognis": "recogniz",
    "serialis": "serializ",
    "synchronis": "synchroniz",
}
SPELLING = [
    Phrase(british, rf"(?<!`)(?:de|re|un)?{british}\w*(?!`)", f'"{american}..."')
    for british, american in SPELLINGS.items()
]
# Between two words: spaces, or a line break with the start of the next line of a comment.
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:[#>*]+|//+)?[ \t]*)"


def texts() -> Iterator[Path]:
    yield from (ROOT / name for name in FILES)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path != Path(__file__):
                yield path


def text_of(path: Path) -> str:
    """Returns the text of a file; of a notebook what its cells contain."""
    text = path.read_text()
    if path.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


def find(text: str, phrases: Iterable[Phrase]) -> Iterator[str]:
    """Yields line number, phrase and suggestion for each match."""
    words = f" {' '.join(text.lower().split())} ".replace(" // ", " ").replace(" # ", " ")
    for part, pattern, instead in phrases:
        if part in words and re.search(rf"\b{pattern}(?!\w)", words):
            wrapped = re.sub(r"\\? ", lambda _: GAP, pattern)
            for match in re.finditer(rf"\b{wrapped}(?!\w)", text, re.IGNORECASE):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{line}: {' '.join(match[0].split())!r}: write {instead}"


@pytest.mark.parametrize("phrases", [PHRASES, SPELLING], ids=["phrases", "spelling"])
def test_texts_are_plain_english(phrases):
    found = [
        f"{path.relative_to(ROOT)}:{finding}"
        for path in texts()
        for finding in find(text_of(path), phrases)
    ]
    assert not found, "\n" + "\n".join(found)


def test_a_phrase_is_found_across_lines():
    text = "First line.\n    # Results are the same to\n    # the bit, and to a bit field.\n"
    (finding,) = find(text, PHRASES)
    assert finding == '2: \'to # the bit\': write "bit-identical", "exactly"'


def test_correct_english_is_accepted():
    text = "A crash leaves nothing behind. It stands in for DALI. The `colour` is there, forever."
    assert not list(find(text, [*PHRASES, *SPELLING]))
