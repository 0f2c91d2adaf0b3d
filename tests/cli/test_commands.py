# SPDX-License-Identifier: Apache-2.0
"""The command `torchdali`: info, index, inspect, bench and view."""

from __future__ import annotations

import importlib
import io
import re
import shutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.detection_files import write_coco
from helpers.image_files import encode, photo_like
from helpers.protobuf import bytes_list, example, float_list, int64_list
from helpers.record_files import write_tfrecord
from helpers.tars import write_tar
from PIL import Image

from torchdali import fn, pipeline_def
from torchdali._cli import progress, sheet
from torchdali._cli.files import format_of
from torchdali._cli.main import COMMANDS, main

ROOT = Path(__file__).parents[2]


def run(capsys, *arguments: str | Path) -> tuple[int, str, str]:
    """Runs a command; returns its status and what it has printed."""
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_the_console_script_is_the_module():
    assert 'torchdali = "torchdali._cli.main:main"' in (ROOT / "pyproject.toml").read_text()
    assert "from torchdali._cli.main import main" in (ROOT / "torchdali/__main__.py").read_text()


@for_each("name", [*COMMANDS, ""])
def test_every_command_describes_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"] if name else ["--help"])
    assert ended.value.code == 0
    assert f"usage: torchdali {name or 'COMMAND'}" in capsys.readouterr().out


def test_errors_are_one_line(capsys):
    status, _, err = run(capsys, "inspect", "no_such_folder")
    assert (status, err.count("\n")) == (1, 1)
    assert err.startswith("torchdali inspect: ")
    with pytest.raises(SystemExit):
        main(["no_such_command"])


def test_info_is_that_of_the_module(capsys):
    status, out, _ = run(capsys, "info")
    assert status == 0
    assert out.startswith("torchdali ")


# -- index


def test_index_makes_indexes_of_containers(tmp_path, capsys):
    archive = write_tar(tmp_path / "a.tar", {"0.jpg": b"1", "0.cls": b"2"})
    assert run(capsys, "index", "webdataset", archive)[:2] == (0, f"{tmp_path / 'a.idx'}\n")
    assert (tmp_path / "a.idx").read_text().startswith("v1.2 1\n")


def test_index_makes_one_of_jpeg_files(photos, tmp_path, capsys):
    folder = shutil.copytree(photos, tmp_path / "photos")
    (folder / "bad.jpg").write_bytes(b"\xff\xd8\xff no")
    (folder / "other.png").write_bytes(b"not asked for")
    status, out, _ = run(capsys, "index", "jpeg", folder)
    assert status == 1
    assert re.fullmatch(r".*bad\.jpg: .+\n10 of 11 JPEG files are in the index\n", out)
    assert (folder / "torchdali-jpeg.index").stat().st_size > 10 * (24 + 10)


# -- inspect


@pytest.fixture
def mixed(photos, tmp_path):
    folder = shutil.copytree(photos, tmp_path / "mixed")
    whole = (folder / "class_0" / "000.jpg").read_bytes()
    (folder / "class_0" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "class_1" / "other.jpg").write_bytes(encode(photo_like(20, 30, 1), "PNG"))
    (folder / "notes.json").write_text("{}")
    return folder


def test_inspect_says_what_is_in_a_folder(mixed, tmp_path, capsys):
    page = tmp_path / "page.html"
    status, out, _ = run(capsys, "inspect", mixed, "--out", page)
    assert status == 1
    expected = [
        r"13 files, [\d.]+ kB",
        r"11 +[\d.]+ kB  JPEG",
        r"1 +[\d.]+ kB  PNG",
        "2 classes; 6 to 6 samples",
        "11 images decoded",
        r"height +20 to \d+, median \d+",
        "channels +3: 11",
        "bad files: 1\n.*cut.jpg: the JPEG file is truncated",
        "wrong names: 1\n.*other.jpg: is PNG",
    ]
    for pattern in expected:
        assert re.search(pattern, out), pattern
    text = page.read_text()
    assert text.count("<figure>") == 11
    assert "cut.jpg: the JPEG file is truncated" in text


