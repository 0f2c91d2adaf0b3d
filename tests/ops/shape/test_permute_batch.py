# SPDX-License-Identifier: Apache-2.0
"""fn.permute_batch: the samples of a batch in another order."""

from __future__ import annotations

import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali import Pipeline, fn, pipeline_def

RAGGED = [(1, 2), (2, 2), (3, 2)]
CASES = [
    OpCase("permute_batch", "HW", RAGGED, {"indices": indices}, sees_batch=True)
    for indices in ([2, 0, 1], [1, 1, 1], PerSample([1, 0, 2]), PerSample([2, 2, 0]))
]
CASES += [
    OpCase("permute_batch", "", (3,), {"indices": [0, 2, 1]}, t, sees_batch=True)
    for t in (torch.float64, torch.bool, torch.uint16)
]
CASES += [OpCase("permute_batch", "", (), {"indices": 0}, batch=1)]


@for_each("case", CASES)
@for_each("num_threads", [1, 3])
def test_samples_are_selected_by_their_indices(case, num_threads):
    run = run_case(case, num_threads=num_threads)
    assert run.layouts == [case.layout]
    indices = case.args["indices"]
    for i, out in enumerate(run.samples()[0]):
        at = indices.at(i) if isinstance(indices, PerSample) else indices
        number = at[i] if isinstance(at, list) else int(at)
        assert torch.equal(out, case.input(number))


def test_permuted_batches_pass_through_other_operators():
    pipe = Pipeline(4, 2, device_id=None, seed=3)
    with pipe:
        x = fn.external_source(name="x")
        order = fn.batch_permutation()
        pipe.set_outputs(order, fn.permute_batch(x, indices=order) * 2, x)
    pipe.build()
    for size in (4, 2, 3, 4):
        pipe.feed_input("x", [torch.tensor([i]) for i in range(size)])
        order, out, _ = (o.as_torch_list() for o in pipe.run())
        assert sorted(int(i) for i in order) == list(range(size))
        assert [int(s) for s in out] == [2 * int(i) for i in order]


def test_a_branch_permutes_its_own_samples():
    @pipeline_def(batch_size=4, num_threads=1, device_id=None, enable_conditionals=True)
    def definition():
        x = fn.external_source(name="x")
        if x > 1:  # noqa: SIM108 (a statement is what is tested)
            out = fn.permute_batch(x, indices=[1, 0])
        else:
            out = x
        return out

    pipe = definition()
    pipe.build()
    pipe.feed_input("x", [torch.tensor(i) for i in (5, 0, 7, 1)])
    assert [int(s) for s in pipe.run()[0].as_torch_list()] == [7, 0, 5, 1]


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0, 1, 3], "`indices` has 3, and the batch 3 samples"),
        ([0, -1, 1], "`indices` has -1"),
        ([0, 1], "`indices` has 2 numbers, and the batch 3 samples"),
        (PerSample([[0, 1]]), "one number a sample, got 2"),
    ],
    ids=str,
)
def test_wrong_arguments_are_errors(indices, message):
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        run_op("permute_batch", [ramp((2,))] * 3, indices=indices)
    assert str(caught.value).startswith("fn.permute_batch: ")


@pytest.mark.parametrize("size", [262_144, 1_000_003])
def test_large_batches_are_copied_whole(size):
    """Outputs of more than 16 MB are copied with stores that bypass the caches."""
    batch = 17 if size > 500_000 else 65
    generator = torch.Generator().manual_seed(1)
    data = torch.randint(0, 256, (batch, size), dtype=torch.uint8, generator=generator)
    order = list(range(batch))[::-1]

    @pipeline_def(batch_size=batch, num_threads=2, device_id=None)
    def define():
        return fn.permute_batch(fn.external_source(lambda: data, no_copy=True), indices=order)

    pipe = define()
    for _ in range(3):
        assert torch.equal(pipe.run()[0].as_torch(), data.flip(0))
