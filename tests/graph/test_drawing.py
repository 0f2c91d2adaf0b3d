# SPDX-License-Identifier: Apache-2.0
"""Drawings of a pipeline: files for Graphviz and by it, and notebooks; test_svg.py has SVG."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from helpers.cases import for_each
from helpers.parts import parts_of
from hypothesis import given
from hypothesis import strategies as st

from torchdali import Pipeline, fn, types
from torchdali._graph import draw, graphviz

# One statement per line: `"id" [a=b c="d"];` or `"id" -> "id" [...];`, after Graphviz's grammar.
STRING = r'"((?:[^"\\\n]|\\.)*)"'
ATTRIBUTES = r"(?: \[((?:[^\]\"]|\"(?:[^\"\\\n]|\\.)*\")*)\])?"
NODE = re.compile(rf"  {STRING}{ATTRIBUTES};")
EDGE = re.compile(rf"  {STRING} -> {STRING}{ATTRIBUTES};")
ATTRIBUTE = re.compile(rf"(\w+)=(?:{STRING}|(\w+))(?: |$)")


@dataclass
class Graph:
    """The contents of a file: nodes and edges with their attributes."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def between(self, start, end):
        return [attributes for s, e, attributes in self.edges if (s, e) == (start, end)]


def plain(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def attributes_of(text):
    text = text or ""
    found = {}
    end = 0
    for match in ATTRIBUTE.finditer(text):
        assert match.start() == end, text
        end = match.end()
        value = match[3] if match[2] is None else plain(match[2])
        found[match[1]] = html.unescape(value) if match[1] == "label" else value
    assert end == len(text), text
    return found


def parse(text):
    graph = Graph()
    lines = text.splitlines()
    assert lines[0] == "digraph graphname {"
    assert lines[-1] == "}"
    for line in lines[1:-1]:
        if edge := EDGE.fullmatch(line):
            graph.edges.append((plain(edge[1]), plain(edge[2]), attributes_of(edge[3])))
        else:
            node = NODE.fullmatch(line)
            assert node, line
            assert plain(node[1]) not in graph.nodes, f"{line} stands there twice"
            graph.nodes[plain(node[1])] = attributes_of(node[2])
    for start, end, _ in graph.edges:
        assert {start, end} <= graph.nodes.keys()
    return graph


def define():
    pipe = Pipeline(2, 1, seed=1)
    with pipe:
        data = fn.external_source(name="data", layout="HWC")
        coin = fn.random.coin_flip(name="coin")
        fn.random.uniform(name="unused")
        pipe.set_outputs(fn.flip(data, horizontal=coin, name="flip"), data)
    return pipe


def drawn(pipe, path, *args, **options):
    pipe.save_graph_to_dot_file(path, *args, **options)
    return parse(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.dot"


def test_a_drawing_has_operators_and_edges(path):
    graph = drawn(define(), path)
    assert graph.nodes.keys() == {"data", "coin", "flip", "output 0", "output 1"}
    assert graph.nodes["flip"] == {"label": "flip\nfn.flip"}
    assert graph.between("data", "flip") == [{}]
    assert graph.between("coin", "flip") == [{"label": "horizontal", "style": "dashed"}]
    assert graph.between("flip", "output 0") == graph.between("data", "output 1") == [{}]
    assert len(graph.edges) == 4


def test_show_tensors_draws_the_data_nodes(path):
    graph = drawn(define(), path, show_tensors=True)
    boxes = {name for name, a in graph.nodes.items() if a.get("shape") == "box"}
    assert len(boxes) == 3
    (box,) = (end for start, end, _ in graph.edges if start == "data")
    assert graph.nodes[box]["label"] == "data\nHWC"
    assert graph.between(box, "flip") == graph.between(box, "output 1") == [{}]
    assert not graph.between("data", "flip")
    (coin,) = (end for start, end, _ in graph.edges if start == "coin")
    assert graph.between(coin, "flip") == [{"label": "horizontal", "style": "dashed"}]


def test_show_ids_numbers_the_nodes(path):
    graph = drawn(define(), path, show_ids=True)
    labels = [graph.nodes[name]["label"].partition("\n")[0] for name in ("data", "coin", "flip")]
    assert labels == ["0: data", "1: coin", "2: flip"]
    tensors = drawn(define(), path, show_ids=True, show_tensors=True)
    assert {a["label"] for a in tensors.nodes.values() if a.get("shape") == "box"} == {
        "0.0: data\nHWC",
        "1.0: coin",
        "2.0: flip",
    }


def test_use_colors_marks_the_stages(path):
    plain_graph = drawn(define(), path)
    assert not any("fillcolor" in a for a in plain_graph.nodes.values())
    graph = drawn(define(), path, show_tensors=True, use_colors=True)
    colors = {name: a["fillcolor"] for name, a in graph.nodes.items()}
    assert all(a["style"] == "filled" for a in graph.nodes.values())
    outputs = {color for name, color in colors.items() if name.startswith("output")}
    assert outputs == {"lightgray"}
    assert {c for name, c in colors.items() if not name.startswith("output")} == {"lightblue"}
    assert len(set(graphviz._COLORS.values()) | outputs) == 4  # one per stage, and the outputs


def test_the_options_may_be_positional(path):
    by_position = drawn(define(), path, True, True, True)
    assert by_position == drawn(define(), path, show_tensors=True, show_ids=True, use_colors=True)
    assert drawn(define(), path, False, None, False) == drawn(define(), path)


def test_several_inputs_are_numbered(path):
    pipe = Pipeline(2, 1)
    with pipe:
        image = fn.external_source(name="image")
        anchor = fn.random.uniform(name="anchor", shape=[2])
        pipe.set_outputs(fn.decoders.image_slice(image, anchor, anchor, name="cut"))
    graph = drawn(pipe, path)
    assert graph.between("image", "cut") == [{"label": "0"}]
    assert graph.between("anchor", "cut") == [{"label": "1"}, {"label": "2"}]


def test_conditions_are_dotted(path):
    pipe = Pipeline(2, 1)
    with pipe:
        coin = fn.cast(fn.random.coin_flip(), dtype=types.BOOL, name="coin")
        for name, value in (("taken", True), ("else", False)):
            parts_of(pipe).definition.scope.guards = ((coin, value),)
            pipe.add_sink(fn.random.uniform(name=name))
        parts_of(pipe).definition.scope.guards = ()
        pipe.set_outputs(coin)
    graph = drawn(pipe, path)
    assert graph.between("coin", "taken") == [{"label": "if", "style": "dotted"}]
    assert graph.between("coin", "else") == [{"label": "if not", "style": "dotted"}]
    assert "if not coin" in parts_of(pipe).picture().table()


def test_merged_operators_are_drawn_once(path):
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(*(fn.random.uniform(seed=3) for _ in range(2)))
    graph = drawn(pipe, path)
    assert len(graph.nodes) == 3
    assert len(graph.edges) == 2


ODD_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(
    st.lists(
        ODD_NAMES
        | st.sampled_from(['a"b', "a\\", "\\", "output 0", "a output 0", "a\nb", "]; {", "&lt;"]),
        unique=True,
        min_size=2,
        max_size=4,
    )
)
def test_any_name_is_quoted(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("dot") / "graph.dot"
    pipe = Pipeline(2, 1)
    with pipe:
        made = [fn.random.uniform(name=name) for name in names]
        pipe.set_outputs(*made)
    for tensors in (False, True):
        graph = drawn(pipe, path, show_tensors=tensors)
        labels = [a["label"].rpartition("\n")[0] for a in graph.nodes.values() if "label" in a]
        printable = [n for n in names if all(c.isprintable() or c == "\n" for c in n)]
        assert set(printable) <= set(labels)
        assert len(graph.nodes) == len(names) * (3 if tensors else 2)


def test_unprintable_characters_are_escaped():
    assert graphviz._quoted("a\x00\udcff") == r'"a\\u0000\\udcff"'


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(OSError, match="Is a directory"):
        define().save_graph_to_dot_file(str(tmp_path))


# -- pictures by Graphviz


@pytest.fixture
def dot_program(tmp_path, monkeypatch):
    """Makes a program `dot`, alone in PATH, from the lines of a shell script."""

    def make(script):
        program = tmp_path / "bin" / "dot"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/bin{os.pathsep}/usr/bin")

    return make


@for_each("suffix", ["PNG", "pdf"])
def test_graphviz_draws_other_pictures(suffix, tmp_path, dot_program):
    dot_program('echo "$1"; cat')
    path = tmp_path / f"graph.{suffix}"
    define().save_graph_to_dot_file(path)
    options, text = path.read_text().split("\n", 1)
    assert options == f"-T{suffix.lower()}"
    assert parse(text) == drawn(define(), tmp_path / "graph.dot")


def test_a_png_file_without_graphviz_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        NotImplementedError, match=r"`dot` is not installed.*\.png(.|\n)*\.svg file"
    ):
        define().save_graph_to_dot_file(tmp_path / "graph.png")
    assert not (tmp_path / "graph.png").exists()


def test_a_program_that_fails_or_hangs_is_an_error(tmp_path, dot_program, monkeypatch):
    monkeypatch.setattr(graphviz, "_TIMEOUT_S", 0.2)
    dot_program("echo 'no such font' >&2; exit 3")
    with pytest.raises(RuntimeError, match="no such font"):
        define().save_graph_to_dot_file(tmp_path / "graph.png")
    (tmp_path / "bin" / "dot").write_text("#!/bin/sh\nexec sleep 1000\n")
    with pytest.raises(RuntimeError, match="took more than"):
        define().save_graph_to_dot_file(tmp_path / "graph.png")


needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@needs_graphviz
def test_graphviz_shows_names_unchanged(path):
    names = ['a"b', "a\\", "\\N", "output 0", "]; {", "&lt;", "<b>", "\u00e9\u4e2d", "a\x01"]
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(*(fn.random.uniform(name=name) for name in names))
    pipe.save_graph_to_dot_file(path, show_tensors=True, show_ids=True)
    done = subprocess.run(["dot", "-Tsvg", path], capture_output=True, timeout=60, check=True)
    texts = re.findall(r"<text[^>]*>(.*?)</text>", done.stdout.decode())
    shown = {html.unescape(text).replace("\xa0", " ") for text in texts}
    assert {f"{i}: {name}" for i, name in enumerate(names[:-1])} <= shown
    assert "8: a\\u0001" in shown


@needs_graphviz
def test_graphviz_accepts_the_file(path):
    for options in ({}, {"show_tensors": True, "show_ids": True, "use_colors": True}):
        drawn(define(), path, **options)
        done = subprocess.run(["dot", "-Tsvg", path], capture_output=True, timeout=60, check=True)
        assert b"<svg" in done.stdout
        assert not done.stderr


# -- notebooks


class Balanced(HTMLParser):
    """Fails if tags are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_notebook_shows_a_picture():
    for build in (False, True):
        pipe = define()
        if build:
            pipe.build()
        text = pipe._repr_html_()
        assert "Pipeline: batch_size=2, num_threads=1, " in text
        ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
        assert 'data-from="coin" data-to="flip"' in text
        assert 'data-name="unused"' not in text


def test_a_notebook_shows_very_many_operators_as_a_table(monkeypatch):
    monkeypatch.setattr(draw, "_MOST_IN_NOTEBOOK", 2)
    text = define()._repr_html_()
    Balanced(text)
    assert "<td>flip</td><td>fn.flip</td><td>data, horizontal=coin</td>" in text
    assert "test_drawing.py:" in text
    assert "returns flip, data" in text
    assert "<td>unused</td>" not in text


def test_a_table_escapes_and_shortens_text(monkeypatch):
    monkeypatch.setattr(draw, "_MOST_IN_NOTEBOOK", 0)
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.random.uniform(name="<b>", values=[float(i) for i in range(1000)]))
    text = pipe._repr_html_()
    Balanced(text)
    assert "&lt;b&gt;" in text
    assert "..." in text
    assert len(text) < 1000


def test_any_pipeline_can_be_shown(monkeypatch):
    closed = define()
    closed.close()
    for pipe in (Pipeline(), closed):
        Balanced(pipe._repr_html_())
    broken = define()
    monkeypatch.setattr(parts_of(broken), "picture", lambda: 1 / 0)
    assert "ZeroDivisionError" in broken._repr_html_()
