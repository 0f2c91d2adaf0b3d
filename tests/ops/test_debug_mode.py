# SPDX-License-Identifier: Apache-2.0
"""Every operator returns the same in debug mode, over all cases of tests/ops."""

from __future__ import annotations

import pytest
from helpers.case_files import cases_by_operator, parameters
from helpers.cases import check_each
from helpers.debug_mode import both
from helpers.ops import Input, OpCase, PerSample, find

from torchdali import Pipeline, fn

pytestmark = pytest.mark.slow

CASES = cases_by_operator()


@pytest.mark.parametrize("op", parameters(CASES))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_debug_mode_gives_the_same(op):
    check_each(CASES[op], check)


def check(case: OpCase) -> None:
    per_sample = {name: a for name, a in case.args.items() if isinstance(a, PerSample)}
    makers = {f"input_{i}": one for i, one in enumerate(case.all_inputs())}
    makers.update({name: Input(a.at, a.layout) for name, a in per_sample.items()})
    constants = {name: a for name, a in case.args.items() if name not in per_sample}

    def definition():
        fed = {
            name: fn.external_source(name=name, layout=one.layout or None)
            for name, one in makers.items()
        }
        inputs = [fed[f"input_{i}"] for i in range(len(case.all_inputs()))]
        before = fn.random.uniform(shape=[2])
        made = find(case.op)(*inputs, **constants, **{name: fed[name] for name in per_sample})
        made = made if isinstance(made, list) else [made]
        return (before, *made, fn.random.uniform(shape=[2]))

    def feed(pipe: Pipeline, iteration: int) -> None:
        shrinks = not (makers and iteration == 0) and not case.sees_batch
        size = max(1, case.batch - 1) if shrinks else case.batch
        for name, one in makers.items():
            pipe.feed_input(name, [one.make(i) for i in range(size)])

    plain, debug = both(definition, 2, feed, batch_size=case.batch, seed=case.seed, device_id=None)
    plain.close()
    debug.close()