def test_inspect_reads_archives(tmp_path, capsys):
    entries = {}
    for i in range(6):
        entries |= {f"{i}.jpg": encode(photo_like(20, 20 + i, i)), f"{i}.cls": b"%d" % (i % 3)}
    archive = Path(write_tar(tmp_path / "a.tar", entries))
    picture = tmp_path / "sheet.png"
    status, out, _ = run(capsys, "inspect", archive, "--limit", "3", "--out", picture)
    assert status == 0
    for pattern in ("12 files, .* in 1 tar archives", "3 classes; 2 to 2 samples", "3 images"):
        assert re.search(pattern, out), pattern
    with Image.open(picture) as image:
        assert image.size == (3 * 132, 132)
    archive.write_bytes(archive.read_bytes()[:3000])
    status, out, _ = run(capsys, "inspect", archive)
    assert status == 1
    assert re.search(r"bad files: [12]\n.*a\.tar", out)


def test_inspect_describes_records_and_annotations(tmp_path, capsys):
    features = {
        "image": bytes_list([encode(photo_like(8, 8, 0))]),
        "label": int64_list([3]),
        "box": float_list([0.5, 1.0]),
    }
    write_tfrecord(tmp_path / "a.tfrecord", [example(features)] * 3)
    (tmp_path / "b.tfrecord").write_bytes(b"\1" * 50)
    (tmp_path / "coco").mkdir()
    write_coco(tmp_path / "coco")
    status, out, _ = run(capsys, "inspect", tmp_path)
    assert status == 1
    assert "TFRecord: 3 records in 2 files\n  box: float\n  image: bytes (JPEG)\n  label" in out
    assert "all.json: 12 images, 24 annotations, 5 categories" in out
    assert re.search(r"bad files: 1\n.*b\.tfrecord: ", out)


@for_each("name", ["JPEG", "PNG", "BMP", "TIFF", "WEBP", "PPM", "GIF"])
def test_formats_are_known_by_their_first_bytes(name):
    data = encode(photo_like(8, 8, 0), name)
    wanted = {"WEBP": "WebP", "PPM": "PNM"}.get(name, name)
    assert format_of(data[:16]) == wanted
    assert format_of(b"no image at all!") is None


def test_a_sheet_has_its_pictures_in_rows():
    pixels = [np.full((10, 20, c), 40 * c, np.uint8) for c in (1, 3, 4)]
    pictures = [
        sheet.Picture(torch.from_numpy(values), str(i)) for i, values in enumerate(pixels * 3)
    ]
    with Image.open(io.BytesIO(sheet.sheet(pictures))) as image:
        found = np.asarray(image)
    assert found.shape == (2 * 132, 8 * 132, 3)
    corners = [int(found[132 * i, 132 * j, 0]) for i in range(2) for j in range(8)]
    assert corners == ([40, 120, 160] * 3)[:9] + [255] * 7
    assert found[100, 100].tolist() == [255, 255, 255]


# -- bench


@pytest.mark.usefixtures("keep_random_state")
def test_bench_measures_and_advises(photos, capsys):
    options = ("--size", "16", "--batch-size", "4", "--seconds", "0.02", "--workers", "1")
    status, out, _ = run(capsys, "bench", photos, "--num-threads", "1,2", *options)
    assert status == 0
    for pattern in (
        "10 images, crops of 16 x 16, batches of 4",
        r"\d+  torchdali, 1 thread\n",
        r"\d+  torchdali, 2 threads\n",
        r"\d+  torch DataLoader, 1 workers \(Pillow",
        r"use num_threads=[12]: \d+ images/s, [\d.]+ times as many as torch's DataLoader",
        "an epoch of 10 images takes",
    ):
        assert re.search(pattern, out), pattern
    assert "no images" in run(capsys, "bench", Path(__file__).parent)[2]


# -- view

