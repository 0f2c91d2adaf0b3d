# SPDX-License-Identifier: Apache-2.0
"""Pictures of a graph: the language of Graphviz, SVG by its program, HTML for notebooks."""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torchdali.data_node import DataNode, OpNode
from torchdali.errors import PipelineError, TorchdaliError, UnsupportedError, _make

__all__ = ["Picture", "notebook_html", "svg"]

_TIMEOUT_S = 20.0  # a graph of 1,000 nodes takes Graphviz seconds
_MAX_TEXT = 60  # of an argument in a table
# Colors of the stages.
_COLORS = {"cpu": "lightblue", "mixed": "orange", "gpu": "lightgreen"}


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


@dataclass(frozen=True)
class Picture:
    """The graph of a pipeline.

    Attributes:
        nodes: operators, in topological order.
        names: of the operators, by ordinal; a merged one has that of the operator that replaces it.
        outputs: of the pipeline.
    """

    nodes: Sequence[OpNode]
    names: Mapping[int, str]
    outputs: Sequence[DataNode]

    def dot(self, *, show_tensors: bool, show_ids: bool, use_colors: bool) -> str:
        """Returns the graph in the language of Graphviz.

        Operators are ellipses, outputs of the pipeline double circles. Inputs arrive by solid
        edges, arguments by dashed ones with their names, conditions by dotted ones.
        """
        identity = {self.names[node.ordinal]: i for i, node in enumerate(self.nodes)}
        lines = ["digraph graphname {"]

        def tensor(node: DataNode) -> str:
            """Returns the id of a tensor: no operator can have it, whatever its name."""
            name = f"{self._name(node)} output {node.index}"
            while name in identity:
                name += " "
            return name

        def color(stage: str) -> str:
            return f" style=filled fillcolor={_COLORS[stage]}" if use_colors else ""

        def start(node: DataNode) -> str:
            return _quoted(tensor(node) if show_tensors else self._name(node))

        for i, node in enumerate(self.nodes):
            own = self.names[node.ordinal]
            head = f"{i}: {own}" if show_ids else own
            label = _label(f"{head}\n{node.schema.fn_name}")
            lines.append(f"  {_quoted(own)} [label={label}{color(node.device)}];")
            edges = [(parent, "", str(k)) for k, parent in enumerate(node.inputs)]
            if len(edges) == 1:
                edges = [(node.inputs[0], "", "")]
            edges += [(parent, "dashed", name) for name, parent in node.arg_inputs.items()]
            edges += [(p, "dotted", "if" if value else "if not") for p, value in node.guards]
            for parent, style, text in edges:
                attributes = [f"label={_label(text)}"] * bool(text)
                attributes += [f"style={style}"] * bool(style)
                shown = f" [{' '.join(attributes)}]" if attributes else ""
                lines.append(f"  {start(parent)} -> {_quoted(own)}{shown};")
            for output in node.outputs if show_tensors else ():
                text = f"{own}[{output.index}]" if node.num_outputs > 1 else own
                if show_ids:
                    text = f"{i}.{output.index}: {text}"
                text += f"\n{output.layout}" if output.layout else ""
                own_id = _quoted(tensor(output))
                stage = color(output.device)
                lines.append(f"  {own_id} [label={_label(text)} shape=box{stage}];")
                lines.append(f"  {_quoted(own)} -> {own_id};")
        for i, output in enumerate(self.outputs):
            name = f"output {i}"
            while name in identity:
                name += " "
            filled = " style=filled fillcolor=lightgray" if use_colors else ""
            lines.append(f"  {_quoted(name)} [shape=doublecircle{filled}];")
            lines.append(f"  {start(output)} -> {_quoted(name)};")
        lines.append("}")
        return "\n".join(lines) + "\n"

    def text(self, head: str) -> str:
        """Returns the operators and outputs, one per line, after a line that names the pipeline."""
        lines = [f"<{head}>", *(f"  {node!r}" for node in self.nodes)]
        if self.outputs:
            lines.append(f"  return {', '.join(node.name for node in self.outputs)}")
        return "\n".join(lines)

    def _name(self, node: DataNode) -> str:
        assert node.source is not None
        return self.names[node.source.ordinal]

    def table(self) -> str:
        """Returns the operators as a table in HTML."""
        rows = []
        for node in self.nodes:
            takes = [self._name(i) for i in node.inputs]
            takes += [f"{name}={self._name(i)}" for name, i in node.arg_inputs.items()]
            takes += [f"if {'' if v else 'not '}{self._name(i)}" for i, v in node.guards]
            constants = ", ".join(f"{n}={_short(text)}" for n, text in node.constants().items())
            where = node.location.short() if node.location else ""
            cells = [self.names[node.ordinal], node.schema.fn_name, ", ".join(takes), constants]
            rows.append([*cells, where])
        outputs = ", ".join(self._name(node) for node in self.outputs)
        head = "".join(f"<th>{name}</th>" for name in _HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n"
            for row in rows
        )
        returns = f"<p>returns {html.escape(outputs)}</p>" if outputs else ""
        return f"<table>\n<tr>{head}</tr>\n{body}</table>\n{returns}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def notebook_html(head: str, picture: Callable[[], Picture]) -> str:
    """Returns a graph for a notebook: a picture if Graphviz is installed, else a table.

    Args:
        head: a line that names the pipeline.
        picture: returns the graph.
    """
    try:
        graph = picture()
        try:
            drawn = svg(graph.dot(show_tensors=False, show_ids=False, use_colors=True))
            shown = drawn[drawn.index("<svg") :]  # without the head of an XML file
        except (TorchdaliError, ValueError):
            shown = graph.table()
    except Exception as error:  # a notebook shows the error instead of a traceback
        shown = f"<pre>{html.escape(repr(error))}</pre>"
    return f"<div><p><b>{html.escape(head)}</b></p>\n{shown}</div>"


_HEAD = ("name", "operator", "inputs", "arguments", "defined at")


def svg(dot: str) -> str:
    """Returns a picture of a graph in Graphviz's language.

    Raises:
        UnsupportedError: the program `dot` of Graphviz is not installed.
        PipelineError: it failed, or took too long.
    """
    program = shutil.which("dot")
    if program is None:
        raise _make(
            UnsupportedError,
            "the program `dot` is not installed, which draws graphs",
            fix="install Graphviz, or write the graph to a file that does not end in .svg",
        )
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=dot.encode(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        text = error.stderr.decode(errors="replace").strip()
        raise _make(PipelineError, f"{program} failed: {text or error.returncode}") from None
    except subprocess.TimeoutExpired:
        raise _make(
            PipelineError, f"{program} took more than {_TIMEOUT_S:.0f} s for this graph"
        ) from None
    except OSError as error:
        raise _make(PipelineError, f"{program} cannot be run: {error}") from None
    return done.stdout.decode(errors="replace")
