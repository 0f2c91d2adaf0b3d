# SPDX-License-Identifier: Apache-2.0
"""What an external source is to give: the expectation of a cell, and where DALI gives another."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, count, cycle, islice, product, repeat
from typing import Any

import numpy as np

from .source_cells import (
    BATCH,
    CALLABLES,
    EPOCH,
    OF_SAMPLES,
    ROUNDS,
    Cell,
    layouts,
    number_of,
    sample,
)

_END = "end"
_NO = (None, False, "no")
_QUIET = (True, "quiet")


def refusals(cell: Cell) -> set[str]:
    """Returns the exceptions that a definition may end in; none where it is right."""
    found = set()
    if cell.kind in CALLABLES and cell.cycle not in _NO:
        found.add("ValueError")
    if cell.kind == "generator" and (cell.cycle not in _NO or cell.parallel not in (None, "fork")):
        found.add("TypeError")
    if cell.parallel and cell.kind in ("call", "sample", "sample_collection"):
        found.add("TypeError")
    if cell.parallel and cell.no_copy is False:
        found.add("ValueError")
    return found


def _rounds(cell: Cell) -> Iterator[Any]:
    """Returns for each round the numbers of the samples' batches and indices, or "end"."""

    def whole(number: int) -> list[tuple[int, int]]:
        return [(number, index) for index in range(BATCH)]

    def singles(first: int) -> list[tuple[int, int]]:
        return [divmod(first + index, BATCH) for index in range(BATCH)]

    def epochs(one: Callable[[int], list[Any]]) -> Iterator[Any]:
        return chain.from_iterable([*one(epoch), _END] for epoch in count())

    if cell.kind == "fed":
        return (whole(number) for number in count())
    if cell.kind == "call_index":
        return epochs(lambda _: [whole(n) for n in range(EPOCH)])
    if cell.kind == "batch_info":
        return epochs(lambda epoch: [whole(n + 3 * epoch) for n in range(EPOCH)])
    if cell.kind == "sample_info":
        return epochs(lambda epoch: [singles((n + 3 * epoch) * BATCH) for n in range(EPOCH)])
    if cell.kind == "sample":  # eight calls an epoch: one is left over, one ends it
        return epochs(lambda epoch: [singles(epoch * 8 + n * BATCH + 1) for n in range(EPOCH)])
    if cell.kind == "call":
        return epochs(lambda epoch: [whole(epoch * 3 + n + 1) for n in range(EPOCH)])
    if cell.kind == "sample_collection" and cell.cycle in _QUIET:
        numbers = cycle(divmod(i, BATCH) for i in range(EPOCH * BATCH + 1))
        return (list(islice(numbers, BATCH)) for _ in count())
    if cell.kind == "sample_collection":
        epoch = [singles(n * BATCH) for n in range(EPOCH)]
    else:
        epoch = [whole(n) for n in range(EPOCH)]
    if cell.kind == "iterator" and (cell.cycle not in _NO or not cell.parallel):
        # It goes on after its end, in worker processes only where it is begun anew.
        made = epochs(lambda e: [whole(e * 3 + n + 1) for n in range(EPOCH)])
        return (r for r in made if r != _END) if cell.cycle in _QUIET else made
    if cell.kind == "iterator":
        epoch = [whole(n + 1) for n in range(EPOCH)]
    if cell.cycle in _QUIET:
        return cycle(epoch)
    return cycle([*epoch, _END]) if cell.cycle == "raise" else chain(epoch, repeat(_END))