SCRIPT = """
from torchdali import fn, pipeline_def, types

@pipeline_def(batch_size=64, seed=3)
def train(root, size):
    data, label = fn.readers.file(file_root=root)
    image = fn.decoders.image_random_crop(data)
    image = fn.rotate(fn.resize(image, size=[size, size]), angle=fn.random.uniform(range=[5, 9]))
    return {"image": fn.transpose(image, perm=[2, 0, 1]), "label": label}

def numbers():
    with __import__("torchdali").Pipeline(2, 1, None) as pipe:
        pipe.set_outputs(fn.random.uniform())
    return pipe

if __name__ == "__main__":
    raise SystemExit("it ran")
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_view_shows_images_and_what_they_were_made_of(script, photos, tmp_path, capsys):
    page, picture = tmp_path / "view.html", tmp_path / "view.png"
    arguments = (f"root={photos}", "size=24", "batch_size=3")
    assert run(capsys, "view", f"{script}:train", *arguments, "--out", page)[0] == 0
    text = page.read_text()
    assert (text.count("<figure>"), text.count("<img")) == (3, 6)
    assert "batch 0, output image, before and after" in text
    assert len(re.findall(r"<figcaption>\d: 3x\d\dx\d\d label=\[0\]", text)) == 3
    assert run(capsys, "view", f"{script}:train", *arguments, "--out", picture)[0] == 0
    with Image.open(picture) as image:
        assert image.size == (3 * 132, 2 * 132)


def test_the_originals_do_not_change_what_a_pipeline_draws(photos):
    from torchdali._cli import view

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=3)
    def train():
        image = fn.decoders.image_random_crop(fn.readers.file(file_root=photos)[0])
        return fn.resize(image, size=[16, 16])

    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def plain():
        image = fn.external_source(lambda: [np.zeros((8, 8, 3), np.uint8)] * 4, layout="HWC")
        return fn.flip(image), image

    expected = train().run()[0].as_array()
    pipe = train()
    assert view.add_originals(pipe) == (1, [1])
    assert view.add_originals(plain()) == (2, [2, None])
    np.testing.assert_array_equal(pipe.run()[0].as_array(), expected)


@for_each(
    ("name", "arguments", "text"),
    [
        ("no_such", [], "it has train, numbers"),
        ("train", [], "root"),
        ("numbers", [], "no images among its outputs"),
        ("SCRIPT", [], "has no SCRIPT"),
        ("train", ["root=/no/such/folder", "size=3"], "no such"),
    ],
)
def test_view_says_what_is_wrong(name, arguments, text, script, capsys):
    status, _, err = run(capsys, "view", f"{script}:{name}", *arguments)
    assert status == 1
    assert text in err.lower() if text == "no such" else text in err


# -- progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@for_each("installed", ["tqdm", "rich", ""])
def test_progress_shows_what_takes_long(installed, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_DELAY_S", 0.0)
    monkeypatch.setattr(progress, "_STEP_S", 0.0)
    original = progress._optional
    wanted = {installed, f"{installed}.progress"}
    monkeypatch.setattr(progress, "_optional", lambda n: original(n) if n in wanted else None)
    if installed:
        module = pytest.importorskip(installed)
        if installed == "tqdm":  # else a thread of it stays
            monkeypatch.setattr(module.tqdm, "monitor_interval", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(progress.track(iter(range(3)), "counting", 3)) == [0, 1, 2]
    assert "counting" in terminal.getvalue()


def test_progress_is_silent_in_files(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(progress.track([1, 2], "counting")) == [1, 2]
    assert sys.stderr.getvalue() == ""


@for_each("installed", ["tqdm", ""])
def test_progress_shows_a_first_item_that_takes_long(installed, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_DELAY_S", 0.001)
    original = progress._optional
    monkeypatch.setattr(progress, "_optional", lambda n: original(n) if n == installed else None)
    if installed:
        monkeypatch.setattr(pytest.importorskip(installed).tqdm, "monitor_interval", 0)
    for _ in progress.track(["one"], "counting"):
        deadline = time.monotonic() + 20
        while "counting: " not in terminal.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.001)


def test_programs_that_write_themselves_get_lines(monkeypatch):
    monkeypatch.setattr(progress, "_LINE_S", 0.0)
    for terminal, expected in ((Terminal(), "batches: 3 of 5\n"), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", terminal)
        progress.lines("batches", 5)(3)
        assert terminal.getvalue() == expected


class _Shown(Exception):
    pass


@for_each(
    ("module", "arguments"),
    [
        ("torchdali._cli.files", ["bench"]),
        ("torchdali._cli.samples", ["inspect"]),
        ("torchdali._cli.inspect", ["inspect"]),
        ("torchdali._cli.index", ["index", "jpeg"]),
        ("torchdali._cli.check", ["run", "--check"]),
    ],
)
def test_what_takes_long_shows_its_progress(module, arguments, photos, monkeypatch):
    def track(*_):
        raise _Shown

    monkeypatch.setattr(importlib.import_module(module), "track", track)
    with pytest.raises(_Shown):
        main([*arguments, str(photos)])
