# SPDX-License-Identifier: Apache-2.0
"""The guide's features are those of torchaudio, librosa, Whisper and NeMo."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.audio.clips import speech
from torchdali import fn, pipeline_def

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "audio.md"
# Decibels of values near the least; the rest of the features are scaled to about 1.
LARGEST = {"torchaudio_mel": 5e-3, "librosa_mel": 1e-3, "whisper_mel": 1e-4, "nemo_mel": 1e-3}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    python = os.environ.get("TORCHDALI_PEERS_PYTHON")
    if python is None:
        pytest.skip("TORCHDALI_PEERS_PYTHON is not set: `make peers` installs the libraries")
    folder = tmp_path_factory.mktemp("features")
    np.save(folder / "signal.npy", speech(3.0, 16000, 5)[:47333])
    program = ROOT / "tests" / "docs" / "audio_conventions.py"
    done = subprocess.run(
        [python, program, folder / "signal.npy", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named" in done.stderr:
        pytest.skip(f"peers are incomplete: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", LARGEST)
def test_features_are_those_of_the_library(name, expected, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (block,) = (text for text in blocks if "def hann" in text)
    # In a file, since pipeline definitions need their source.
    path = tmp_path / "guide.py"
    head = "import numpy as np\nfrom torchdali import fn, math\nRATE = 16000\n"
    path.write_text(head + block.partition("@pipeline_def")[0])
    spec = importlib.util.spec_from_file_location("guide", path)
    guide = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guide)
    signal = np.load(expected / "signal.npy")

    @pipeline_def(batch_size=1, num_threads=1)
    def features():
        return getattr(guide, name)(fn.external_source(lambda: [signal]))

    made = np.asarray(features().run()[0].at(0))
    wanted = np.load(expected / f"{name}.npy")
    assert made.shape == wanted.shape
    assert np.abs(made - wanted).max() < LARGEST[name]
