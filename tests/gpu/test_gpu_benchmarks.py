# SPDX-License-Identifier: Apache-2.0
"""benchmarks/gpu is run where a GPU is lent for minutes: what can run without one, runs here."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.encoded_images import jpeg
from helpers.image_files import photo_like

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import decisions, definitions, kernels, launches, overlap, training
from benchmarks.harness import spread
from benchmarks.tables.gpu import gpu_table

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    folder = tmp_path / "images"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.JPEG").write_bytes(jpeg(photo_like(40 + i, 50, seed=i)))
    return folder


@pytest.fixture
def options(folder: Path) -> definitions.Options:
    return definitions.Options(
        command.files_of(folder), threads=1, batch=2, rounds=2, seconds=0.01, steps=1
    )


def test_the_command_keeps_what_was_measured(folder, tmp_path):
    out = tmp_path / "result.json"
    words = "--threads 1 --batch 2 --rounds 1 --seconds 0.01 --limit 600"
    program = [sys.executable, "-m", "benchmarks.gpu", *words.split()]
    program += ["--data", str(folder), "--out", str(out)]
    done = subprocess.run(
        [*program, "--parts", "ways", "host", "launches", "kernels"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text())
    assert document["files"] == 3
    found = {(row["task"], row["way"]): row for row in document["ways"]}
    assert len(found) == 12
    for (_, way), row in found.items():
        # Its library is not there, or is one for a GPU that is not there.
        assert ("absent" in row) == (way == "nvjpeg"), row
    assert len(document["host"]) == 6
    # Pixels, packed coefficients, and codes with their tables.
    assert len({r["bytes"] for r in document["host"] if r["task"] == "whole images"}) == 3
    assert len(document["launches"]) == 4
    assert all("us" in row for row in document["launches"]), document["launches"]
    if not torch.cuda.is_available():
        assert document["problems"] == {"kernels": "exit code 1"}
    assert "hybrid" in done.stdout
    assert list(tmp_path.glob("result.*")) == [out]
    table = gpu_table(document)
    assert "| 10 operators, not fused |" in table
    assert "| whole images, gpu |" in table
    assert "- nvjpeg has no figures everywhere: " in table


def test_a_part_that_takes_too_long_is_stopped_and_its_rows_are_kept(tmp_path, monkeypatch):
    program = (
        "import json, sys, time\n"
        "out = sys.argv[sys.argv.index('--out') + 1]\n"
        "open(out, 'w').write(json.dumps([{'kernel': 'first'}]))\n"
        "time.sleep(60)\n"
    )
    script = tmp_path / "part.py"
    script.write_text(program)
    real = subprocess.run
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda words, **options: real([sys.executable, str(script), *words[3:]], **options),
    )
    found = command.run_apart("kernels", ["--data", "x"], tmp_path / "out.json", 2.0)
    assert found == {"rows": [{"kernel": "first"}], "problem": "stopped after 2 s"}


@pytest.mark.parametrize("name", kernels.CASES)
def test_kernels_are_as_many_as_the_name_says(name, folder):
    """And they write as many bytes as their share of the bandwidth is computed from."""
    case = kernels.CASES[name]
    images = torch.ones(2, kernels.HEIGHT, kernels.WIDTH, 3, dtype=torch.uint8)
    if case.reads != kernels.HEIGHT * kernels.WIDTH:
        images = images[:, : definitions.SIZE, : definitions.SIZE].contiguous()
    assert images[0].numel() == 3 * case.reads
    with kernels.pipeline_of(case, images) as pipe:
        # The source, whose data is on a real GPU already, has the first.
        steps = [step for step in pipe.plan().steps if step.runs == "GPU"][1:]
        made = pipe.run()[0].as_torch()
    if case.writes is not None:
        assert made[0].numel() == 3 * case.writes
        assert made.element_size() == case.itemsize
    if "in one kernel" in name:
        assert [step.fused for step in steps] == [True]
    else:
        assert not any(step.fused for step in steps)
    assert case.fuse == ("one kernel each" not in name)


def test_ten_operators_are_ten(folder):
    images = torch.zeros(2, launches.SIDE, launches.SIDE, 3, dtype=torch.uint8)
    pipe = launches.ten_operators(images, batch_size=2)
    pipe.build()
    pipe.run()
    names = [o.title for o in pipe.stats().operators if o.device == "gpu"]
    pipe.close()
    assert names.pop(0).startswith("copy.to_gpu")  # of the source
    assert len(names) == 10, names


class Net(torch.nn.Module):
    """A small network with as many classes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 1000, 16, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).mean((2, 3))


