# SPDX-License-Identifier: Apache-2.0
"""Drawings of graphs as SVG, with the layout of layered.py."""

from __future__ import annotations

import unicodedata
from xml.sax.saxutils import escape as escape_text
from xml.sax.saxutils import quoteattr

from torchdali._graph.drawing import Arrow, Drawing, Shape
from torchdali._graph.layered import Box, Edge, Layout, arrange

__all__ = ["svg"]

# A character of a monospaced font is 0.6 times as wide as the size of the font; a little more, for
# fonts that are wider.
_ADVANCE = 0.62
_SIZE, _SMALL = 13.0, 10.5  # of the name; of the other texts
_LINE, _SMALL_LINE = 17.0, 14.0
_PAD = 11.0  # left and right of the text of a box
_INNER = 6.0  # above and below it
_PORT_PAD = 6.0  # left and right of the label of a port
_BARE_PORT = 16.0  # a port without a label
_OUT_PORT = 26.0
_MARGIN = 12.0
_LEGEND = 28.0
_ARROW = 5.0
_MOST_LETTERS = 36  # of a line
_WEIGHTS = {"input": 12.0, "argument": 1.0, "condition": 1.0}
_DASHES = {"argument": ' stroke-dasharray="5 3"', "condition": ' stroke-dasharray="1.5 3"'}
# Colors of the stages; they are drawn translucent, on light and on dark ground.
_COLORS = {"cpu": "#4a90d9", "mixed": "#e08a1e", "gpu": "#3fa650"}
_STAGES = {"cpu": "CPU", "mixed": "mixed", "gpu": "GPU"}
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_INK, _PAPER = "#1f2328", "#ffffff"
_DARK = (
    "<style>@media (prefers-color-scheme: dark) { .torchdali-graph { color: #e6edf3 } "
    ".torchdali-graph .ground { fill: #0d1117 } }</style>"
)


def _visible(text: str) -> str:
    """Returns text without characters that XML cannot have, or that nothing shows."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _escaped(text: str) -> str:
    return escape_text(_visible(text))


def _short(text: str) -> str:
    text = _visible(text)
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _width(text: str, size: float) -> float:
    """Returns how wide a text is, in a monospaced font."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return (len(text) + wide) * size * _ADVANCE


def _tall(shape: Shape, labels_in: bool, labels_out: bool) -> float:
    rows = _LINE + _SMALL_LINE * (len(shape.lines) - 1 + labels_in + labels_out)
    return rows + 2 * _INNER


def svg(drawing: Drawing, *, use_colors: bool, inline: bool = False) -> str:
    """Returns a drawing as SVG.

    Args:
        drawing: what to draw.
        use_colors: give the shapes the colors of their stages, with a legend if there are several.
        inline: for a page whose color of text it takes over; else it is a file, which has a ground
            of its own, light or dark.
    """
    number = {shape.key: i for i, shape in enumerate(drawing.shapes)}
    named_in = {arrow.end for arrow in drawing.arrows if arrow.text}
    edges = [
        Edge(
            number[arrow.start],
            arrow.port,
            number[arrow.end],
            _width(_short(arrow.text), _SMALL) + 2 * _PORT_PAD if arrow.text else _BARE_PORT,
            arrow.kind,
            _WEIGHTS[arrow.kind],
        )
        for arrow in drawing.arrows
    ]
    sizes = [
        (
            max(
                _width(_short(line), _SMALL if i else _SIZE) + 2 * _PAD
                for i, line in enumerate(shape.lines)
            ),
            _tall(shape, shape.key in named_in, shape.num_ports > 1),
        )
        for shape in drawing.shapes
    ]
    layout = arrange(sizes, edges, _OUT_PORT)
    stages = [stage for stage in _STAGES if any(s.stage == stage for s in drawing.shapes)]
    legend = use_colors and len(stages) > 1
    top = _MARGIN + legend * _LEGEND
    width = max(layout.width, legend * 220.0) + 2 * _MARGIN
    height = layout.height + top + _MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    color = "" if inline else f' color="{_INK}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="torchdali-graph" {size}{color} '
        f'font-family="{_FONT}" font-size="{_SIZE}" text-anchor="middle" role="img">'
    ]
    if not inline:
        lines.append(f'{_DARK}\n<rect class="ground" width="100%" height="100%" fill="{_PAPER}"/>')
    if legend:
        lines.append(_legend(stages))
    lines.append(f'<g transform="translate({_MARGIN:g} {top:g})">')
    lines += [
        _edge(arrow, route) for arrow, route in zip(drawing.arrows, layout.routes, strict=True)
    ]
    lines += [_box(shape, box, use_colors) for shape, box in _paired(drawing, layout)]
    lines += _labels(drawing, layout)
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def _paired(drawing: Drawing, layout: Layout) -> list[tuple[Shape, Box]]:
    return list(zip(drawing.shapes, layout.boxes, strict=True))


