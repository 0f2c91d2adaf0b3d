# SPDX-License-Identifier: Apache-2.0
"""`torchdali doctor`: what it says about the loaders of training scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import programs
from helpers.cases import for_each
from torch.utils.data import DataLoader

from torchdali._cli.doctor import report
from torchdali._cli.watch import Watch

MAIN = Path(__file__).parents[2] / "torchdali" / "__main__.py"
SCRIPT = """
import sys, time
import numpy as np, torch
import torchdali
from torchdali import PipelineLoader, fn, pipeline_def
from torchdali.plugin.pytorch import DALIGenericIterator

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        time.sleep(0.003)
        return torch.zeros(3)

def nap(info):
    time.sleep(0.003)
    return np.zeros(3)

@pipeline_def(batch_size=4, num_threads=1, device_id=None)
def fed():
    return fn.external_source(nap, batch=False)

@pipeline_def(batch_size=4, num_threads=1, device_id=None)
def fast():
    return fn.random.uniform()

kind = sys.argv[1]
loader = {
    "torch": lambda: torch.utils.data.DataLoader(Slow(), 4),
    "shuffled": lambda: torch.utils.data.DataLoader(Slow(), 4, shuffle=True, num_workers=1),
    "ours": lambda: torchdali.DataLoader(Slow(), 4, shuffle=True),
    "source": lambda: DALIGenericIterator(fed(), ["x"]),
    "fast": lambda: PipelineLoader(fast(), size=400),
    "new": lambda: torch.utils.data.DataLoader(Slow(), 4, shuffle=True),
    "none": lambda: [],
    "fails": lambda: [1],
}[kind]()
if kind == "new":
    for _ in range(20):
        next(iter(loader))
for _ in range(3):
    for batch in loader:
        if kind == "fast":
            time.sleep(0.002)
        assert kind != "fails"
print("whole script", sys.argv[2:])
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("scripts") / "train.py"
    path.write_text(SCRIPT)
    return path


LOADER = "bottleneck: the loader"
CASES = {
    "torch": ["torch.DataLoader", LOADER, "num_workers is 0", "use shuffle=True", "torchdali.Data"],
    "shuffled": ["torch.DataLoader", LOADER, "persistent_workers=True"],
    "ours": ["torchdali.DataLoader", LOADER, "num_workers is 0"],
    "source": ["DALIGenericIterator", LOADER, r"train.py:21\) runs on the thread", "parallel=True"],
    "fast": ["torchdali.PipelineLoader", "bottleneck: the "],
    "new": ["a new iterator is made for each batch"],
}


@for_each("kind", CASES)
def test_the_bottleneck_and_mistakes_are_named(kind, script):
    done = programs.run(MAIN, "doctor", "--batches", "15", script, kind)
    assert done.returncode == 0, done.stderr
    for pattern in CASES[kind]:
        assert re.search(pattern, done.stdout), (pattern, done.stdout)
    assert f"{script.name}:" in done.stdout
    assert "whole script" not in done.stdout
    if kind in ("shuffled", "ours"):
        assert "use shuffle" not in done.stdout


def test_the_share_of_the_waits_decides():
    watch = Watch(DataLoader([1, 2], shuffle=True, num_workers=0))
    watch.batches, watch.iterators = 11, 1
    watch.wait_ns, watch.step_ns = 30_000_000, 70_000_000
    text = report(watch)
    assert "11 batches; per batch: wait 3 ms, step 6.36 ms" in text
    assert "The loop waits 30% of the time; without, it is 1.4 times as fast" in text
    assert "num_workers is 0" in text
    watch.wait_ns = 1_000_000
    text = report(watch)
    assert "bottleneck: the step. The loop waits 1.4% of the time\n  no mistakes found" in text
    watch.first_ns = 9_000_000_000
    assert "- the first batch takes 9 s" in report(watch)


def test_scripts_for_dali_are_watched(photos):
    program = Path(__file__).with_name("programs") / "imagenet.py"
    arguments = ("--batches", "2", "--as-dali", program, photos, "--dali_cpu")
    done = programs.run(MAIN, "doctor", *arguments)
    assert done.returncode == 0, done.stderr
    assert "imagenet.py:115: torchdali.DALIClassificationIterator\n  2 batches" in done.stdout


def test_arguments_and_failures_are_those_of_the_script(script, tmp_path):
    trace = tmp_path / "trace.json"
    done = programs.run(MAIN, "doctor", "--trace", trace, script, "fast", "--lr", "1")
    assert done.returncode == 0, done.stderr
    assert trace.read_text().startswith("{")
    done = programs.run(MAIN, "doctor", script, "none", "--lr", "1")
    assert done.returncode == 1
    assert done.stdout == "whole script ['--lr', '1']\n"
    assert "the script has used no loader" in done.stderr
    done = programs.run(MAIN, "doctor", script, "fails")
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
