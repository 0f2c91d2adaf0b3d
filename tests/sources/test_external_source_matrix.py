# SPDX-License-Identifier: Apache-2.0
"""fn.external_source over kind of source x cycle x workers x memory x element type, with epochs.

A cell is one source in a pipeline that runs several epochs (helpers/source_cells.py).
helpers/source_model.py defines the expected batches; torchdali and real DALI 1.35.0 are compared
with it, except for the cells in DEVIATIONS.

Without workers, all combinations of kind, cycle, queue depth and form of the batch occur; with
forked workers, all combinations of kind and cycle. Of all axes (also element type, no_copy,
num_outputs, declarations, use of reset()), every pair occurs. Other combinations of three are
omitted, as are all but one cell of each kind with workers that are not forked, and TensorList
batches in workers.
"""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from functools import cache
from itertools import combinations
from types import SimpleNamespace

import pytest
from helpers import dali_oracle, source_cells
from helpers.source_cells import DTYPES, KINDS, Cell
from helpers.source_model import DEVIATIONS, as_in_dali, cover, differences, expected, refusals

import torchdali
from torchdali import Pipeline, fn, types

pytestmark = pytest.mark.slow

OURS = SimpleNamespace(Pipeline=Pipeline, backend=torchdali.backend, fn=fn, types=types)
FORMS = ["array", "list", "ragged", "tuple", "strided", "tensor_list"]
AXES = {
    "kind": list(KINDS),
    "cycle": [None, False, "no", True, "quiet", "raise"],
    "dtype": [*DTYPES, ">i4"],
    "form": FORMS,
    "no_copy": [None, False, True],
    "depth": [1, 2, 5],
    "outputs": [None, 1, 2],
    "declared": [False, True],
    "reset": ["end", "always", "never"],
}
FED = {**AXES, "kind": ["fed"], "cycle": [None], "outputs": [None]}
FORKED = {
    **AXES,
    "parallel": ["fork"],
    "form": FORMS[:-1],
    "depth": [1, 3],
}
# The part of it that is right for all axes.
IN_FORKED = [
    {**FORKED, "kind": kinds, "cycle": cycles, "no_copy": [None, True]}
    for kinds, cycles in (
        (["call_index", "batch_info", "sample_info"], [None]),
        (["collection", "iterable", "iterator", "generator_function"], AXES["cycle"]),
    )
]


def together(method):
    """Returns one cell of each kind that workers run, for one pipeline: epochs are equally long."""
    kinds = ("call_index", "batch_info", "sample_info")
    loops = ("collection", "iterable", "iterator", "generator_function")
    forms = ("list", "ragged", "strided")
    return [
        Cell(kind, None if kind in kinds else "raise", method, dtype, forms[i % 3], None, 2, n, d)
        for i, (kind, dtype, n, d) in enumerate(
            zip(
                kinds + loops,
                ("uint8", "float16", "bool", "int64", "float64", "uint16", "float32"),
                (None, 1, 2, None, 2, 1, None),
                (True, False, True, True, False, True, False),
                strict=True,
            )
        )
    ]


@cache
def groups(chunk):
    """Returns the groups of cells of one part of the matrix; a group is one pipeline."""
    if chunk == "in-process":
        return [[Cell(**row)] for row in cover(AXES, ("kind", "cycle", "depth", "form"))]
    if chunk == "fed":
        return [[Cell(**row)] for row in cover(FED, ("kind",))]
    if chunk == "fork":
        rows = cover(FORKED, ("kind", "cycle"))
        for axes in IN_FORKED:
            rows += cover(axes, ("kind", "cycle"))
        return [[Cell(**row)] for row in rows]
    if chunk == "several":
        rng = random.Random(0)
        single = [cells[0] for cells in groups("in-process")]
        usable = [c for c in single if not refusals(c) and not any(d.holds(c) for d in DEVIATIONS)]
        return [
            [replace(c, depth=2, reset="end") for c in rng.sample(usable, rng.randint(2, 4))]
            for _ in range(60)
        ]
    return [together(chunk)]


def report(found):
    lines = [f"{cells[0].name}{' and more' * (len(cells) > 1)}\n  {text}" for cells, text in found]
    return f"{len(found)} cells differ\n" + "\n".join(lines[:10])


@pytest.mark.parametrize("chunk", ["in-process", "several", "fed", "fork", "spawn", "forkserver"])
def test_every_cell_gives_the_expected_batches(chunk):
    found = []
    for cells in groups(chunk):
        text = differences(source_cells.run(OURS, cells), expected(cells))
        if text:
            found.append((cells, text))
    assert not found, report(found)


@pytest.mark.dali
@pytest.mark.parametrize("chunk", ["in-process", "several", "fed", "fork", "spawn"])
def test_dali_gives_the_expected_batches(chunk):
    asked = groups(chunk)
    answers = dali_oracle.run_sources([[asdict(cell) for cell in cells] for cells in asked])
    found = []
    for cells, events in zip(asked, answers, strict=True):
        wanted, differs = as_in_dali(cells)
        text = differences(events, wanted)
        if differs is not None and bool(text) is not differs:
            found.append((cells, text or "as expected, but for DEVIATIONS"))
    assert not found, report(found)


@pytest.mark.dali
def test_sources_of_different_lengths_end_as_in_dali():
    asked = [
        [Cell(kind, how, depth=depth, length=length) for kind, how, length in chosen]
        for depth in (1, 2, 5)
        for chosen in combinations(
            [
                ("call_index", None, 2),
                ("call_index", None, 3),
                ("batch_info", None, 3),
                ("sample_info", None, 1),
                ("collection", "raise", 2),
                ("collection", "raise", 3),
                ("generator_function", "quiet", 3),
                ("iterator", None, 2),
                ("call", None, 3),
                ("sample_collection", "quiet", 1),
            ],
            2,
        )
    ]
    answers = dali_oracle.run_sources([[asdict(cell) for cell in cells] for cells in asked])
    found = []
    for cells, events in zip(asked, answers, strict=True):
        text = differences(source_cells.run(OURS, cells), events)
        if text:
            found.append((cells, text))
    assert not found, report(found)


def test_the_matrix_covers_the_documented_combinations():
    cells = [cells[0] for cells in groups("in-process")]
    for one in AXES:
        for other in AXES:
            if one < other:
                wanted = len(AXES[one]) * len(AXES[other])
                # False and 0, True and 1 are equal: `cycle` is told by its type.
                seen = {(repr(getattr(c, one)), repr(getattr(c, other))) for c in cells}
                assert len(seen) == wanted, (one, other)
    full = {(c.kind, repr(c.cycle), c.depth, c.form) for c in cells}
    assert len(full) == len(KINDS) * len(AXES["cycle"]) * len(AXES["depth"]) * len(FORMS)
    cells += [cells[0] for cells in groups("fork")]
    assert all(any(d.holds(c) for c in cells) for d in DEVIATIONS)
