# SPDX-License-Identifier: Apache-2.0
"""TORCHDALI_JPEG_DECODER: selects one of the two JPEG decoders.

tests/cpp/jpeg_decoder_test.cpp compares their pixels for every kind of file.
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

DIGEST = """
import hashlib
from helpers.encoded_images import decode, sample_files
pixels = decode("decoders.image", [sample_files()["jpeg_420"]])[0]
print(hashlib.sha256(pixels.tobytes()).hexdigest())
"""


def digest_with(choice: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "TORCHDALI_JPEG_DECODER": choice}
    command = [sys.executable, "-c", DIGEST]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("choice", ["own", "libjpeg-turbo", ""])
def test_both_decoders_give_the_same_pixels(choice):
    pixels = decode("decoders.image", [sample_files()["jpeg_420"]])[0]
    done = digest_with(choice)
    assert done.stdout.strip() == hashlib.sha256(pixels.tobytes()).hexdigest(), done.stderr


def test_an_unknown_decoder_is_an_error_at_import():
    assert 'TORCHDALI_JPEG_DECODER: unknown decoder "fast"' in digest_with("fast").stderr