def _legend(stages: list[str]) -> str:
    parts, left = [], _MARGIN + 0.5
    for stage in stages:
        name, color = _STAGES[stage], _COLORS[stage]
        parts.append(
            f'<rect x="{left}" y="{_MARGIN}" width="14" height="14" rx="3" {_fill(color)}/>'
            f'<text x="{left + 20}" y="{_MARGIN + 11}" text-anchor="start" fill="currentColor" '
            f'font-size="{_SMALL}">{name}</text>'
        )
        left += 40 + _width(name, _SMALL)
    return "\n".join(parts)


def _fill(color: str) -> str:
    return f'fill="{color}" fill-opacity="0.2" stroke="{color}"'


def _edge(arrow: Arrow, route: list[tuple[float, float]]) -> str:
    """Returns an edge: straight through rows, in curves between them."""
    (x, y), *rest = route
    path = [f"M{x:.1f} {y:.1f}"]
    for at in range(0, len(rest) - 1, 2):
        (x, y), (to_x, to_y) = rest[at], rest[at + 1]
        path.append(f"V{y:.1f}")
        if abs(to_x - x) < 0.1:
            continue
        middle = (y + to_y) / 2
        path.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
    x, y = rest[-1]
    path.append(f"V{y - _ARROW:.1f}")
    title = _visible(f"{arrow.start} to {arrow.end}{': ' + arrow.text if arrow.text else ''}")
    head = f"M{x:.1f} {y:.1f}l{-_ARROW * 0.7:.1f} {-_ARROW * 1.5:.1f}h{_ARROW * 1.4:.1f}z"
    return (
        f'<g class="edge {arrow.kind}" data-from={quoteattr(_visible(arrow.start))} '
        f"data-to={quoteattr(_visible(arrow.end))}><title>{escape_text(title)}</title>"
        f'<path d="{"".join(path)}" fill="none" stroke="currentColor" stroke-opacity="0.65"'
        f'{_DASHES.get(arrow.kind, "")}/><path d="{head}" fill="currentColor"/></g>'
    )


def _box(shape: Shape, box: Box, use_colors: bool) -> str:
    """Returns a box with its lines of text."""
    round_ = {"operator": 7.0, "tensor": 0.0, "output": box.height / 2}[shape.kind]
    color = _COLORS.get(shape.stage, "") if use_colors else ""
    if color:
        look = _fill(color)
    else:
        look = 'fill="currentColor" fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.55"'
    parts = [
        f'<g class="{shape.kind}" data-name={quoteattr(_visible(shape.key))}>'
        f"<title>{'&#10;'.join(map(_escaped, shape.about.splitlines()))}</title>"
        f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{round_:g}" {look}/>'
    ]
    text_height = _LINE + _SMALL_LINE * (len(shape.lines) - 1)
    free = box.height - text_height - 2 * _INNER - _SMALL_LINE * (shape.num_ports > 1)
    x, y = box.left + box.width / 2, box.top + _INNER + free + _SIZE
    for i, line in enumerate(shape.lines):
        look = f' font-size="{_SMALL}" fill-opacity="0.75"' if i else ' font-weight="600"'
        parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor"{look}>'
            f"{escape_text(_short(line))}</text>"
        )
        y += _SMALL_LINE
    return "".join([*parts, "</g>"])


def _labels(drawing: Drawing, layout: Layout) -> list[str]:
    """Returns the labels of edges: in the boxes, where the edges begin and end."""
    boxes = {shape.key: pair for pair in _paired(drawing, layout) for shape in pair[:1]}
    found: dict[tuple[str, str, str], None] = {}
    for arrow, route in zip(drawing.arrows, layout.routes, strict=True):
        shape, box = boxes[arrow.start]
        if shape.num_ports > 1:
            y = box.top + box.height - 5
            found[f"{route[0][0]:.1f}", f"{y:.1f}", str(arrow.port)] = None
        if arrow.text:
            found[f"{route[-1][0]:.1f}", f"{route[-1][1] + 12:.1f}", _short(arrow.text)] = None
    return [
        f'<text class="label" x="{x}" y="{y}" fill="currentColor" fill-opacity="0.75" '
        f'font-size="{_SMALL}">{escape_text(text)}</text>'
        for x, y, text in found
    ]
