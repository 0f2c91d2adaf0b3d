# SPDX-License-Identifier: Apache-2.0
"""Pages that torchdali makes, in a browser: of commands, of notebooks, and pictures of graphs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.chromium import SCHEMES, WIDTHS, Browser
from helpers.image_files import write_image_folder

import torchdali
from torchdali import Pipeline, fn, types
from torchdali._cli.main import main

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.usefixtures("keep_random_state"),  # for what DataLoader draws
]

LONG = "a name of a file which is so long that it needs several lines on a phone, or " * 2
SCRIPT = """
from torchdali import fn, pipeline_def, types

@pipeline_def(batch_size=64, seed=3)
def train(root):
    data, label = fn.readers.file(file_root=root)
    image = fn.decoders.image(data)
    angle = fn.random.uniform(range=[5, 20])
    image = fn.rotate(fn.resize(image, size=[96, 96]), angle=angle, fill_value=0)
    return {"image": image, "label": label, "angle": angle}
"""
# Contrast of each text with its background, by WCAG 2.2: the texts with less than 3.
FAINT = """() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const probe = document.documentElement.appendChild(document.createElement("div"));
  probe.style.backgroundColor = "Canvas";
  const canvas = numbers(getComputedStyle(probe).backgroundColor);
  probe.remove();
  const ground = e => {
    for (; e instanceof Element; e = e.parentElement) {
      const own = numbers(getComputedStyle(e).backgroundColor);
      if (own.length < 4 || own[3] > 0.9) return own;
    }
    return canvas;
  };
  const faint = [];
  for (const e of document.body.querySelectorAll("*")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (["STYLE", "SCRIPT", "title"].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const color = numbers(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(color), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 3) faint.push(`${e.textContent.slice(0, 40)}: ${ratio.toFixed(1)}`);
  }
  return faint;
}"""
# Texts of a picture that are wider than their box.
CUT_OFF = """() => [...document.querySelectorAll("g.operator, g.tensor, g.output")].filter(g => {
  const box = g.querySelector("rect").getBBox();
  return [...g.querySelectorAll("text")].some(text => text.getBBox().width > box.width);
}).map(g => g.textContent)"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_image_folder(tmp_path_factory.mktemp("data") / "photos", per_class=10)
    whole = (folder / "class_0" / "000.jpg").read_bytes()
    (folder / "class_0" / f"{LONG.strip()}.jpg").write_bytes(whole[: len(whole) // 2])
    return folder


def look(browser: Browser, path: Path, shown: str, name: str, pictures: int = 0) -> None:
    """Opens a page at each width and in both color schemes; fails for whatever is wrong.

    Args:
        browser: that opens it.
        path: of the page.
        shown: a selector of the main content.
        name: of the page, for whoever looks at the screenshots.
        pictures: how many it has.
    """
    for width in WIDTHS:
        for scheme in SCHEMES:
            with browser.visit(path.as_uri(), width, scheme) as visit:
                visit.keep(f"{name}-{width}-{scheme}")
                visit.assert_sound()
                assert visit.page.locator(shown).first.is_visible()
                assert visit.page.evaluate(FAINT) == []
                assert visit.page.evaluate(CUT_OFF) == []
                loaded = "() => [...document.images].filter(i => i.naturalWidth).length"
                assert visit.page.evaluate(loaded) == pictures


def test_the_report_of_inspect(browser, photos, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["inspect", str(photos), "--out", str(page)]) == 1
    assert "bad files: 1" in capsys.readouterr().out
    look(browser, page, "h1", "inspect", pictures=20)


def test_the_page_of_view(browser, photos, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    script, page = tmp_path / "script.py", tmp_path / "view.html"
    script.write_text(SCRIPT)
    (photos / "class_0" / f"{LONG.strip()}.jpg").unlink(missing_ok=True)
    assert main(["view", f"{script}:train", f"root={photos}", "--out", str(page)]) == 0
    look(browser, page, "figure img", "view", pictures=16)


def pipeline(photos: Path) -> Pipeline:
    pipe = Pipeline(batch_size=4, num_threads=2, device_id=None)
    with pipe:
        data, label = fn.readers.file(file_root=str(photos), name="photos")
        image = fn.decoders.image_random_crop(data, output_type=types.RGB)
        image = fn.resize(image, size=[64, 64])
        image = fn.rotate(image, angle=fn.random.uniform(range=[-9, 9]), fill_value=0)
        coin = fn.random.coin_flip(name="coin")
        pipe.set_outputs(fn.crop_mirror_normalize(image, mirror=coin, std=[50.0]), image, label)
    return pipe


def test_what_notebooks_show(browser, photos, tmp_path):
    (photos / "class_0" / f"{LONG.strip()}.jpg").unlink(missing_ok=True)
    pipe = pipeline(photos)
    outputs = pipe.run()
    loader = torchdali.DataLoader([1, 2, 3], batch_size=2)
    list(loader)
    shown = [pipe, outputs[1], pipe.plan(), pipe.stats(), loader.stats()]
    parts = [f"<section>{thing._repr_html_()}</section>" for thing in shown]
    page = tmp_path / "notebook.html"
    head = (
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    )
    style = "<style>:root { color-scheme: light dark } body { font: 14px sans-serif }</style>"
    page.write_text(head + style + "<body>" + "\n".join(parts), encoding="utf-8")
    pipe.close()
    look(browser, page, "svg.torchdali-graph g.operator", "notebook", pictures=4)


def test_pictures_of_graphs(browser, photos, tmp_path):
    (photos / "class_0" / f"{LONG.strip()}.jpg").unlink(missing_ok=True)
    path = tmp_path / "graph.svg"
    pipe = pipeline(photos)
    pipe.save_graph_to_dot_file(path, use_colors=True, show_tensors=True)
    for scheme, dark in (("light", False), ("dark", True)):
        with browser.visit(path.as_uri(), WIDTHS[0], scheme) as visit:
            visit.keep(f"graph-{scheme}")
            assert not visit.problems
            assert visit.page.evaluate(CUT_OFF) == []
            css = "() => getComputedStyle(document.querySelector('.ground')).fill"
            assert (visit.page.evaluate(css) == "rgb(13, 17, 23)") == dark


def test_the_page_of_a_profile(browser, photos, tmp_path):
    (photos / "class_0" / f"{LONG.strip()}.jpg").unlink(missing_ok=True)
    path = tmp_path / "profile.html"
    pipe = pipeline(photos)
    with torchdali.profile(path):
        pipe.run()
    pipe.close()
    look(browser, path, "canvas", "profile")
    with browser.visit(path.as_uri(), WIDTHS[0]) as visit:
        page, canvas = visit.page, visit.page.locator("canvas")
        works = page.locator("#sums td:first-child").all_inner_texts()
        assert {"sample", "readers.file"} < set(works)
        before = canvas.screenshot()
        page.get_by_role("button", name="Zoom in").click()
        assert canvas.screenshot() != before
        page.get_by_role("button", name="All").click()
        assert canvas.screenshot() == before
        box = canvas.bounding_box()
        texts = set()
        for part in range(1, 100):  # along the first lane
            page.mouse.move(box["x"] + box["width"] * part / 100, box["y"] + 22 + 20 + 8)
            texts.add(page.locator("#detail").inner_text().partition(":")[0])
        assert texts & set(works)
        assert not visit.problems