def _outputs(cell: Cell, numbers: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    return [
        {
            "dtype": number_of(cell.dtype),
            "layout": layout,
            "samples": [sample(cell, *number, output) for number in numbers],
        }
        for output, layout in enumerate(layouts(cell))
    ]


def expected(cells: Sequence[Cell]) -> list[Any]:
    """Returns what source_cells.run() is to return; of an error, its class."""
    refused = set().union(*map(refusals, cells))
    if refused:
        return [{"refused": refused}]
    first = cells[0]
    rounds = zip(*map(_rounds, cells), strict=True)
    ahead: collections.deque[Any] = collections.deque()
    events: list[Any] = []
    ended = False
    for _ in range(ROUNDS):
        while len(ahead) < first.depth and not ended:
            ahead.append(next(rounds))
            if _END in ahead[-1]:
                ended = True
                ahead.pop()
        if ahead:
            made = [_outputs(cell, r) for cell, r in zip(cells, ahead.popleft(), strict=True)]
            events.append(list(chain.from_iterable(made)))
        else:
            events.append(_END)
        # After a run, the end may lie ahead already: reset() then begins the next epoch.
        if first.reset == "always" or (first.reset == "end" and events[-1] == _END):
            ended = False
    return events


def as_in_dali(cells: Sequence[Cell]) -> tuple[list[Any], bool | None]:
    """Returns what DALI is to return, and whether it is to differ from that; None: it may."""
    wanted = expected(cells)
    deviations = [d for d in DEVIATIONS if any(d.holds(cell) for cell in cells)]
    errors = {d.dali for d in deviations if d.dali}
    if any(d.dali == "" for d in deviations) and not errors:
        return wanted, None
    if not errors:
        return wanted, bool(deviations) and not isinstance(wanted[0], dict)
    if isinstance(wanted[0], dict):
        errors |= wanted[0]["refused"]
    return [{"refused": errors}], False


def differences(events: Sequence[Any], wanted: Sequence[Any]) -> str:
    """Returns where a run differs from what was expected; "" where it does not."""
    for number, (event, want) in enumerate(zip(events, wanted, strict=False)):
        where = f"round {number}: "
        if isinstance(event, dict):
            names = event.get("refused") or event.get("error")
            if not (isinstance(want, dict) and want["refused"] & set(names)):
                return f"{where}{names[0]}: {event['text'][:200]}"
        elif isinstance(event, str) or isinstance(want, (str, dict)):
            if event != want:
                return f"{where}{event!r:.200} instead of {want!r:.200}"
        elif len(event) != len(want):
            return f"{where}{len(event)} outputs instead of {len(want)}"
        else:
            for output, (got, right) in enumerate(zip(event, want, strict=True)):
                text = _difference(got, right)
                if text:
                    return f"{where}output {output}: {text}"
    if len(events) != len(wanted):
        return f"{len(events)} rounds instead of {len(wanted)}"
    return ""


def _difference(got: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    for key in ("dtype", "layout"):
        if got[key] != want[key]:
            return f"{key} {got[key]!r} instead of {want[key]!r}"
    if len(got["samples"]) != len(want["samples"]):
        return f"{len(got['samples'])} samples instead of {len(want['samples'])}"
    for index, (one, other) in enumerate(zip(got["samples"], want["samples"], strict=True)):
        if one.shape != other.shape or not np.array_equal(one, other):
            return f"sample {index}: {one!r} instead of {other!r}"
    return ""


@dataclass(frozen=True)
class Deviation:
    """Cells in which DALI 1.35 gives something else.

    Attributes:
        holds: for which cells.
        dali: what DALI does: name of the exception it refuses or fails with; None: other values;
            "": other values now and then.
        reason: why we do not do it, as docs/guide/from_dali.md says.
    """

    holds: Callable[[Cell], bool]
    dali: str | None
    reason: str


def _is_batches(cell: Cell) -> bool:
    return cell.kind not in OF_SAMPLES


DEVIATIONS = [
    Deviation(
        lambda c: c.kind in CALLABLES and c.cycle in (False, "no"),
        "ValueError",
        "`cycle` that asks for nothing goes with any source",
    ),
    Deviation(
        lambda c: bool(c.parallel and c.form == "array" and not c.outputs) and _is_batches(c),
        "Exception",
        "a batch of a worker may be an array, as without `parallel`",
    ),
    Deviation(
        lambda c: c.form == "tuple" and not (c.parallel and not c.outputs) and _is_batches(c),
        "TypeError",
        "a tuple of samples is as good as a list",
    ),
    Deviation(
        lambda c: c.form == "strided" and not c.parallel,
        "RuntimeError",
        "strided arrays are data",
    ),
    Deviation(
        lambda c: bool(c.parallel) and c.reset == "always" and c.depth > 1,
        "",
        "reset() leaves batches of workers that were read ahead as they are",
    ),
    Deviation(
        lambda c: not np.dtype(c.dtype).isnative,
        None,
        "byte orders are converted, not misread",
    ),
]


def cover(axes: Mapping[str, Sequence[Any]], start: Sequence[str]) -> list[dict[str, Any]]:
    """Returns rows in which all combinations of the axes `start`, and all pairs of any two occur.

    The values of all axes are given; rows are the same in every process.
    """
    names = list(axes)
    rng = random.Random(0)

    def goals(row: Mapping[str, Any]) -> set[Any]:
        return {tuple((n, row[n]) for n in chosen) for chosen in combinations(names, 2)}

    everything = {
        tuple(zip(chosen, values, strict=True))
        for chosen in combinations(names, 2)
        for values in product(*(axes[n] for n in chosen))
    }
    rows: list[dict[str, Any]] = []
    begun = [dict(zip(start, v, strict=True)) for v in product(*(axes[n] for n in start))]
    while begun or everything:
        fixed = begun.pop() if begun else dict(rng.choice(sorted(everything, key=repr)))
        candidates = [
            {n: fixed[n] if n in fixed else rng.choice(axes[n]) for n in names} for _ in range(24)
        ]
        row = max(candidates, key=lambda r: len(goals(r) & everything))
        everything -= goals(row)
        rows.append(row)
    return rows
