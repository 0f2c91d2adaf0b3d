# SPDX-License-Identifier: Apache-2.0
"""Operators that augment audio give the same bytes fused with a spectrogram and one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.cases import for_each

from torchdali import fn, pipeline_def

CLIPS = [
    torch.randn(length, generator=torch.Generator().manual_seed(length)) * 0.1
    for length in (16_000, 5000, 777, 40_000, 3)
]


def uniform(low: float, high: float) -> Any:
    return fn.random.uniform(range=(low, high), seed=99)


SIGNAL: dict[str, Callable[[Any], Any]] = {
    "dither": lambda x: fn.dither(x, amount=0.01, seed=1),
    "noise": lambda x: fn.noise.gaussian(x, mean=0.1, stddev=0.02, seed=2),
    "gain": lambda x: fn.gain(x, db=uniform(-6.0, 6.0), clip=True),
    "rms": lambda x: fn.gain(x, normalize="rms"),
    "stretch": lambda x: fn.time_stretch(x, rate=uniform(0.5, 2.0)),
}
MASKS: dict[str, dict[str, Any]] = {"value": {"value": -2.5}, "mean": {"fill_mean": True}}


def run(signal: tuple[str, ...], masks: str, layout: str, *, one_by_one: bool) -> list[Any]:
    @pipeline_def(batch_size=len(CLIPS), num_threads=2, device_id=None, seed=3)
    def definition() -> Any:
        values = [fn.external_source(lambda: CLIPS, layout="t")]
        for name in signal:
            values.append(SIGNAL[name](values[-1]))
        values.append(fn.spectrogram(values[-1], nfft=512, window_step=160, layout=layout))
        values.append(fn.spec_augment(values[-1], time_width=20, seed=4, **MASKS[masks]))
        # What is an output of the pipeline is not fused with what follows.
        return tuple(values[::-1]) if one_by_one else values[-1]

    pipe = definition()
    batches = [pipe.run() for _ in range(2)]
    outputs = [batch[0] for batch in batches]
    return [sample.clone() for output in outputs for sample in output.as_torch_list()]


@for_each(
    "signal",
    [
        ("dither",),
        ("gain", "dither"),
        ("stretch", "noise"),
        ("noise", "stretch", "gain"),
        ("rms", "dither"),
        ("stretch", "rms", "stretch"),
    ],
)
@for_each("masks", ["value", "mean"])
@pytest.mark.parametrize("layout", ["ft", "tf"])
def test_fused_results_equal_those_of_single_operators(signal, masks, layout):
    fused = run(signal, masks, layout, one_by_one=False)
    alone = run(signal, masks, layout, one_by_one=True)
    assert all(torch.equal(a, b) for a, b in zip(fused, alone, strict=True))
