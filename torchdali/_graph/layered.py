# SPDX-License-Identifier: Apache-2.0
"""A layered layout of a graph: boxes in rows, edges from top to bottom that pass between them.

After K. Sugiyama, S. Tagawa, M. Toda: "Methods for visual understanding of hierarchical system
structures", 1981: rows, then the order in each row, then positions. A row is solved exactly, as an
isotonic regression.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Box", "Edge", "Layout", "arrange"]

_GAP = 26.0  # between boxes of a row
_EDGE_GAP = 14.0  # between edges that pass a row, and to boxes
_ROW_GAP = 34.0  # between rows
_SLOPE = 0.06  # rows are farther apart for edges that go far to the side
_MOST_ROW_GAP = 90.0
_SWEEPS = 24
_WORK = 60_000  # edges that all sweeps over large graphs look at
_STRAIGHT = 24.0  # weight of the parts of long edges


@dataclass(frozen=True)
class Edge:
    """An edge from the bottom of a box to the top of a later one.

    Attributes:
        start: number of the box.
        port: edges with the same port begin at the same point.
        end: number of the box, greater than `start`.
        width: room for its label at the end.
        kind: edges of one kind that begin at one point go together as far as possible.
        weight: how much it should be straight.
    """

    start: int
    port: int
    end: int
    width: float
    kind: str = ""
    weight: float = 1.0


@dataclass(frozen=True)
class Box:
    """Where a box is."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Where everything is.

    Attributes:
        boxes: in the order of the sizes.
        routes: for each edge its points: straight down from the first to the second, in a curve to
            the third, straight down to the fourth, and so on.
        width: of all of it.
        height: of all of it.
    """

    boxes: list[Box]
    routes: list[list[tuple[float, float]]]
    width: float
    height: float


@dataclass
class _Part:
    """An edge between neighboring rows; `start_at` and `end_at` are relative to the centers."""

    start: int
    end: int
    weight: float
    port: int
    width: float
    start_at: float = 0.0
    end_at: float = 0.0


@dataclass
class _Rows:
    """Boxes, and the places where long edges pass a row, as vertices.

    Attributes:
        row: of each vertex.
        width: of each vertex; 0 for edges that pass.
        above: the parts that end at each vertex.
        below: the parts that begin at each vertex.
        parts: of each edge.
        order: the vertices of each row, from left to right.
        x: center of each vertex.
    """

    row: list[int]
    width: list[float]
    above: list[list[_Part]] = field(default_factory=list)
    below: list[list[_Part]] = field(default_factory=list)
    parts: list[list[_Part]] = field(default_factory=list)
    order: list[list[int]] = field(default_factory=list)
    x: list[float] = field(default_factory=list)


def arrange(
    sizes: Sequence[tuple[float, float]], edges: Sequence[Edge], port_width: float
) -> Layout:
    """Returns positions of boxes that do not overlap, and of edges that do not cross boxes.

    Args:
        sizes: width and height of each box; boxes with many edges become wider.
        edges: begin at boxes before those where they end.
        port_width: room for the ports of a box with several.
    """
    if not sizes:
        return Layout([], [], 0.0, 0.0)
    rows = _rows(sizes, edges)
    _order(rows)
    _ports(rows, port_width)
    _place(rows)
    return _layout(rows, sizes)


def _rows(sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> _Rows:
    """Assigns rows: each box below those that it needs, and sources just above their first use."""
    count = len(sizes)
    row = [0] * count
    inputs, outputs = [0] * count, [0] * count
    for edge in sorted(edges, key=lambda edge: edge.end):
        row[edge.end] = max(row[edge.end], row[edge.start] + 1)
        inputs[edge.end] += 1
        outputs[edge.start] += 1
    users: list[list[int]] = [[] for _ in range(count)]
    for edge in edges:
        users[edge.start].append(edge.end)
    for box in reversed(range(count)):
        if users[box] and outputs[box] >= inputs[box]:
            row[box] = min(row[user] for user in users[box]) - 1
    rows = _Rows(row, [width for width, _ in sizes])
    rows.above, rows.below = [[] for _ in row], [[] for _ in row]
    passing: dict[tuple[int, int, str, int], int] = {}
    for edge in edges:
        parts: list[_Part] = []
        rows.parts.append(parts)
        at, port, weight = edge.start, edge.port, edge.weight
        for level in range(row[edge.start] + 1, row[edge.end]):
            key = (edge.start, edge.port, edge.kind, level)
            if key in passing:
                part = rows.above[passing[key]][0]
            else:
                passing[key] = len(row)
                row.append(level)
                rows.width.append(0.0)
                rows.above.append([])
                rows.below.append([])
                part = _join(rows, _Part(at, passing[key], weight, port, 0.0))
            parts.append(part)
            at, port, weight = passing[key], 0, _STRAIGHT
        if parts:
            weight = edge.weight * 2
        parts.append(_join(rows, _Part(at, edge.end, weight, port, edge.width)))
    rows.order = [[] for _ in range(max(row) + 1)]
    for vertex, level in enumerate(row):
        rows.order[level].append(vertex)
    return rows


def _join(rows: _Rows, part: _Part) -> _Part:
    rows.below[part.start].append(part)
    rows.above[part.end].append(part)
    return part


# -- the order in each row


def _order(rows: _Rows) -> None:
    """Orders each row such that few edges cross: by the mean of the neighbors, up and down."""
    total = sum(map(len, rows.below))
    place = [0.0] * len(rows.row)
    _number(rows, place)
    best, fewest = [list(row) for row in rows.order], _crossings(rows, place)
    for sweep in range(max(2, min(_SWEEPS, _WORK // max(total, 1)))):
        if not fewest:
            break
        down = sweep % 2 == 0
        levels = range(1, len(rows.order)) if down else reversed(range(len(rows.order) - 1))
        for level in levels:
            mean: dict[int, float] = {}
            for vertex in rows.order[level]:
                parts = rows.above[vertex] if down else rows.below[vertex]
                ends = [place[p.start] + _fan(rows, p) if down else place[p.end] for p in parts]
                mean[vertex] = sum(ends) / len(ends) if ends else place[vertex]
            rows.order[level].sort(key=mean.__getitem__)
            for at, vertex in enumerate(rows.order[level]):
                place[vertex] = float(at)
        _exchange(rows, place)
        crossings = _crossings(rows, place)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows.order], crossings
    rows.order = best
    _number(rows, place)
    for parts in rows.above:  # ports from left to right
        parts.sort(key=lambda part: (place[part.start], part.port))


def _number(rows: _Rows, place: list[float]) -> None:
    for row in rows.order:
        for at, vertex in enumerate(row):
            place[vertex] = float(at)


def _fan(rows: _Rows, part: _Part) -> float:
    """Returns how far right of the middle an edge begins, if that of a row has the length 1."""
    most = max(p.port for p in rows.below[part.start])
    return (part.port / most - 0.5) / 2 if most else 0.0


def _ends(rows: _Rows, vertex: int, place: Sequence[float], down: bool) -> list[float]:
    if down:
        return sorted(place[p.start] + _fan(rows, p) for p in rows.above[vertex])
    return sorted(place[p.end] for p in rows.below[vertex])


def _exchange(rows: _Rows, place: list[float]) -> None:
    """Exchanges neighbors in a row, where that removes crossings."""
    for row in rows.order:
        for at in range(len(row) - 1):
            left, right = row[at], row[at + 1]
            gain = 0
            for down in (True, False):
                a, b = _ends(rows, left, place, down), _ends(rows, right, place, down)
                gain += sum(bisect.bisect_left(b, end) for end in a)
                gain -= sum(bisect.bisect_left(a, end) for end in b)
            if gain > 0:
                row[at], row[at + 1] = right, left
                place[left], place[right] = float(at + 1), float(at)


def _crossings(rows: _Rows, place: Sequence[float]) -> int:
    count = 0
    for row in rows.order:
        seen: list[float] = []
        for vertex in row:
            starts = _ends(rows, vertex, place, down=True)
            count += sum(len(seen) - bisect.bisect_right(seen, start) for start in starts)
            for start in starts:
                bisect.insort(seen, start)
    return count


# -- positions


def _ports(rows: _Rows, port_width: float) -> None:
    """Decides where edges meet the boxes, and makes boxes as wide as that needs."""
    for vertex in range(len(rows.row)):
        at = -sum(part.width for part in rows.above[vertex]) / 2
        rows.width[vertex] = max(rows.width[vertex], -2 * at)
        for part in rows.above[vertex]:
            part.end_at = at + part.width / 2
            at += part.width
        ports = sorted({part.port for part in rows.below[vertex]})
        if len(ports) > 1:
            rows.width[vertex] = max(rows.width[vertex], len(ports) * port_width)
        for part in rows.below[vertex]:
            part.start_at = (ports.index(part.port) - (len(ports) - 1) / 2) * port_width


def _place(rows: _Rows) -> None:
    """Moves each vertex to where its edges are straight, as far as the others of its row allow."""
    rows.x = [0.0] * len(rows.row)
    for row in rows.order:
        _settle(rows, row, lambda vertex: [(rows.x[vertex], 1.0)])
    total = sum(map(len, rows.below))

    def above(vertex: int) -> list[tuple[float, float]]:
        return [(rows.x[p.start] + p.start_at - p.end_at, p.weight) for p in rows.above[vertex]]

    def below(vertex: int) -> list[tuple[float, float]]:
        return [(rows.x[p.end] + p.end_at - p.start_at, p.weight) for p in rows.below[vertex]]

    for _ in range(max(2, min(_SWEEPS, _WORK // max(total, 1)))):
        for row in rows.order:
            _settle(rows, row, above)
        for row in reversed(rows.order):
            _settle(rows, row, below)
    for _ in range(2):  # chains are straight below where they begin
        for row in rows.order:
            _settle(rows, row, lambda vertex: above(vertex) or below(vertex))


def _median(wanted: list[tuple[float, float]]) -> float:
    """Returns the median of values with weights; the mean of two, if it is between them."""
    wanted = sorted(wanted)
    half = sum(weight for _, weight in wanted) / 2
    for at, (value, weight) in enumerate(wanted):
        half -= weight
        if half < 0:
            return value
        if half == 0:
            return (value + wanted[min(at + 1, len(wanted) - 1)][0]) / 2
    return wanted[-1][0]


def _settle(
    rows: _Rows, row: Sequence[int], wishes: Callable[[int], list[tuple[float, float]]]
) -> None:
    """Places a row in its order, with the least sum of squared distances from what is wished.

    Without gaps between them, this is an isotonic regression: neighbors in the wrong order become
    a block, which is where the mean of their wishes is.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    shifts: list[float] = []
    shift = 0.0
    for at, vertex in enumerate(row):
        if at:
            gap = _GAP if rows.width[vertex] and rows.width[row[at - 1]] else _EDGE_GAP
            shift += (rows.width[row[at - 1]] + rows.width[vertex]) / 2 + gap
        shifts.append(shift)
        wanted = wishes(vertex)
        mean = (_median(wanted) if wanted else rows.x[vertex]) - shift
        weight = sum(weight for _, weight in wanted) ** 2 or 0.01
        count = 1
        while blocks and blocks[-1][0] > mean:
            other, more, others = blocks.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, count = weight + more, count + others
        blocks.append((mean, weight, count))
    places = [mean for mean, _, count in blocks for _ in range(count)]
    for vertex, place, shift in zip(row, places, shifts, strict=True):
        rows.x[vertex] = place + shift


