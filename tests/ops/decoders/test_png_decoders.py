# SPDX-License-Identifier: Apache-2.0
"""TORCHDALI_PNG_DECODER: selects one of the two PNG decoders.

tests/cpp/png_decoder_test.cpp compares their pixels for every kind of file.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest
from helpers.encoded_images import decode, sample_files

pytestmark = pytest.mark.slow

OPERATORS = ["decoders.image"]
NAMES = [name for name in sample_files() if name.startswith("png_")]

DIGEST = """
import hashlib
from helpers.encoded_images import decode, sample_files
for name, data in sample_files().items():
    if name.startswith("png_"):
        print(hashlib.sha256(decode("decoders.image", [data])[0].tobytes()).hexdigest())
"""


def digests_with(choice: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "TORCHDALI_PNG_DECODER": choice}
    command = [sys.executable, "-c", DIGEST]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("choice", ["own", "libpng", ""])
def test_both_decoders_give_the_same_pixels(choice):
    done = digests_with(choice)
    pixels = [decode("decoders.image", [sample_files()[name]])[0] for name in NAMES]
    expected = [hashlib.sha256(p.tobytes()).hexdigest() for p in pixels]
    assert done.stdout.split() == expected, done.stderr


def test_an_unknown_decoder_is_an_error_at_import():
    assert 'TORCHDALI_PNG_DECODER: unknown decoder "fast"' in digests_with("fast").stderr
