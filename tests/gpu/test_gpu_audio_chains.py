# SPDX-License-Identifier: Apache-2.0
"""Operators over clips of audio that are fused into one kernel on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.gpu_chains import Batch, Definition

from torchdali import fn, pipeline_def
from torchdali.errors import TorchdaliError

pytestmark = pytest.mark.usefixtures("backend")

SPEECH: dict[str, Any] = {"nfft": 512, "window_length": 320, "window_step": 160}
MEL: dict[str, Any] = {"nfilter": 40, "sample_rate": 16000.0, "freq_high": 8000.0}


def clips(*lengths: int) -> Batch:
    """Returns noise, which is louder at the end."""
    rng = np.random.default_rng(7)
    return [(rng.standard_normal(n) * np.linspace(0.1, 1, n)).astype(np.float32) for n in lengths]


def run(define: Definition, batch: Batch, device: str) -> tuple[list[Any], list[str], list[int]]:
    """Returns the samples, their layouts, and the numbers of operators of the fused steps."""

    @pipeline_def(batch_size=len(batch), num_threads=1, device_id=None)
    def definition() -> Any:
        x = fn.external_source(source=lambda: batch, batch=True)
        return define(x.gpu() if device == "gpu" else x)

    with definition() as pipe:
        fused = [len(step.operators) for step in pipe.plan() if step.fused]
        outputs = pipe.run()
        return (
            [s.cpu().clone() for o in outputs for s in o.as_torch_list()],
            [o.layout() for o in outputs],
            fused,
        )


def check(define: Definition, batch: Batch, monkeypatch: Any, fused: list[int]) -> None:
    """Fused operators equal single ones, bit for bit, and those of the CPU nearly."""
    monkeypatch.setenv("TORCHDALI_FUSION", "0")
    single, single_layouts, steps = run(define, batch, "gpu")
    assert not steps
    cpu, cpu_layouts, _ = run(define, batch, "cpu")
    monkeypatch.setenv("TORCHDALI_FUSION", "1")
    ours, layouts, steps = run(define, batch, "gpu")
    assert steps == fused
    assert layouts == single_layouts == cpu_layouts
    for a, b, c in zip(ours, single, cpu, strict=True):
        assert torch.equal(a, b)
        torch.testing.assert_close(a, c, rtol=0, atol=1e-5 * max(c.abs().max().item(), 1.0))


@for_each("layout", ["ft", "tf"])
@for_each("reference", [0.0, 1.0])
def test_log_mel_is_one_kernel(layout, reference, monkeypatch):
    def define(x: Any) -> Any:
        x = fn.spectrogram(x, layout=layout, **SPEECH)
        x = fn.mel_filter_bank(x, **MEL)
        return fn.to_decibels(x, reference=reference, cutoff_db=-80.0)

    # The last block of frames is full, or has one frame, and the clips end there.
    check(define, clips(8000, 1121, 1, 7 * 160, 8 * 160), monkeypatch, fused=[3])


@for_each(
    "spectrum",
    [
        {},
        {"nfft": 400, "window_length": 400, "window_step": 160},
        {"nfft": 2048, "window_length": 1200, "power": 1},
        {"nfft": 225, "window_length": 200, "center_windows": False},
        {"nfft": 64, "window_length": 64, "window_step": 3, "reflect_padding": False},
    ],
)
def test_each_part_of_the_chain_may_be_missing(spectrum: dict[str, Any], monkeypatch):
    def define(x: Any) -> Any:
        # Equal operators would be merged.
        a = fn.spectrogram(x, **spectrum)
        b = fn.spectrogram(x, layout="tf", **spectrum)
        c = fn.spectrogram(x, **{**spectrum, "window_step": 90})
        return (
            fn.to_decibels(a),
            fn.mel_filter_bank(b, nfilter=10, normalize=False),
            fn.to_decibels(fn.mel_filter_bank(c, nfilter=10)),
        )

    check(define, clips(3000, 1400), monkeypatch, fused=[2, 2, 3])


def test_silence_has_the_cutoff(monkeypatch):
    def define(x: Any) -> Any:
        return fn.to_decibels(fn.mel_filter_bank(fn.spectrogram(x, **SPEECH), **MEL))

    check(define, [np.zeros(2000, np.float32), *clips(2000)], monkeypatch, fused=[3])


@for_each("spectrum", [{"nfft": 251, "window_length": 128}, {"nfft": 12500}])
def test_transforms_that_do_not_fit_run_one_by_one(spectrum: dict[str, Any], monkeypatch):
    def define(x: Any) -> Any:
        return fn.to_decibels(fn.mel_filter_bank(fn.spectrogram(x, **spectrum), nfilter=10))

    check(define, clips(1500, 700), monkeypatch, fused=[3])


def test_operators_in_another_order_run_one_by_one(monkeypatch):
    def define(x: Any) -> Any:
        x = fn.to_decibels(fn.spectrogram(x, **SPEECH), reference=1.0, cutoff_db=-20.0)
        return fn.mel_filter_bank(x, **MEL)

    check(define, clips(1500, 700), monkeypatch, fused=[3])


def test_errors_are_those_of_single_operators(monkeypatch):
    def define(x: Any) -> Any:
        x = fn.spectrogram(x, center_windows=False, **SPEECH)
        return fn.to_decibels(fn.mel_filter_bank(x, **MEL))

    texts = []
    for fusion in ("0", "1"):
        monkeypatch.setenv("TORCHDALI_FUSION", fusion)
        with pytest.raises(TorchdaliError, match="too short") as error:
            run(define, clips(1500, 7), "gpu")
        texts.append(str(error.value))
    assert texts[0] == texts[1]
