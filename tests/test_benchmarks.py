# SPDX-License-Identifier: Apache-2.0
"""The benchmark harness measures, reports and compares; speeds are not tested."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import audio, compare, harness, report, scheduler, tables
from benchmarks.audio import clips, decoding, log_mel, resampling
from benchmarks.ops import overhead
from benchmarks.peers import cpu_seconds

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


def result(peer: str, speed: float, threads: int = 2) -> dict:
    rounds = [speed * f for f in (0.98, 1.0, 1.03)]
    metrics = {m: harness.spread(rounds) for m in ("images_per_s", "images_per_cpu_s")}
    return {
        "benchmark": "benchmarks.pipelines.imagenet",
        "peer": peer,
        "axes": {"threads": threads},
        "versions": {"torch": "2.13.0"},
        "metrics": metrics,
    }


def document(*results: dict) -> dict:
    settings = {"rounds": 3, "seconds": 1.0, "batch": 64, "files": 10, "file_bytes": 1_000_000}
    return harness.document(settings, list(results))


def test_a_round_measures_what_the_peer_did():
    results = harness.measure(
        overhead.__name__,
        ["torchdali"],
        {"threads": 1, "source": "native", "operators": 1},
        harness.iteration_time,
        rounds=2,
        seconds=0.05,
        warm_up=3,
    )
    assert results[0]["versions"]["torch"]
    values = results[0]["metrics"]["us_per_iteration"]
    assert len(values["rounds"]) == 2
    assert 0 < values["low"] <= values["median"] <= values["high"]


def test_an_absent_peer_is_reported_with_the_reason(monkeypatch):
    monkeypatch.delenv("TORCHDALI_DALI_PYTHON", raising=False)
    results = harness.measure(
        overhead.__name__,
        ["dali"],
        {"threads": 1, "source": "native", "operators": 0},
        harness.iteration_time,
        rounds=1,
        seconds=0.05,
        warm_up=0,
    )
    assert "make dali" in results[0]["absent"]
    assert "metrics" not in results[0]


def test_cpu_time_includes_running_children():
    child = subprocess.Popen(
        [sys.executable, "-c", "import time\nwhile True: pass"], stdout=subprocess.DEVNULL
    )
    try:
        before = cpu_seconds()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.5)
        assert cpu_seconds() - before > 0.05
    finally:
        child.kill()
        child.wait()


def test_tables_show_peers_ratios_and_absences():
    absent = {**result("dali-plain", 1), "absent": "not installed"}
    text = tables.tables(
        document(result("torchdali-plain", 200), result("dataloader", 100), absent)
    )
    assert "| torchdali | 200 ± 5 |" in text
    assert "(2.00) |" in text
    assert "absent" in text
    assert "not installed" in text


def test_tables_are_written_between_their_marks():
    page = "before\n<!-- benchmarks:pipeline -->\nold\n<!-- /benchmarks -->\nafter\n"
    filled = report.filled(page, document(result("torchdali-plain", 200)))
    assert "old" not in filled
    assert "200 ± 5" in filled
    assert filled.startswith("before\n")
    assert filled.endswith("after\n")
    assert report.filled(filled, document(result("torchdali-plain", 200))) == filled


def test_a_table_may_use_results_of_another_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    page = "<!-- benchmarks:pipeline@avx2 -->\nold\n<!-- /benchmarks -->\n"
    here = document(result("torchdali-plain", 200))
    with pytest.raises(SystemExit, match="avx2 holds no result"):
        report.filled(page, here)
    (tmp_path / "avx2").mkdir()
    there = document(result("torchdali-plain", 400))
    (tmp_path / "avx2" / "a.json").write_text(json.dumps(there))
    filled = report.filled(page, here)
    assert "400 ± 10" in filled
    assert "200 ± 5" not in filled
    assert report.filled(filled, here) == filled


def test_the_chart_is_well_formed():
    from xml.etree import ElementTree

    chart = report.chart(document(result("torchdali-plain", 200), result("dali-fused", 120)))
    assert ElementTree.fromstring(chart).tag.endswith("svg")


@pytest.mark.parametrize(
    ("ours", "peer", "failed"),
    [(200, 100, False), (185, 100, True), (185, 92, False), (260, 100, False)],
    ids=["equal", "slower", "slower machine", "faster"],
)
def test_compare_fails_past_the_threshold(ours, peer, failed, tmp_path):
    old = document(result("torchdali-plain", 200), result("dali-plain", 100))
    new = document(result("torchdali-plain", ours), result("dali-plain", peer))
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, content in zip(paths, (old, new), strict=True):
        path.write_text(json.dumps(content))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.compare", *map(str, paths), "--threshold", "0.05"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == failed, done.stdout + done.stderr


def test_compare_ignores_small_differences_of_memory():
    assert compare.gain("growth_mb", 1.0, 4.0) == 0
    assert compare.gain("growth_mb", 1.0, 40.0) < 0
    assert compare.gain("images_per_s", 100, 110) == pytest.approx(0.1)
    assert compare.gain("us_per_iteration", 20, 40) == pytest.approx(-0.5)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_the_benchmark_of_the_scheduler_compiles_and_runs():
    results = scheduler.measure(rounds=1, seconds=0.001)
    assert [result.get("absent") for result in results] == [None] * len(results)
    assert results[0]["metrics"].keys() == {"wake_ns", "claim_ns"}


AUDIO = {
    log_mel: {"clips": "made", "threads": 1},
    decoding: {"work": "WAV, 5 s of 60 s at 16 kHz", "threads": 1},
    resampling: {"rates": "44.1 → 16 kHz", "threads": 1},
}


@pytest.mark.parametrize("module", AUDIO, ids=lambda m: m.__name__.rpartition(".")[2])
def test_a_round_of_audio_counts_seconds_of_audio(module):
    axes = {**AUDIO[module], "seed": 1, "data": None}
    (measured,) = harness.measure(
        module.__name__,
        ["torchdali"],
        axes,
        audio.throughput,
        rounds=1,
        seconds=0.01,
        warm_up=1,
    )
    assert measured["metrics"]["audio_s_per_cpu_s"]["median"] > 1, measured
    absent = {**measured, "peer": "dali", "absent": "not installed"}
    text = tables.tables(document(measured, absent))
    assert "seconds of audio per CPU-second" in text
    assert "absent |" in text
    assert "JPEG files" not in text


def test_the_duration_of_clips_is_known():
    (stereo,) = clips.made(1, 0.25, 8000, channels=2)
    assert clips.durations([stereo]) == [250]
    real = os.environ.get("TORCHDALI_DATA")
    if real is None:
        pytest.skip("TORCHDALI_DATA is not set")
    encoded = [clips.find(f"{real}/audio", kind) for kind in ("wav", "flac", "ogg")]
    lasting = [clips.durations([Path(p).read_bytes() for p in paths]) for paths in encoded]
    assert lasting[0] == lasting[1] == lasting[2]
    assert lasting[0][0] == 6130


def test_a_result_can_be_stored_as_json():
    content = document(result("torchdali-plain", 200))
    assert json.loads(json.dumps(content)) == copy.deepcopy(content)
