# SPDX-License-Identifier: Apache-2.0
"""Nodes in debug mode: their values, and batches and arrays that replace them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.debug_mode import BATCH, debugged, images

from torchdali import errors, fn, pipeline_def, types
from torchdali.tensors import TensorCPU, TensorListCPU


def test_a_node_holds_its_values():
    seen = []

    def definition():
        x = fn.external_source(source=images, layout="HWC")
        y = fn.flip(x)
        seen.append((x, y, str(y)))
        return y

    (out,) = debugged(definition).run()
    x, y, text = seen[0]
    assert isinstance(y.get(), TensorListCPU)
    assert torch.equal(y.get().as_torch(), out.as_torch())
    assert torch.equal(y.get().as_torch(), x.get().as_torch().flip(2))
    assert (y.layout, y.ndim, y.dtype, y.device) == ("HWC", 3, types.UINT8, "cpu")
    assert text == repr(y)
    assert text.startswith('DataNodeDebug(\n    name="__Flip_')
    assert "dtype=DALIDataType.UINT8" in text
    assert str(int(y.get().at(0)[0, 0, 0])) in text


@pytest.mark.parametrize("use", [bool, iter, len])
def test_a_node_has_no_truth_value_and_no_items(use):
    def definition():
        return fn.copy(use(fn.random.coin_flip()))

    with pytest.raises(TypeError):
        debugged(definition).run()


def test_a_node_cannot_be_used_after_its_run():
    kept = []

    def definition():
        kept.append(fn.random.coin_flip())
        return kept[-1]

    pipe = debugged(definition)
    (batch,) = pipe.run()
    assert torch.equal(kept[0].get().as_torch(), batch.as_torch())
    with pytest.raises(errors.PipelineError, match=r"debug mode.*\n.*\n.*\n.*\.get\(\)"):
        fn.copy(kept[0])
    with pytest.raises(errors.PipelineError, match="debug mode"):
        pipeline_def(lambda: fn.copy(kept[0]), batch_size=1, num_threads=1)()
    with pytest.raises(errors.PipelineError, match="another pipeline"):
        debugged(lambda: fn.copy(kept[0])).run()


def test_a_node_made_outside_is_an_error():
    outside = fn.random.coin_flip()
    with pytest.raises(errors.PipelineError, match="outside the definition"):
        debugged(lambda: fn.copy(outside)).run()
    with pytest.raises(errors.PipelineError, match="outside the definition"):
        debugged(lambda: outside).run()


def test_a_breakpoint_sees_and_changes_values(monkeypatch):
    frames = []

    def hook():
        local = sys._getframe(1).f_locals
        frames.append(local["x"].get().as_array().copy())
        local["box"].append(local["x"].get().as_array() // 2)

    monkeypatch.setattr(sys, "breakpointhook", hook)

    def definition():
        box = []
        x = fn.external_source(source=images, layout="HWC")
        breakpoint()
        changed = TensorListCPU(box[0], layout="HWC")
        return x, fn.flip(changed), fn.cast(box[0], dtype=types.FLOAT)

    x, flipped, cast = debugged(definition).run()
    before = x.as_torch()
    assert np.array_equal(frames[0], before.numpy())
    assert torch.equal(flipped.as_torch(), (before // 2).flip(2))
    assert torch.equal(cast.as_torch(), (before // 2).float())


def test_values_changed_in_place_reach_the_next_operator():
    def definition():
        x = fn.external_source(source=images)
        x.get().as_array()[1:] = 7
        return fn.copy(x)

    (batch,) = debugged(definition).run()
    assert torch.equal(batch.as_torch()[0], images()[0])
    assert (batch.as_torch()[1:] == 7).all()


@for_each(
    "convert",
    [
        lambda samples: samples,
        lambda samples: [s.numpy() for s in samples],
        lambda samples: [TensorCPU(s, layout="HWC") for s in samples],
        torch.stack,
        lambda samples: np.stack([s.numpy() for s in samples]),
        TensorListCPU,
        lambda samples: TensorListCPU(samples, layout="HWC"),
    ],
    ids=["torch list", "numpy list", "TensorCPU list", "torch", "numpy", "batch", "with layout"],
)
def test_inputs_may_be_batches(convert):
    (batch,) = debugged(lambda: fn.copy(convert(images()))).run()
    assert torch.equal(batch.as_torch(), torch.stack(images()))


def test_arguments_may_be_batches():
    flags = np.array([1, 0, 1], np.int32)

    def definition():
        x = fn.external_source(source=images, layout="HWC")
        given = [
            TensorListCPU(flags),
            [np.array(f) for f in flags],
            [torch.tensor(f) for f in flags],
        ]
        return tuple(fn.flip(x, horizontal=each) for each in given)

    expected = torch.stack([s.flip(1) if f else s for s, f in zip(images(), flags, strict=True)])
    for batch in debugged(definition).run():
        assert torch.equal(batch.as_torch(), expected)


def test_lists_of_batches_are_several_calls():
    def definition():
        x = fn.external_source(source=images, layout="HWC")
        both = fn.flip([x, x.get()])
        coins, more = fn.random.coin_flip(), fn.random.coin_flip()
        return (*both, *fn.copy([coins, more]))

    first, second, coins, more = debugged(definition).run()
    assert torch.equal(first.as_torch(), second.as_torch())
    assert len(coins) == len(more) == BATCH


def test_outputs_may_be_batches_and_may_be_absent():
    def definition():
        return fn.copy(fn.external_source(source=images, layout="HWC")).get()

    (batch,) = debugged(definition).run()
    assert batch.layout() == "HWC"
    assert debugged(lambda: None).run() == ()
    with pytest.raises(TypeError, match="output 1 is a list"):
        debugged(lambda: (fn.random.coin_flip(), [fn.random.coin_flip()])).run()


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_a_branch_holds_its_samples_only(probability):
    seen = []

    def definition():
        coin = fn.random.coin_flip(probability=probability)
        x = fn.random.uniform()
        if coin:
            y = x + 10
            seen.append((coin.get().as_array(), x.get().as_array(), y.get()))
        else:
            y = x
        return y

    pipe = debugged(definition, batch_size=8, enable_conditionals=True, seed=1)
    for _ in range(3):
        (out,) = pipe.run()
        coin, x, y = seen[-1]
        taken = coin != 0
        assert len(y) == taken.sum()
        if taken.any():
            assert np.array_equal(y.as_array(), x[taken] + 10)
        assert np.array_equal(out.as_array(), np.where(taken, x + 10, x))


def test_a_batch_of_a_branch_may_be_changed():
    def definition():
        x = fn.random.uniform()
        if fn.random.coin_flip():
            fives = np.full(len(fn.copy(x).get()), 5, np.float32)
            y = fn.copy(TensorListCPU(fives))
        else:
            y = x
        return x, y

    pipe = debugged(definition, batch_size=8, enable_conditionals=True, seed=1)
    x, y = (batch.as_array() for batch in pipe.run())
    assert 0 < (y == 5).sum() < 8
    assert np.array_equal(x[y != 5], y[y != 5])


def test_a_value_of_one_branch_is_an_error_outside():
    kept = []

    def definition():
        if fn.random.coin_flip():
            kept.append(fn.random.uniform())
        return fn.copy(kept[-1])

    with pytest.raises(errors.PipelineError, match="outside the branch"):
        debugged(definition, enable_conditionals=True).run()
