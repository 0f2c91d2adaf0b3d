# SPDX-License-Identifier: Apache-2.0
"""Pictures of a pipeline as SVG: everything is in them, and nothing overlaps."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdali import Pipeline, fn, pipeline_def, types
from torchdali._graph import drawing, layered, svg

SVG = "{http://www.w3.org/2000/svg}"
OPTIONS = [{}, {"use_colors": True}, {"show_tensors": True, "show_ids": True}]


def saved(pipe: Pipeline, folder: Path, **options: bool) -> ElementTree.Element:
    path = folder / "graph.SVG"
    pipe.save_graph_to_dot_file(path, **options)
    return ElementTree.fromstring(path.read_bytes())


def groups(picture: ElementTree.Element, kind: str) -> dict[str, ElementTree.Element]:
    found = [g for g in picture.iter(f"{SVG}g") if g.get("class") == kind]
    named = {g.attrib["data-name"]: g for g in found}
    assert len(named) == len(found)
    return named


def edges(picture: ElementTree.Element) -> Counter[tuple[str, str, str]]:
    return Counter(
        (g.get("class", "").removeprefix("edge "), g.attrib["data-from"], g.attrib["data-to"])
        for g in picture.iter(f"{SVG}g")
        if g.get("class", "").startswith("edge")
    )


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def box_of(group: ElementTree.Element) -> layered.Box:
    (rect,) = group.iter(f"{SVG}rect")
    x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return layered.Box(x, y, width, height)


def assert_apart(boxes: list[layered.Box]) -> None:
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            beside = a.left + a.width < b.left or b.left + b.width < a.left
            assert beside or a.top + a.height < b.top or b.top + b.height < a.top, (a, b)


def detection() -> Pipeline:
    pipe = Pipeline(2, 1, seed=1)
    with pipe:
        encoded, label = fn.readers.file(files=["a.jpg"], name="reader")
        anchor = fn.random.uniform(name="anchor", shape=[2])
        image = fn.decoders.image_slice(encoded, anchor, anchor, name="cut")
        coin = fn.random.coin_flip(name="coin")
        image = fn.flip(image, horizontal=coin, name="flip")
        angle = fn.random.uniform(name="angle")
        image = fn.rotate(image, angle=angle, name="rotate")
        boxes = fn.bb_flip(fn.constant(fdata=[0, 0, 1, 1]), horizontal=coin, name="boxes")
        pipe.set_outputs(image, boxes, label)
    return pipe


@pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_conditionals=True)
def branches():
    image = fn.external_source(name="image", layout="HWC")
    if fn.random.coin_flip(dtype=types.BOOL, name="coin"):
        image = fn.flip(image, name="taken")
    return image


def test_a_picture_has_operators_and_edges(tmp_path):
    picture = saved(detection(), tmp_path)
    operators = groups(picture, "operator")
    assert len(operators) == 9
    assert {"reader", "anchor", "cut", "coin", "flip", "angle", "rotate", "boxes"} < set(operators)
    assert texts(operators["cut"]) == ["cut", "fn.decoders.image_slice"]
    assert list(groups(picture, "output")) == ["output 0", "output 1", "output 2"]
    found = edges(picture)
    assert found["input", "anchor", "cut"] == 2
    assert found["argument", "coin", "flip"] == found["argument", "coin", "boxes"] == 1
    assert found["input", "reader", "output 2"] == 1
    assert sum(found.values()) == 12
    labels = Counter(t.text for t in picture.iter(f"{SVG}text") if t.get("class") == "label")
    assert labels == {"0": 2, "1": 2, "2": 1, "horizontal": 2, "angle": 1}


def test_a_box_says_more_under_the_mouse_pointer(tmp_path):
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.random.uniform(values=[0.5] * 99, shape=[2], name="a"))
    (title, *_) = groups(saved(pipe, tmp_path), "operator")["a"].iter(f"{SVG}title")
    lines = (title.text or "").splitlines()
    assert lines[0] == "a: fn.random.uniform (cpu)"
    assert "shape=[2]" in lines
    assert any(line.startswith("values=[0.5") and line.endswith("...") for line in lines)
    assert re.fullmatch(r"at .*test_svg.py:\d+", lines[-1])
    assert max(map(len, lines)) < 90


def test_show_tensors_draws_the_data_nodes(tmp_path):
    picture = saved(detection(), tmp_path, show_tensors=True, show_ids=True)
    tensors = groups(picture, "tensor")
    assert len(tensors) == 10
    assert texts(tensors["reader output 1"]) == ["0.1: reader[1]"]
    assert edges(picture)["input", "reader output 1", "output 2"] == 1
    assert texts(groups(picture, "operator")["cut"])[0].endswith(": cut")


def test_conditions_are_edges_of_their_own(tmp_path):
    pipe = branches()
    pipe.build()
    kinds = Counter(kind for kind, *_ in edges(saved(pipe, tmp_path)))
    assert kinds["condition"] >= 1


def test_colors_are_those_of_the_stages(tmp_path):
    plain = (tmp_path / "graph.SVG", saved(detection(), tmp_path))[0].read_text()
    assert not any(color in plain for color in svg._COLORS.values())
    picture = saved(detection(), tmp_path, use_colors=True)
    assert not {"CPU", "GPU"} & set(texts(picture))  # a legend of one color says nothing
    fills = {box.find(f"{SVG}rect").get("fill") for box in groups(picture, "operator").values()}
    assert fills == {svg._COLORS["cpu"]}


@for_each("options", OPTIONS)
@for_each("count", [1, 12])
def test_boxes_do_not_overlap(count, options, tmp_path):
    pipe = Pipeline(2, 1)
    with pipe:
        image = fn.external_source(name="image", layout="HWC")
        for k in range(count):
            contrast = fn.random.uniform(name=f"contrast {k}")
            image = fn.flip(image, horizontal=fn.random.coin_flip(), name=f"flip {k} {'x' * 90}")
            image = fn.brightness_contrast(image, contrast=contrast, brightness=contrast)
        pipe.set_outputs(image, image, contrast)
    picture = saved(pipe, tmp_path, **options)
    shapes = {
        k: v for kind in ("operator", "tensor", "output") for k, v in groups(picture, kind).items()
    }
    boxes = {name: box_of(group) for name, group in shapes.items()}
    assert len(boxes) >= 4 * count + 4
    assert_apart(list(boxes.values()))
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    for name, box in boxes.items():
        assert 0 <= box.left <= box.left + box.width < width
        assert 0 <= box.top <= box.top + box.height < height
        for text in texts(shapes[name]):
            assert len(text) * svg._SMALL * 0.6 < box.width


ODD_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    st.lists(
        ODD_NAMES | st.sampled_from(['a"b', "]]>", "&lt;", "<b>", "output 0", "a\x01\n"]),
        unique=True,
        min_size=2,
        max_size=4,
    )
)
def test_any_name_is_escaped(tmp_path_factory, names):
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(*(fn.random.uniform(name=name) for name in names))
    folder = tmp_path_factory.mktemp("svg")
    for tensors in (False, True):
        picture = saved(pipe, folder, show_tensors=tensors)
        shown = {texts(group)[0] for group in groups(picture, "operator").values()}
        assert {name for name in names if name.isprintable()} <= shown
        assert len(shown) == len(names)


def test_a_file_is_legible_on_any_ground(tmp_path):
    text = (tmp_path / "graph.SVG", saved(detection(), tmp_path))[0].read_text()
    assert "prefers-color-scheme: dark" in text
    inline = detection()._repr_html_()
    assert "<style" not in inline  # would change the page
    assert "currentColor" in inline


# -- layout


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 14))
    sizes = [(draw(st.integers(10, 200)), draw(st.integers(10, 60))) for _ in range(count)]
    found = []
    for end in range(1, count):
        for start in draw(st.lists(st.integers(0, end - 1), max_size=3)):
            port, kind = draw(st.integers(0, 2)), draw(st.sampled_from("ab"))
            found.append(layered.Edge(start, port, end, draw(st.integers(5, 80)), kind))
    return sizes, found


@settings(max_examples=40)
@given(graphs())
def test_edges_lead_from_box_to_box_and_cross_none(graph):
    sizes, found = graph
    layout = layered.arrange(sizes, found, 20.0)
    assert_apart(layout.boxes)
    assert [box.height for box in layout.boxes] == [height for _, height in sizes]
    assert all(box.width >= size[0] for box, size in zip(layout.boxes, sizes, strict=True))
    for edge, route in zip(found, layout.routes, strict=True):
        start, end = layout.boxes[edge.start], layout.boxes[edge.end]
        (x, y), (to_x, to_y) = route[0], route[-1]
        assert y == pytest.approx(start.top + start.height)
        assert to_y == pytest.approx(end.top)
        assert start.left <= x <= start.left + start.width
        assert end.left <= to_x - edge.width / 2 + 0.01
        assert to_x + edge.width / 2 - 0.01 <= end.left + end.width
        assert [y for _, y in route] == sorted(y for _, y in route)
        for at in range(0, len(route), 2):  # straight parts pass beside boxes, curves between rows
            (x, top), (same, bottom) = route[at], route[at + 1]
            assert x == same
            for box in layout.boxes:
                inside = top < box.top + box.height - 0.01 and bottom > box.top + 0.01
                assert not (inside and box.left < x < box.left + box.width)
        for at in range(1, len(route) - 1, 2):
            (_, top), (_, bottom) = route[at], route[at + 1]
            assert not any(
                top < box.top + box.height - 0.01 and bottom > box.top + 0.01
                for box in layout.boxes
            )


def test_a_chain_is_straight_and_a_grid_has_no_crossings():
    chain = [layered.Edge(i, 0, i + 1, 10) for i in range(5)]
    layout = layered.arrange([(50 + 10 * (i % 3), 20) for i in range(6)], chain, 20.0)
    assert len({round(x, 6) for route in layout.routes for x, _ in route}) == 1
    crossed = [(0, 5), (1, 4), (2, 3)]  # in the order of their numbers, all would cross
    layout = layered.arrange([(50, 20)] * 6, [layered.Edge(a, 0, b, 10) for a, b in crossed], 20.0)
    assert all(route[0][0] == pytest.approx(route[-1][0]) for route in layout.routes)
    assert layered.arrange([], [], 20.0) == layered.Layout([], [], 0.0, 0.0)


def test_several_stages_have_a_legend():
    shapes = [drawing.Shape(s, "operator", (s,), s, s) for s in ("cpu", "mixed", "gpu")]
    arrows = [drawing.Arrow("cpu", 0, "mixed"), drawing.Arrow("mixed", 0, "gpu")]
    text = svg.svg(drawing.Drawing(shapes, arrows), use_colors=True)
    shown = texts(ElementTree.fromstring(text))
    assert shown[:3] == ["CPU", "mixed", "GPU"]
    for stage, color in svg._COLORS.items():
        assert text.count(f'fill="{color}"') == 2, stage
