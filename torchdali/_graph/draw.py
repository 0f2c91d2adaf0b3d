# SPDX-License-Identifier: Apache-2.0
"""Pictures of a graph, for files and for notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torchdali._graph.drawing import Arrow, Drawing, Shape
from torchdali._graph.graphviz import dot, run_graphviz
from torchdali._graph.svg import svg
from torchdali.data_node import DataNode, OpNode

__all__ = ["Picture", "notebook_html"]

_MAX_TEXT = 60  # of an argument
_BY_GRAPHVIZ = (".png", ".pdf")
_MOST_IN_NOTEBOOK = 300  # operators; more take longer than a second, and show nothing


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

    def file(self, suffix: str, *, show_tensors: bool, show_ids: bool, use_colors: bool) -> bytes:
        """Returns the content of a file.

        Args:
            suffix: in lower case; of a picture, or of a text in the language of Graphviz.
            show_tensors: also show the tensors between operators.
            show_ids: put numbers before the names.
            use_colors: show the stages by colors.

        Raises:
            UnsupportedError: the program that draws such pictures is not installed.
            PipelineError: it failed.
        """
        drawing = self.drawing(show_tensors=show_tensors, show_ids=show_ids)
        if suffix == ".svg":
            return svg(drawing, use_colors=use_colors).encode()
        text = dot(drawing, use_colors=use_colors)
        return run_graphviz(text, suffix) if suffix in _BY_GRAPHVIZ else text.encode()

    def drawing(self, *, show_tensors: bool, show_ids: bool) -> Drawing:
        """Returns the shapes and arrows of a picture."""
        taken = {self.names[node.ordinal] for node in self.nodes}
        shapes: list[Shape] = []
        arrows: list[Arrow] = []

        def key(name: str) -> str:
            """Returns the key of what is no operator: no operator has it, whatever its name."""
            while name in taken:
                name += " "
            return name

        def start(node: DataNode) -> tuple[str, int]:
            name = self._name(node)
            return (key(f"{name} output {node.index}"), 0) if show_tensors else (name, node.index)

        used = self._used_outputs()
        for i, node in enumerate(self.nodes):
            own = self.names[node.ordinal]
            lines = (f"{i}: {own}" if show_ids else own, node.schema.fn_name)
            ports = 1 if show_tensors or node.num_outputs == 1 else len(used.get(own, ()))
            if node.num_outputs > 1 and not show_tensors:
                ports = max(ports, 2)  # the number of a single one says which it is
            shapes.append(Shape(own, "operator", lines, self._about(node), node.device, ports))
            inputs = [(parent, str(k)) for k, parent in enumerate(node.inputs)]
            if len(inputs) == 1:
                inputs = [(node.inputs[0], "")]
            arrows += [Arrow(*start(parent), own, "input", text) for parent, text in inputs]
            arrows += [
                Arrow(*start(parent), own, "argument", name)
                for name, parent in node.arg_inputs.items()
            ]
            arrows += [
                Arrow(*start(parent), own, "condition", "if" if value else "if not")
                for parent, value in node.guards
            ]
            for output in node.outputs if show_tensors else ():
                text = f"{own}[{output.index}]" if node.num_outputs > 1 else own
                if show_ids:
                    text = f"{i}.{output.index}: {text}"
                name = start(output)[0]
                both = (text, output.layout) if output.layout else (text,)
                shapes.append(Shape(name, "tensor", both, name, output.device))
                arrows.append(Arrow(own, 0, name))
        for i, output in enumerate(self.outputs):
            name = key(f"output {i}")
            shapes.append(Shape(name, "output", (f"output {i}",), f"output {i} of the pipeline"))
            arrows.append(Arrow(*start(output), name))
        return Drawing(shapes, arrows)

    def _used_outputs(self) -> dict[str, set[int]]:
        """Returns which outputs of the operators others use, by the operators' names."""
        used: dict[str, set[int]] = {}
        for parent in [*(p for node in self.nodes for p in node.parents), *self.outputs]:
            used.setdefault(self._name(parent), set()).add(parent.index)
        return used

    def text(self, head: str) -> str:
        """Returns the operators and outputs, one per line, after a line that names the pipeline."""
        lines = [f"<{head}>", *(f"  {node!r}" for node in self.nodes)]
        if self.outputs:
            lines.append(f"  return {', '.join(node.name for node in self.outputs)}")
        return "\n".join(lines)

    def _name(self, node: DataNode) -> str:
        assert node.source is not None
        return self.names[node.source.ordinal]

    def _about(self, node: OpNode) -> str:
        """Returns what the box of an operator has no room for."""
        lines = [f"{self.names[node.ordinal]}: {node.schema.fn_name} ({node.device})"]
        lines += [f"{name}={_short(text)}" for name, text in node.constants().items()]
        lines += [f"at {node.location.short()}"] if node.location else []
        return "\n".join(lines)

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


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def notebook_html(head: str, picture: Callable[[], Picture]) -> str:
    """Returns a graph for a notebook: a picture, or a table of very many operators.

    Args:
        head: a line that names the pipeline.
        picture: returns the graph.
    """
    try:
        graph = picture()
        if len(graph.nodes) > _MOST_IN_NOTEBOOK:
            shown = graph.table()
        else:
            drawing = graph.drawing(show_tensors=False, show_ids=False)
            shown = svg(drawing, use_colors=True, inline=True) if graph.nodes else ""
    except Exception as error:  # a notebook shows the error instead of a traceback
        shown = f"<pre>{html.escape(repr(error))}</pre>"
    title = f"<p><b>{html.escape(head)}</b></p>"
    return f'<div>{title}\n<div style="overflow-x:auto">{shown}</div></div>'


_HEAD = ("name", "operator", "inputs", "arguments", "defined at")
