# SPDX-License-Identifier: Apache-2.0
"""fn.pad: pads to a shape, a multiple, or the largest sample of the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.inputs import ramp
from helpers.ops import OpCase, PerSample, run_case, run_op

from torchdali import fn, pipeline_def
from torchdali.types import DALIDataType

RAGGED = [(2, 3), (4, 1), (3, 3)]
DTYPES = [torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64]
DTYPES += [torch.int64, torch.float16, torch.float32, torch.bool]
# Larger than all samples, so that samples do not depend on their batch.
FIXED = {"shape": [5, 4]}

CASES = [OpCase("pad", "HW", RAGGED, {**FIXED, "fill_value": 2.7}, dtype=t) for t in DTYPES]
CASES += [
    OpCase("pad", "HW", RAGGED, FIXED, dtype=torch.float64, no_parity="DALI refuses the type"),
    OpCase("pad", "HW", RAGGED, {"shape": [5]}),
    OpCase("pad", "HW", RAGGED, {"shape": [3, 2], "fill_value": 9}),
    OpCase("pad", "HW", RAGGED, {**FIXED, "align": [4, 3]}),
    OpCase("pad", "HW", RAGGED, {**FIXED, "align": 8}),
    OpCase("pad", "HW", RAGGED, {**FIXED, "align": []}),
    OpCase("pad", "HW", RAGGED, {"shape": [], "align": [3, 4]}, sees_batch=True),
    OpCase("pad", "HW", RAGGED, {"axes": [-1], "shape": [6]}),
    OpCase("pad", "HW", RAGGED, {"axes": [1, 0], "shape": [6, 5]}),
    OpCase("pad", "HW", RAGGED, {"axes": [], "shape": [6, 5]}),
    OpCase("pad", "HW", RAGGED, {"axis_names": "WH", "shape": [6, 5]}),
    OpCase("pad", "HW", RAGGED, {**FIXED, "fill_value": PerSample([1.0, 2.0])}),
    OpCase("pad", "HW", RAGGED, {"shape": PerSample([[4, 5], [7, 1]])}),
    OpCase("pad", "HW", RAGGED, {**FIXED, "align": PerSample([[4, 5], [7, 1]])}),
    OpCase("pad", "HW", RAGGED, {"axes": PerSample([[0], [1]]), "shape": PerSample([[7], [8]])}),
    OpCase("pad", "HWC", (3, 4, 3), {"axis_names": "HW", "align": 5, "fill_value": 3}),
    OpCase("pad", "HWC", (3, 4, 3), {"axis_names": "C", "align": 4}),
    OpCase("pad", "FCHW", (2, 3, 4, 5), {"axis_names": "FW", "shape": [3, 8]}),
    OpCase("pad", "", [(3,), (0,), (2,)], {"shape": 4, "fill_value": 6}),
    OpCase("pad", "HWC", (3, 4, 3)),
    *(
        OpCase("pad", "HW", RAGGED, {**args, "fill_value": 7}, sees_batch=True)
        for args in ({}, {"shape": [-1, 5]}, {"align": [3, 2]}, {"axis_names": "W", "align": 2})
    ),
    OpCase("pad", "", (2, 0, 3), {"shape": [2, 2, 4], "fill_value": 6}),
    # Whole rows, of which the GPU copies 16 bytes at a time.
    *(
        OpCase("pad", "HW", (3, 32), {"axes": [0], "shape": [5], "fill_value": 9}, dtype=t)
        for t in (torch.uint8, torch.int16, torch.float32)
    ),
]


def reference(x: torch.Tensor, shape: tuple[int, ...], value: float) -> np.ndarray:
    grown = [(0, max(0, n - e)) for n, e in zip(shape, x.shape, strict=True)]
    return np.pad(x.numpy(), grown, constant_values=value)


@for_each(
    ("args", "shapes"),
    [
        ({}, [(4, 3)] * 3),
        ({"shape": [-1, 5]}, [(4, 5)] * 3),
        ({"shape": [0, 2]}, [(4, 3), (4, 2), (4, 3)]),
        ({"axes": [0]}, [(4, 3), (4, 1), (4, 3)]),
        ({"align": [3, 2]}, [(6, 4)] * 3),
        ({"axis_names": "W", "align": 2}, [(2, 4), (4, 4), (3, 4)]),
        ({"shape": PerSample([[-1, 5], [6, 0]])}, [(4, 5), (6, 3), (4, 5)]),
        ({"axes": PerSample([[0], [1]])}, [(4, 3), (4, 3), (4, 3)]),
    ],
)
@for_each("num_threads", [1, 4])
def test_pads_to_the_largest_sample_of_the_batch(args, shapes, num_threads):
    case = OpCase("pad", "HW", RAGGED, {**args, "fill_value": 7})
    for i, out in enumerate(run_case(case, num_threads=num_threads).samples()[0]):
        np.testing.assert_array_equal(out.numpy(), reference(case.input(i), shapes[i], 7))


def test_slicing_removes_the_padding():
    x = ramp((3, 5, 2))
    padded = run_op("pad", x, layout="HWC", shape=[7, 8, 4], fill_value=1)
    assert torch.equal(padded[:3, :5, :2], x)
    assert int(padded.long().sum()) == int(x.long().sum()) + 7 * 8 * 4 - x.numel()


def test_fill_values_saturate():
    assert run_op("pad", ramp((1,)).to(torch.uint8), shape=[2], fill_value=300.0).tolist() == [
        0,
        255,
    ]
    assert run_op("pad", ramp((1,)).to(torch.uint8), shape=[2], fill_value=-1.7).tolist() == [0, 0]
    assert run_op(
        "pad", ramp((1,)).to(torch.uint8), shape=[2], fill_value=float("nan")
    ).tolist() == [0, 0]


@for_each(
    ("args", "message"),
    [
        ({"align": [0, 1]}, "`align` has 0"),
        ({"align": [-4]}, "`align` has -4"),
        ({"shape": [1, 2, 3]}, "`shape` has 3 values"),
        ({"axes": [2]}, "axis 2 of `axes`"),
        ({"axes": [0, -2]}, "given twice"),
        ({"axes": [0], "axis_names": "H"}, "exclude each other"),
        ({"axis_names": "X"}, "not in the layout"),
        ({"shape": [2**40]}, "too large|out of memory"),
    ],
)
def test_wrong_arguments_are_errors(args, message):
    with pytest.raises((ValueError, IndexError, RuntimeError), match=message) as caught:
        run_op("pad", ramp((4, 5)), layout="HW", **args)
    assert str(caught.value).startswith("fn.pad: ")


def test_samples_of_different_rank_are_an_error():
    with pytest.raises(TypeError, match="dimensions"):
        run_op("pad", [ramp((2,)), ramp((2, 2))])


CLIPS = [37, 12, 55, 1]


@for_each(
    ("layout", "shape", "axis"),
    [("t", (), 0), ("tc", (2,), 0), ("ft", (3,), 1), ("tf", (3,), 0)],
)
@for_each(("args", "padded"), [({}, 55), ({"align": 16}, 64), ({"shape": [80]}, 80)])
def test_clips_of_different_lengths_become_one_batch(layout, shape, axis, args, padded):
    """The recipe of the guide: lengths by fn.shapes, and a mask from them."""

    def clip(length: int) -> torch.Tensor:
        return (ramp((length, *shape)) + 1.0).movedim(0, axis).contiguous()

    clips = [clip(length) for length in CLIPS]

    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def definition():
        data = fn.external_source(lambda: clips, layout=layout)
        lengths = fn.shapes(data, dtype=DALIDataType.INT64)[axis]
        return fn.pad(data, axis_names="t", fill_value=-1.0, **args), lengths

    out, lengths = definition().run()
    assert out.layout() == layout
    batch = out.as_tensor().as_torch().movedim(axis + 1, 1)
    assert batch.shape == (4, padded, *shape)
    lengths = lengths.as_tensor().as_torch().flatten()
    assert lengths.tolist() == CLIPS
    mask = torch.arange(padded) < lengths[:, None]
    assert torch.equal(batch[mask], torch.cat([c.movedim(axis, 0) for c in clips]))
    assert (batch[~mask] == -1).all()
