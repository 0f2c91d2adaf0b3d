# SPDX-License-Identifier: Apache-2.0
"""fn.decoders.audio: broken files, wrong arguments, and a missing library."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from helpers.audio_files import as_tensor, chunk, encoded, sound, to_pcm, wav
from helpers.cases import for_each
from helpers.ops import run_op

from torchdali import types
from torchdali.errors import DataError, UnsupportedError

OP = "decoders.audio"
OPERATORS = ["decoders.audio"]
X = to_pcm(sound(500, 2), 16)
WAV = wav(X)


def decode(file: bytes, **args) -> torch.Tensor:
    return run_op(OP, as_tensor(file), **args)[0]


@for_each(
    "file, message",
    [
        (b"", "the file is empty"),
        (b"no audio at all", "not audio: .*15 bytes"),
        (WAV[:12], "no `data` chunk in its 12 bytes"),
        (WAV[:30], "`fmt ` chunk has 10 bytes, expected 16"),
        (WAV[:12] + WAV[36:], "no `fmt ` chunk before its data"),
        (WAV[:36], "no `data` chunk"),
        (WAV[:12] + chunk(b"fmt ", bytes(14)) + WAV[36:], "`fmt ` chunk has 14 bytes"),
        (wav(X, before=b"LIST\xff\xff\xff\xff"), "no `data` chunk"),
        (wav(X, channels=0), "claims 0 channels"),
        (wav(X, channels=2000), "claims 2000 channels, expected at most 1024"),
        (wav(X, rate=0), "a sample rate of 0"),
        (wav(X, bits_claimed=0), "integers of 0 bits"),
        (wav(X, bits_claimed=64), "integers of 64 bits"),
        (wav(X, tag=3, bits_claimed=16), "floats of 16 bits"),
    ],
)
def test_broken_files(file, message):
    with pytest.raises(DataError, match=message):
        decode(file)


def test_a_truncated_flac_file_is_an_error():
    file = encoded(sound(20000), "FLAC", "PCM_16")
    with pytest.raises(DataError, match="it claims 20000 frames, but decoding ends after"):
        decode(file[: len(file) // 2])
    with pytest.raises(DataError, match="the FLAC file is truncated"):
        decode(file[:30])


def test_a_flac_file_that_claims_too_much_takes_no_memory():
    file = bytearray(encoded(sound(20000), "FLAC", "PCM_16"))
    assert file[:4] == b"fLaC"
    file[21] |= 0x0F  # the upper 4 of 36 bits of the length
    file[22:26] = b"\xff\xff\xff\xff"
    with pytest.raises(DataError, match="FLAC file is broken or truncated"):
        decode(bytes(file))


def test_formats_that_are_recognized_only():
    pytest.importorskip("soundfile")
    with pytest.raises(UnsupportedError, match="MPEG-4"):
        decode(b"\0\0\0\x18ftypM4A " + bytes(100))


@for_each("encoding", ["VORBIS", "OPUS"])
def test_chained_streams(encoding):
    first, second = (encoded(sound(20000, seed=i), "OGG", encoding) for i in range(2))
    assert len(decode(first)) == 20000
    with pytest.raises(UnsupportedError, match="several streams, one after another"):
        decode(first + second)


def test_without_the_library_the_error_says_what_to_install():
    program = """
import sys
import torch
from helpers.ops import run_op
from torchdali.errors import UnsupportedError
for file in (b"FORM\\0\\0\\0\\0AIFF" + bytes(60), b"OggS" + bytes(60)):
    try:
        run_op("decoders.audio", torch.tensor(list(file), dtype=torch.uint8))
    except UnsupportedError as error:
        assert "pip install soundfile" in str(error) and "libsndfile1" in str(error), error
    else:
        sys.exit("no error")
"""
    environment = {
        **os.environ,
        "TORCHDALI_SNDFILE_LIBRARY": "/nowhere/libsndfile.so",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@for_each(
    "args, message",
    [
        ({"dtype": types.FLOAT64}, "`dtype` is float64, expected float32, int16 or int32"),
        ({"quality": 101.0}, "quality"),
        ({"sample_rate": -1.0}, "`sample_rate` is -1, expected a finite number, 0 or more"),
        ({"sample_rate": float("nan")}, "`sample_rate` is nan"),
        ({"start": -0.1}, "`start` is -0.1 s, expected 0 or more"),
        ({"duration": -1.0}, "`duration` is -1 s, expected 0 or more"),
        ({"start": float("nan")}, "`start` is nan"),
        ({"start": 1.0}, r"`start` is 1 s, but the file ends at 0.03125 s"),
        ({"start": float("inf")}, "`start` is inf s, but the file ends"),
    ],
)
def test_wrong_arguments(args, message):
    with pytest.raises((ValueError, TypeError), match=message):
        decode(WAV, **args)


def test_other_inputs_are_refused():
    with pytest.raises(TypeError, match="1-D tensors of uint8, got float32"):
        run_op(OP, torch.zeros(3))


def test_the_rate_of_zero_keeps_that_of_the_file():
    assert decode(WAV, sample_rate=0.0).shape == (500, 2)
    assert np.array_equal(decode(WAV, sample_rate=16000.0), decode(WAV))
