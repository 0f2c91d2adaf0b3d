# SPDX-License-Identifier: Apache-2.0
"""Drawings of graphs in the language of Graphviz, and pictures by its program."""

from __future__ import annotations

import shutil
import subprocess

from torchdali._graph.drawing import Drawing
from torchdali.errors import PipelineError, UnsupportedError, _make

__all__ = ["dot", "run_graphviz"]

_TIMEOUT_S = 20.0  # a graph of 1,000 nodes takes Graphviz seconds
_COLORS = {"cpu": "lightblue", "mixed": "orange", "gpu": "lightgreen", "": "lightgray"}
_STYLES = {"input": "", "argument": "dashed", "condition": "dotted"}
_SHAPES = {"operator": "", "tensor": "box", "output": "doublecircle"}


def _quoted(text: str) -> str:
    """Returns text as a string of the language that shows exactly it."""
    parts = []
    for letter in text:
        if letter in '"\\':
            parts.append("\\" + letter)
        elif letter == "\n":
            parts.append("\\n")
        elif letter.isprintable():
            parts.append(letter)
        else:  # control characters, and bytes of file names that are no UTF-8
            parts.append(f"\\\\u{ord(letter):04x}")
    return f'"{"".join(parts)}"'


def _label(text: str) -> str:
    """Returns text as a label, in which Graphviz would read `&lt;` as one letter."""
    return _quoted(text.replace("&", "&amp;"))


def dot(drawing: Drawing, *, use_colors: bool) -> str:
    """Returns a drawing in the language of Graphviz.

    Operators are ellipses, outputs of the pipeline double circles. Inputs arrive by solid edges,
    arguments by dashed ones with their names, conditions by dotted ones.
    """
    lines = ["digraph graphname {"]
    for shape in drawing.shapes:
        label = "\n".join(shape.lines)
        attributes = [f"label={_label(label)}"] if shape.kind != "output" else []
        attributes += [f"shape={_SHAPES[shape.kind]}"] if shape.kind != "operator" else []
        attributes += [f"style=filled fillcolor={_COLORS[shape.stage]}"] if use_colors else []
        lines.append(f"  {_quoted(shape.key)} [{' '.join(attributes)}];")
    for arrow in drawing.arrows:
        attributes = [f"label={_label(arrow.text)}"] if arrow.text else []
        style = _STYLES[arrow.kind]
        attributes += [f"style={style}"] if style else []
        shown = f" [{' '.join(attributes)}]" if attributes else ""
        lines.append(f"  {_quoted(arrow.start)} -> {_quoted(arrow.end)}{shown};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def run_graphviz(text: str, suffix: str) -> bytes:
    """Returns a picture of a graph in Graphviz's language.

    Args:
        text: the graph.
        suffix: of files of the picture's format: ".png" or ".pdf".

    Raises:
        UnsupportedError: the program `dot` of Graphviz is not installed.
        PipelineError: it failed, or took too long.
    """
    program = shutil.which("dot")
    if program is None:
        raise _make(
            UnsupportedError,
            f"the program `dot` is not installed, which draws {suffix} files",
            fix="install Graphviz, or write an .svg file, which needs no other program",
        )
    try:
        done = subprocess.run(
            [program, f"-T{suffix[1:]}"],
            input=text.encode(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise _make(PipelineError, f"{program} failed: {said or error.returncode}") from None
    except subprocess.TimeoutExpired:
        raise _make(
            PipelineError, f"{program} took more than {_TIMEOUT_S:.0f} s for this graph"
        ) from None
    except OSError as error:
        raise _make(PipelineError, f"{program} cannot be run: {error}") from None
    return done.stdout
