# SPDX-License-Identifier: Apache-2.0
"""Operators over one clip of audio, from the file to features, give the same bytes as one step."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each

from torchdali import fn, pipeline_def


def wav(samples: int, rate: int = 16_000, channels: int = 1) -> np.ndarray[Any, Any]:
    """Returns the bytes of a file with a chirp and noise."""
    t = np.arange(samples * channels)
    x = 9000 * np.sin(t * t / 30_000) + np.random.default_rng(samples).normal(0, 500, t.size)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(x.astype("<i2").tobytes())
    return np.frombuffer(buffer.getvalue(), np.uint8)


CLIPS = [wav(16_000), wav(22_050, 22_050), wav(5001, channels=2), wav(37), wav(40_000, 8000)]


def chain(layout: str, reference: float, step: int) -> list[Any]:
    """Returns the values of a definition, the last one first."""
    files = fn.external_source(lambda: CLIPS)
    audio, _ = fn.decoders.audio(files, downmix=True, sample_rate=16_000)
    slower = fn.audio_resample(audio, scale=fn.random.uniform(range=(0.9, 1.1), seed=5))
    emphasized = fn.preemphasis_filter(slower, border="reflect")
    spectrum = fn.spectrogram(
        emphasized, nfft=512, window_length=320, window_step=step, layout=layout
    )
    mel = fn.mel_filter_bank(spectrum, sample_rate=16_000, nfilter=40)
    decibels = fn.to_decibels(mel, reference=reference, cutoff_db=-80)
    features = fn.mfcc(decibels, axis=layout.index("f"), n_mfcc=13)
    return [features, decibels, mel, spectrum, emphasized, slower, audio]


def run(*, whole: bool, upto: int, **args: Any) -> list[Any]:
    @pipeline_def(batch_size=len(CLIPS), num_threads=2, device_id=None, seed=3)
    def definition() -> Any:
        values = chain(**args)[upto:]
        # What is an output of the pipeline is not fused with what follows.
        return values[0] if whole else tuple(values)

    pipe = definition()
    pipe.build()
    text = str(pipe.plan())
    assert ("+ mel_filter_bank" in text) == whole, text
    batches = [pipe.run() for _ in range(2)]
    return [sample.clone() for batch in batches for sample in batch[0].as_torch_list()]


@for_each("layout", ["ft", "tf"])
@for_each("reference", [0.0, 1.0])
@for_each("upto", [0, 1])
@pytest.mark.parametrize("step", [160, 700])
def test_a_chain_gives_the_bytes_of_single_operators(layout, reference, upto, step):
    args = {"layout": layout, "reference": reference, "step": step, "upto": upto}
    fused, alone = run(whole=True, **args), run(whole=False, **args)
    assert all(torch.equal(a, b) for a, b in zip(fused, alone, strict=True))


def log_mel(files: list[Any], use_rate: bool = False, **decoding: Any) -> Any:
    @pipeline_def(batch_size=len(files), num_threads=1, device_id=None)
    def definition() -> Any:
        data = fn.external_source(lambda: files)
        audio, rate = fn.decoders.audio(data, **decoding)
        mel = fn.mel_filter_bank(fn.spectrogram(audio), nfilter=20)
        return (mel, rate) if use_rate else mel

    pipe = definition()
    pipe.build()
    return pipe


def test_files_of_one_channel_need_no_downmix():
    mono = [clip for clip in CLIPS if clip is not CLIPS[2]]
    fused, alone = log_mel(mono).run()[0], log_mel(mono, use_rate=True).run()[0]
    for a, b in zip(fused.as_torch_list(), alone.as_torch_list(), strict=True):
        assert torch.equal(a, b)


def test_a_decoder_whose_rate_is_used_runs_alone():
    pipe = log_mel([CLIPS[0]], use_rate=True, downmix=True)
    assert "+ spectrogram" not in str(pipe.plan())
    _, rates = pipe.run()
    assert rates.as_array().tolist() == [16_000]


def test_a_clip_that_does_not_fit_runs_one_by_one_and_its_error_names_the_operator():
    pipe = log_mel([CLIPS[0], CLIPS[2]])
    with pytest.raises(ValueError, match=r"(?s)spectrogram.*sample 1") as error:
        pipe.run()
    assert "decoders.audio" not in str(error.value).splitlines()[0]


def test_an_error_of_the_decoder_names_the_decoder():
    broken = CLIPS[0].copy()
    broken[:4] = 0
    with pytest.raises(RuntimeError, match=r"(?s)decoders\.audio.*sample 1"):
        log_mel([CLIPS[0], broken]).run()


def test_a_file_that_breaks_off_while_it_is_read_names_the_decoder():
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 60_000)
    soundfile.write(buffer, noise, 16_000, format="FLAC")
    whole = np.frombuffer(buffer.getvalue(), np.uint8)
    for files in ([whole], [CLIPS[0], whole[: whole.size // 2]]):
        pipe = log_mel(files)
        if len(files) == 1:
            pipe.run()
            continue
        with pytest.raises(RuntimeError, match=r"(?s)decoders\.audio.*sample 1"):
            pipe.run()
