# SPDX-License-Identifier: Apache-2.0
"""The field's benchmarks run, and their tables show them and what others published."""

from __future__ import annotations

import json
import re
import time

import pytest
from helpers.opencv import opencv
from PIL import Image

from benchmarks.field import __main__ as field
from benchmarks.field import batch_times, mlperf_storage
from benchmarks.field.options import Options
from benchmarks.field.photos import encoded_again
from benchmarks.field.published import PUBLISHED
from benchmarks.pipelines.files import find_files

pytestmark = pytest.mark.slow

FILES = 72  # two batches of each benchmark


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder of JPEG files, and a temporary folder of its own for what is made of them."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / "photos"
    folder.mkdir()
    picture = Image.effect_noise((80, 60), 50).convert("RGB")
    for number in range(FILES):
        picture.save(folder / f"{number}.jpg")
    return str(folder)


def test_pictures_are_written_in_the_size_of_the_benchmark(photos):
    opencv()
    for longer_side, enlarge, width in ((40, False, 40), (160, False, 80), (160, True, 160)):
        again = find_files(encoded_again(photos, longer_side, 90, enlarge=enlarge))
        assert len(again) == FILES
        with Image.open(again[0]) as image:
            assert image.size == (width, width * 60 // 80)


@pytest.mark.parametrize("part", ["ffcv_imagenet", "batch_times", "spdl_images", "s3_epochs"])
def test_a_quick_run_is_written_and_shown(part, photos, tmp_path, capsys):
    if part == "s3_epochs":
        for package in ("moto.server", "boto3", "obstore"):
            pytest.importorskip(package)
    opencv()
    out = tmp_path / "out.json"
    arguments = ["--data", photos, "--quick", "--peers", "torchdali", "--out", str(out)]
    field.main([*arguments, "--parts", part])
    text = capsys.readouterr().out
    (row,) = (line for line in text.splitlines() if line.startswith("| torchdali |"))
    assert re.search(r"[1-9]", row)
    assert PUBLISHED[part][0].figure in text
    (result,) = json.loads(out.read_text())["results"]
    assert all(values["median"] > 0 for values in result["metrics"].values())
    assert 0 <= result["other_work_percent"] <= 100


def test_the_spread_of_equal_batches_is_zero():
    found = batch_times.spread([(2.0, 1.0)] * 4 + [(2.0, 3.0)] * 4)
    assert found["deviation_percent"] == 0
    assert found["cpu_deviation_percent"] == pytest.approx(50)
    assert found["cpu_longest"] == pytest.approx(1.5)


class _Loader:
    """Makes batches at a fixed rate, on a clock of its own."""

    def __init__(self, model, batches_per_s):
        self._model, self._batch_s, self._accelerator_s = model, 1 / batches_per_s, 0.0

    def ask(self, request, *, method, batch_s):
        assert (request, method) == ("call", "take")
        self._accelerator_s = batch_s

    def measure(self, seconds, warm_up):
        wall = 100 * max(self._batch_s, self._accelerator_s)
        samples = 100 * self._model.batch
        return {"samples": samples, "batches": 100, "wall_s": wall, "cpu_s": 100 * self._batch_s}


def test_accelerators_are_as_many_as_are_busy_for_90_percent():
    model = mlperf_storage.MODELS["resnet50"]
    per_s = 3 * model.samples_per_s / model.batch  # feeds three, and 3 / 0.9 that wait for 10 %
    found = mlperf_storage.accelerators(_Loader(model, per_s), model, 1.0)
    assert 3.0 <= found["accelerators"] <= 3 / mlperf_storage.UTILISATION
    assert found["utilisation"] >= mlperf_storage.UTILISATION
    assert found["accelerators_per_cpu_s"] == pytest.approx(3)


def test_an_accelerator_takes_its_time():
    accelerator = mlperf_storage.Accelerator(lambda: 5)
    accelerator.take(0.02)
    begin = time.perf_counter()
    assert accelerator() == 5
    assert time.perf_counter() - begin >= 0.02


def test_only_the_peers_that_were_asked_for_are_measured():
    assert Options("data", peers=("dali",)).chosen(["torchdali", "dali"]) == ["dali"]
    assert Options("data").chosen(["torchdali", "dali"]) == ["torchdali", "dali"]
