# SPDX-License-Identifier: Apache-2.0
"""Every operator on the GPU matches the CPU, over the cases of tests/ops."""

from __future__ import annotations

import pytest
import torch
from helpers.case_files import all_cases, cases_by_operator, parameters
from helpers.cases import check_each, for_each
from helpers.ops import Input, OpCase, PerSample, Run, run_case

from torchdali._engine.schema import registry
from torchdali.errors import TorchdaliError

SCHEMAS = registry()
# Python functions get other arrays there: test_gpu_functions.py.
CASES = cases_by_operator(
    [c for c in all_cases() if SCHEMAS[c.op].has_kernel and "function" not in c.args]
)

# Sums in another order than on the CPU: integers may differ by one, floats by this part of the
# largest value.
CLOSE = {
    "resize": 1e-5,
    "resize_crop_mirror": 1e-5,
    "random_resized_crop": 1e-5,
    "tensor_resize": 1e-5,
    "experimental.resize": 1e-5,
    # The weights of INTERP_LANCZOS3 are sines, which the GPU rounds differently.
    "experimental.remap": 1e-5,
    # Logarithms, which the GPU rounds differently.
    "box_encoder": 1e-6,
    # Fourier transforms with other factors than the CPU's.
    "spectrogram": 1e-5,
}
# Sums in another order, in float64 as on the CPU: float32 results may be rounded differently.
CLOSE |= {f"reductions.{name}": 1e-6 for name in ("sum", "mean", "mean_square", "rms")}
CLOSE |= dict.fromkeys(("reductions.variance", "reductions.std_dev", "normalize"), 1e-6)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def assert_alike(case: OpCase, actual: Run, expected: Run) -> None:
    assert actual.layouts == expected.layouts
    for ours, theirs in zip(actual.samples(), expected.samples(), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            a = a.cpu()
            tolerance = CLOSE.get(case.op)
            if tolerance is None:
                torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
            elif b.dtype.is_floating_point:
                finite = b.double()[b.isfinite()]
                largest = finite.abs().max().item() if finite.numel() else 1.0
                torch.testing.assert_close(
                    a, b, rtol=0, atol=tolerance * max(largest, 1.0), equal_nan=True
                )
            elif b.numel():
                assert (a.long() - b.long()).abs().max() <= 1


@pytest.mark.parametrize("op", parameters(CASES))
def test_results_equal_those_of_the_cpu(op, backend):
    # One case of each operator runs in batches of several sizes, too.
    split = next((case for case in CASES[op] if can_be_split(case)), None)

    def check(case: OpCase) -> None:
        expected = run_case(case)
        run = run_case(case, device="gpu")
        for sample in run.samples():
            for output in sample:
                assert output.device.type == backend
        assert_alike(case, run, expected)
        if case is split:
            assert_alike(case, run_case(case, [1, case.batch - 1], device="gpu"), expected)

    check_each(CASES[op], check)


def can_be_split(case: OpCase) -> bool:
    return case.batch > 1 and bool(case.all_inputs()) and not case.sees_batch


@pytest.mark.parametrize("op", parameters(["flip"]))
def test_frames_that_need_no_work_are_copied(op, backend):
    del backend
    flips = PerSample([[0, 0, 1], [0, 0, 0], [1, 0, 0]], torch.int32, layout="F")
    case = OpCase(op, "FHWC", (3, 4, 5, 3), {"horizontal": flips})
    assert_alike(case, run_case(case, device="gpu"), run_case(case))


@for_each("axes", [(0, 1), (2,), (0, 2), (0, 1, 2)])
@for_each("dtype", [torch.uint8, torch.float64])
@pytest.mark.parametrize("op", parameters(["reductions.mean", "reductions.max", "normalize"]))
def test_many_threads_share_a_result(op, dtype, axes, backend):
    del backend
    shapes = [(201, 303, 3), (1, 70000, 3)]
    case = OpCase(op, "HWC", shapes, {"axes": axes}, dtype, batch=2)
    assert_alike(case, run_case(case, device="gpu"), run_case(case))


TWO = (Input(lambda _: torch.zeros(2, 5)),)
ERRORS = cases_by_operator(
    [
        OpCase("pad", "", [(3, 4, 3), (5, 2)]),
        OpCase("pad", "", (3, 4), {"align": [0]}),
        OpCase("cat", "", (3, 4), {"axis": 5}),
        OpCase("cat", "", (3, 4), dtype=torch.float32, more_inputs=TWO),
        OpCase("stack", "", (2, 5), more_inputs=TWO),
        OpCase("lookup_table", "", (3, 4), dtype=torch.float32),
        OpCase("one_hot", "", (3, 4), {"axis": 5, "num_classes": 3}),
        OpCase("erase", "", (3, 4), {"shape": [1.0, 2.0], "fill_value": [1.0, 2.0]}),
        OpCase("color_space_conversion", "HWC", (3, 4, 1), {"image_type": 0, "output_type": 2}),
        OpCase("reductions.sum", "HWC", (3, 4, 3), {"axes": (7,)}),
        OpCase("reductions.variance", "HWC", (3, 4, 3), {"axes": (0,)}, more_inputs=TWO),
        OpCase("normalize", "HWC", [(3, 4, 3), (3, 4, 4)], {"axes": (0, 1), "batch": True}),
        OpCase("sequence_rearrange", "FHWC", (3, 4, 3, 2), {"new_order": [5]}),
        OpCase("element_extract", "FHWC", (3, 4, 3, 2), {"element_map": [5]}),
        OpCase("full_like", "", (3, 4), more_inputs=TWO),
        OpCase("grid_mask", "HWC", (3, 4, 3), {"tile": PerSample([0])}),
    ]
)


@pytest.mark.parametrize("op", parameters(ERRORS))
def test_errors_equal_those_of_the_cpu(op, backend):
    del backend

    def check(case: OpCase) -> None:
        with pytest.raises(TorchdaliError) as on_cpu:
            run_case(case)
        with pytest.raises(type(on_cpu.value)) as on_gpu:
            run_case(case, device="gpu")
        assert str(on_gpu.value) == str(on_cpu.value)

    check_each(ERRORS[op], check)