def _layout(rows: _Rows, sizes: Sequence[tuple[float, float]]) -> Layout:
    left = min(x - width / 2 for x, width in zip(rows.x, rows.width, strict=True))
    xs = [x - left for x in rows.x]
    tops: list[float] = []
    bottoms: list[float] = []
    top = 0.0
    for row in rows.order:
        height = max((sizes[v][1] for v in row if v < len(sizes)), default=0.0)
        far = max(
            (
                abs(xs[p.start] + p.start_at - xs[p.end] - p.end_at)
                for v in row
                for p in rows.above[v]
            ),
            default=0.0,
        )
        if tops:
            top = bottoms[-1] + min(_ROW_GAP + _SLOPE * far, _MOST_ROW_GAP)
        tops.append(round(top))
        bottoms.append(tops[-1] + height)
    boxes = []
    for box, (_, height) in enumerate(sizes):
        level = rows.row[box]
        width = rows.width[box]
        top = tops[level] + (bottoms[level] - tops[level] - height) / 2
        boxes.append(Box(xs[box] - width / 2, top, width, height))
    routes = []
    for parts in rows.parts:
        first, last = boxes[parts[0].start], boxes[parts[-1].end]
        points = [(xs[parts[0].start] + parts[0].start_at, first.top + first.height)]
        for part in parts:
            start, end = xs[part.start] + part.start_at, xs[part.end] + part.end_at
            points += [(start, bottoms[rows.row[part.start]]), (end, tops[rows.row[part.end]])]
        points.append((points[-1][0], last.top))
        routes.append(points)
    width = max(x + w / 2 for x, w in zip(xs, rows.width, strict=True))
    return Layout(boxes, routes, width, bottoms[-1])