def test_training_states_the_share_of_synthetic_data(options):
    def make(name: str) -> torch.nn.Module:
        if name == "vit_b_16":
            raise RuntimeError("no such model")
        return Net()

    with torch.random.fork_rng(devices=[]):
        rows = list(training.rows(options, "cpu", make))
    assert [row["model"] for row in rows if "share" in row] == ["ResNet-50", "EfficientNet-B0"]
    assert [row["absent"] for row in rows if "absent" in row] == ["RuntimeError: no such model"]
    document = {**DOCUMENT, "training": rows}
    assert "| ViT-B/16; torchdali | absent: RuntimeError: no such model |" in gpu_table(document)


def chrome_trace() -> dict[str, Any]:
    def event(cat: str, name: str, stream: int, begin: float, length: float) -> dict[str, Any]:
        return {
            "ph": "X",
            "cat": cat,
            "name": name,
            "ts": 1000 + begin,
            "dur": length,
            "args": {"stream": stream},
        }

    return {
        "traceEvents": [
            event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 13, 0, 40),
            event("kernel", "void torchdali::gpu::run<torchdali::gpu::Flip>()", 7, 20, 10),
            event("kernel", "sm90_gemm", 0, 30, 50),
            event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 0, 80, 9),
            event("cpu_op", "aten::conv2d", 0, 0, 900),
            {"ph": "M", "name": "process_name"},
        ]
    }


def test_a_trace_tells_what_overlaps_and_is_drawn():
    spans = overlap.spans_of(chrome_trace())
    assert [(s["kind"], s["stream"], s["ts"]) for s in spans] == [
        ("copy", 13, 0),
        ("pipeline", 7, 20),
        ("training", 0, 30),
    ]
    found = overlap.overlap(spans)
    assert found == {
        "copies_us": 40,
        "copies_overlapped": 0.5,
        "kernels_busy": 60 / 80,
        "streams": 3,
    }
    drawn = overlap.picture(spans, "steps")
    assert drawn.count("#d97706") == drawn.count("#2563eb") == drawn.count("#9ca3af") == 1
    assert "copy to the GPU, stream 13" in drawn


def test_a_trace_is_kept_next_to_the_result(tmp_path, monkeypatch, options):
    monkeypatch.setattr(overlap, "_trace", lambda _: chrome_trace())
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "a GPU")
    changed = definitions.dataclasses.replace(options, trace=tmp_path / "result")
    (row,) = overlap.rows(changed)
    assert "overlapped with kernels" in gpu_table({**DOCUMENT, "overlap": [row]})
    stored = json.loads(gzip.decompress((tmp_path / "result.trace.json.gz").read_bytes()))
    assert overlap.overlap(overlap.spans_of(stored)) == overlap.overlap(stored["spans"])
    assert "a GPU" in (tmp_path / "result.overlap.svg").read_text()


DOCUMENT: dict[str, Any] = {
    "machine": {"gpu": "a GPU", "cpu": "a CPU"},
    "threads": 16,
    "torch": "2",
    "batch": 4,
    "files": 3,
}


def way(task: str, way: str, *rates: float) -> dict[str, Any]:
    row: dict[str, Any] = {"task": task, "threads": 4, "way": way}
    return {**row, "images_per_s": spread(list(rates))} if rates else {**row, "absent": "no GPU"}


def test_decisions_name_who_wins_clearly():
    rows = [
        way("crops", "cpu", 100, 101, 102),
        way("crops", "hybrid", 120, 119, 130),
        way("crops", "nvjpeg"),
        way("whole", "cpu", 100, 104),  # by less than the margin
        way("whole", "hybrid", 99, 98),
        way("whole", "nvjpeg", 50, 60),
        way("pixels", "cpu", 100, 80),  # the rounds are not apart
        way("pixels", "hybrid", 70, 85),
    ]
    assert decisions.decisions(rows) == {"cpu": [], "hybrid": ["crops, 4 threads"], "nvjpeg": []}
    table = decisions.decisions_table(rows)
    assert "| crops, 4 | 101 | **120** | absent |" in table
    assert "- cpu wins nowhere." in table


def test_the_stored_result_is_shown():
    for path in (ROOT / "benchmarks" / "results" / "gpu").glob("*.json"):
        table = gpu_table(json.loads(path.read_text()))
        assert table.count("| --- |") >= 3
