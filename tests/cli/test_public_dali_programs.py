# SPDX-License-Identifier: Apache-2.0
"""Programs that import nvidia.dali run unchanged under `python -m torchdali.run`."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest
from helpers import programs
from helpers.detection_files import write_coco
from helpers.image_files import encode, photo_like
from helpers.protobuf import bytes_list, example, float_list, int64_list
from helpers.record_files import write_tfrecord
from helpers.tars import write_tar

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("programs")
KINDS = ("callable", "iterable")  # of sources


def output(*arguments: str | Path) -> list[str]:
    """Runs a program with the switch; returns the lines that it has printed."""
    run = ROOT / "torchdali" / "run.py"
    done = programs.run(run, *arguments, timeout=120, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Returns a TFRecord file of five photos, its index, and a tar archive of them."""
    folder = tmp_path_factory.mktemp("records")
    images = [encode(photo_like(30 + i, 40, i)) for i in range(5)]
    examples = [
        example(
            {
                "image/encoded": bytes_list([image]),
                "image/class/label": int64_list([i]),
                "image/object/bbox/xmin": float_list([0.5] * i),
            }
        )
        for i, image in enumerate(images)
    ]
    files = write_tfrecord(folder / "photos.tfrecord", examples)
    entries = {}
    for i, image in enumerate(images):
        entries |= {f"{i}.jpg": image, f"{i}.cls": str(i).encode()}
    archive = write_tar(folder / "photos.tar", entries)
    return files["path"], files["index_path"], archive


def test_imagenet_training(photos):
    found = output(FOLDER / "imagenet.py", photos, "--dali_cpu", "-b", "4")
    assert found == ["0 3 3 [5, 5] 10", "1 3 3 [5, 5] 10"]


def test_a_pipeline_of_the_first_releases(photos):
    assert output(FOLDER / "first_release.py", photos) == [
        "0 10 12",
        "1 10 8",
        "[[[1, 1, 1], [1, 1, 1]], [[2, 2, 2], [2, 2, 2]], [[3, 3, 3], [3, 3, 3]]]",
    ]


def test_ssd_on_coco(tmp_path):
    assert output(FOLDER / "detection.py", tmp_path, write_coco(tmp_path)) == [
        "0 3 [4, 3, 32, 32] [4, 16, 4] [4, 16]",
        "1 3 [4, 3, 32, 32] [4, 16, 4] [4, 16]",
        f"evaluated 12 {[1, 2, 3] * 4}",
    ]


def test_iterators(photos):
    found = output(FOLDER / "iterators.py", photos)
    assert found[1] == "FILL True 5 2 [[4, 4], [4, 4]] [[4, 4], [4, 4]]"
    assert found[3] == "PARTIAL True 5 2 [[4, 4], [1, 1]] [[4, 4], [1, 1]]"
    assert found[5] == "DROP True 5 1 [[4, 4]] [[4, 4]]"
    labels = [[0, 0, 0, 0], [0, 1, 1, 1], [1, 1]]
    assert found[6:] == [f"0 {labels}", f"1 {labels}", str([(4, 8, 8, 1)] * 4)]


@pytest.mark.slow  # workers that import torch
def test_external_sources():
    epochs = [30, 110, 190, "end"] * 2
    assert output(FOLDER / "sources.py") == [
        f"iterable {epochs}",
        f"generator {[0, 8, 16, 'end'] * 2}",
        f"callable {epochs}",
        f"batches {[0, 4, 8, 'end', 4, 8, 12, 'end']}",
        *(f"parallel {kind}, {m} {epochs}" for m in ("spawn", "fork") for kind in KINDS),
        *(f"fed {number}" for number in (0, 16, 32)),
    ]


@pytest.mark.slow
def test_the_proxy_of_a_dataloader(photos):
    batches = [
        "(4, 3, 16, 16) [0, 0, 0, 0]",
        "(4, 3, 16, 16) [0, 1, 1, 1]",
        "(2, 3, 16, 16) [1, 1]",
    ]
    expected = [f"{method} {batch}" for method in ("fork", "spawn") for batch in batches]
    assert output(FOLDER / "proxy.py", photos) == expected


def test_serialized_pipelines(photos, tmp_path):
    assert output(FOLDER / "serialized.py", photos, tmp_path) == [
        "text True",
        "file True 10",
        "old True",
        "meta 10 4 11",
        "[[[2], [1]]]",
    ]


def test_records(records):
    assert output(FOLDER / "records.py", *records) == [
        "5 [24, 24, 24]",
        "[0, 1, 2] [0, 1, 2]",
        f"{[[30 + i, 40, 3] for i in range(3)]} [b'0', b'1', b'2']",
    ]


def test_conditions_and_python_functions():
    assert output(FOLDER / "functions.py", "--debug") == [
        "[[54, 6, 24, 18], [5, 10, 20, 25]]",
        "[[0, 12], [0, 12], [0, 3]]",
        "[[3, 3]]",
        "1.35.0 True",
    ]


def test_automatic_augmentation(photos):
    kinds = ("auto", "rand", "trivial", "own")
    assert output(FOLDER / "augmented.py", photos) == [f"{k} (4, 24, 24, 3)" for k in kinds]


@pytest.mark.slow
def test_processes_of_all_kinds():
    assert output(FOLDER / "processes.py") == [
        "spawn (4, 'torchdali.fn')",
        "spawn [0, 2, 4, 6]",
        "fork (4, 'torchdali.fn')",
        "fork [0, 2, 4, 6]",
        "torchdali.fn 1.35.0",
    ]


@pytest.mark.slow
def test_ranks_of_torchrun(photos):
    arguments = ("-m", "torch.distributed.run", "--nproc-per-node", "2", FOLDER / "ranks.py")
    assert sorted(output(*arguments, photos)) == [
        "rank 0 of 2: [[0, 0, 0, 0], [0]] torchdali.fn",
        "rank 1 of 2: [[1, 1, 1, 1], [1]] torchdali.fn",
    ]


@pytest.mark.dali
@pytest.mark.slow
def test_programs_without_torch_print_the_same_in_dali(photos, records, tmp_path, dali_python):
    arguments = {
        "augmented": [photos],
        "functions": [],
        "records": records,
        "serialized": [photos, tmp_path],
        "sources": [],
    }
    for name, values in arguments.items():
        program = [FOLDER / f"{name}.py", *values]
        done = subprocess.run([dali_python, *program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == output(*program)


def test_the_programs_name_dali_only():
    for path in FOLDER.glob("*.py"):
        names = [
            name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (getattr(node, "module", None), *(alias.name for alias in node.names))
        ]
        assert not any(str(name).startswith("torchdali") for name in names), path
