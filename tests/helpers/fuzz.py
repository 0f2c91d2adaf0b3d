# SPDX-License-Identifier: Apache-2.0
"""Drives operators with random inputs and arguments: ``python -m helpers.fuzz --examples N``.

A use of an operator is one of its test cases with some things changed, or made from its schema
alone. It works or raises one of torchdali's errors that is not an internal one. Memory is bounded,
so that a use which asks for a lot gets an error, too. Before each use its description is written to
``--log``: after a crash its last line says what did it. A use that takes longer than ``--timeout``
ends the process with the stacks of all threads, those above ``--slow`` are printed.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from torchdali import types
from torchdali._engine.schema import Argument, OperatorSchema, registry
from torchdali.errors import InternalError, TorchdaliError

from .case_files import all_cases
from .fuzz_values import (
    DTYPES,
    EXTENTS,
    FLOATS,
    HUGE_EXTENTS,
    INTS,
    LAYOUTS,
    MOST_ELEMENTS,
    STRINGS,
)
from .inputs import random_tensor
from .ops import OpCase, PerSample, run_batches

# Beside what the process has by itself.
MEMORY_BYTES = 1 << 30
# Errors that Python and torch raise for arguments before the engine sees them.
EXPECTED = (TorchdaliError, ValueError, TypeError, IndexError)

# Written for data that a random tensor is not, or with effects outside.
LEFT_OUT = {"dump_image", "python_function", "dl_tensor_python_function", "torch_python_function"}
LEFT_OUT |= {"numba_function"}


@dataclass
class Use:
    """One use of an operator on one batch."""

    op: str
    samples: list[list[torch.Tensor]] = field(default_factory=list)  # per input
    layouts: list[str] = field(default_factory=list)
    args: dict[str, Any] = field(default_factory=dict)  # constants
    tensors: dict[str, tuple[str, list[torch.Tensor]]] = field(default_factory=dict)
    batch: int = 2
    origin: str = "schema"

    def __repr__(self) -> str:
        def described(batch: Sequence[torch.Tensor]) -> str:
            kind = str(batch[0].dtype).removeprefix("torch.")
            shown = 0 < max(t.numel() for t in batch) <= 8
            values = f" {[t.tolist() for t in batch]}" if shown else ""
            return f"{kind}{[tuple(t.shape) for t in batch]}{values}"

        inputs = [
            f"{described(batch)} {layout!r}"
            for batch, layout in zip(self.samples, self.layouts, strict=True)
        ]
        tensors = [f"{n}={described(t)} {layout!r}" for n, (layout, t) in self.tensors.items()]
        args = [f"{name}={value!r}" for name, value in self.args.items()]
        return f"{self.op}({', '.join([*inputs, *args, *tensors])}) from {self.origin}"

    def run(self) -> None:
        """Runs it."""
        inputs = {
            f"input_{i}": (layout, [batch])
            for i, (batch, layout) in enumerate(zip(self.samples, self.layouts, strict=True))
        }
        tensors = {name: (layout, [batch]) for name, (layout, batch) in self.tensors.items()}
        run_batches(
            self.op,
            {**inputs, **tensors},
            len(inputs),
            self.args,
            batch_sizes=[self.batch],
            num_threads=2,
        )


def cases_of(names: set[str]) -> dict[str, list[OpCase]]:
    """Returns the test cases of operators by name."""
    found: dict[str, list[OpCase]] = {name: [] for name in names}
    for case in all_cases():
        if case.op in found:
            found[case.op].append(case)
    return found


def extents(ndim: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of so many dimensions, with few elements."""
    shapes = st.tuples(*[st.sampled_from(EXTENTS)] * ndim)
    return shapes.filter(lambda shape: math.prod(shape) <= MOST_ELEMENTS)


@st.composite
def batches(draw: Any, size: int, ndim: int | None = None) -> list[torch.Tensor]:
    """Batches of tensors, mostly of one shape."""
    dims = draw(st.integers(0, 5)) if ndim is None else ndim
    dtype = draw(st.sampled_from(DTYPES))
    first = draw(extents(dims))
    shapes = [first] * size if draw(st.integers(0, 3)) else [draw(extents(dims))] * size
    made = [random_tensor(shape, dtype, i) for i, shape in enumerate([first, *shapes[1:]])]
    if dtype.is_floating_point and draw(st.integers(0, 3)) == 0:
        nasty = torch.tensor([math.nan, math.inf, -math.inf, 3e38, 1e-38]).to(dtype)
        made = [t.flatten() for t in made]
        for tensor in made:
            tensor[: len(nasty)] = nasty[: len(tensor)]
        made = [t.reshape(s) for t, s in zip(made, [first, *shapes[1:]], strict=True)]
    return made


def constants(argument: Argument) -> st.SearchStrategy[Any]:
    """Values of an argument, right ones and wrong ones."""
    ints, floats = st.sampled_from(INTS), st.sampled_from(FLOATS)
    strings = st.sampled_from(STRINGS)
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "int": ints,
        "float": floats,
        "str": strings,
        "layout": st.sampled_from(LAYOUTS),
        "int_list": st.lists(ints, max_size=6) | ints,
        "float_list": st.lists(floats, max_size=8) | floats,
        "str_list": st.lists(strings, max_size=3),
        "layout_list": st.lists(st.sampled_from(LAYOUTS), max_size=3),
        "DALIDataType_list": st.lists(st.sampled_from(list(types.DALIDataType)), max_size=3),
        "bytes": st.binary(max_size=8),
    }
    if argument.type in kinds:
        return kinds[argument.type]
    return st.sampled_from(list(getattr(types, argument.type)))


@st.composite
def argument_tensors(draw: Any, argument: Argument, size: int) -> tuple[str, list[torch.Tensor]]:
    """An argument as a tensor a sample, with its layout: of one frame, or per frame."""
    whole = argument.type.startswith(("int", "bool"))
    dtype = draw(st.sampled_from([torch.int32, torch.int64] if whole else [torch.float32]))
    ndim = draw(st.integers(0, 2))
    layout = draw(st.sampled_from(["", "F" + "*" * (ndim - 1)])) if ndim else ""
    shape = tuple(draw(st.sampled_from([0, 1, 2, 3, 4])) for _ in range(ndim))
    pool = [v for v in INTS if abs(v) < 1 << 31] if whole else FLOATS
    made = []
    for _ in range(size):
        count = math.prod(shape)
        values = draw(st.lists(st.sampled_from(pool), min_size=count, max_size=count))
        made.append(torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape))
    return layout, made


def nudged(draw: Any, values: Sequence[Any], argument: Argument) -> list[Any]:
    """Values with one of them changed."""
    changed = list(values)
    if changed:
        pool = INTS if argument.type.startswith("int") else FLOATS
        pool = STRINGS if argument.type.startswith("str") else pool
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.sampled_from(pool))
    return changed


def nudge_argument(draw: Any, use: Use, argument: Argument) -> None:
    """Changes one number of an argument that a use has."""
    name = argument.name
    if name in use.tensors:
        layout, batch = use.tensors[name]
        made = []
        for tensor in batch:
            values = nudged(draw, tensor.flatten().tolist(), argument)
            flat = torch.tensor(values, dtype=torch.float64)
            if not tensor.dtype.is_floating_point:
                flat = flat.clamp(-(1 << 31), (1 << 31) - 1)
            made.append(flat.to(tensor.dtype).reshape(tensor.shape))
        use.tensors[name] = (layout, made)
    elif isinstance(use.args[name], list | tuple) and argument.type.endswith("_list"):
        use.args[name] = nudged(draw, use.args[name], argument)
    else:
        use.args[name] = draw(constants(argument))


def nudge_input(draw: Any, batch: list[torch.Tensor]) -> list[torch.Tensor]:
    """Changes one extent of all samples, or some values where they are floating."""
    if not batch[0].ndim or any(t.ndim != batch[0].ndim for t in batch):
        return batch
    axis = draw(st.integers(0, batch[0].ndim - 1))
    extent = draw(st.sampled_from(EXTENTS))
    beside = draw(st.integers(0, batch[0].ndim - 1))
    huge = draw(st.sampled_from([0, 0, *HUGE_EXTENTS])) if extent == 0 else 0
    made = []
    for i, tensor in enumerate(batch):
        shape = list(tensor.shape)
        if huge:
            shape[beside] = huge
        shape[axis] = extent
        if math.prod(shape) > MOST_ELEMENTS:
            return batch
        if math.prod(shape) == 0:  # NumPy does not have such extents; torch has these
            if math.prod(e for e in shape if e) >= 1 << 59:
                return batch
            made.append(torch.empty(shape, dtype=tensor.dtype))
            continue
        made.append(random_tensor(tuple(shape), tensor.dtype, i))
        if tensor.dtype.is_floating_point and made[-1].numel():
            value = torch.tensor(draw(st.sampled_from(FLOATS)), dtype=torch.float64)
            made[-1].reshape(-1)[0] = value.to(tensor.dtype)
    return made


def from_case(case: OpCase) -> Use:
    """A use that is a case as it stands."""
    use = Use(case.op, batch=case.batch, origin=str(case))
    for one in case.all_inputs():
        use.samples.append([one.make(i) for i in range(case.batch)])
        use.layouts.append(one.layout)
    for name, value in case.args.items():
        if isinstance(value, PerSample):
            use.tensors[name] = ("", [value.at(i) for i in range(case.batch)])
        else:
            use.args[name] = value
    return use


@st.composite
def uses(draw: Any, schema: OperatorSchema, cases: list[OpCase]) -> Use:
    """Uses of one operator."""
    if cases and draw(st.integers(0, 3)):
        use = from_case(draw(st.sampled_from(cases)))
        changes = draw(st.sampled_from([1, 1, 1, 2, 3]))
    else:
        size = draw(st.integers(1, 2))
        use = Use(schema.name, batch=size)
        most = min(schema.max_inputs, 3)
        for i in range(draw(st.integers(min(schema.min_inputs, most), most))):
            known = schema.inputs[min(i, len(schema.inputs) - 1)].layouts
            layout = draw(st.sampled_from(known or LAYOUTS)) if draw(st.booleans()) else ""
            use.samples.append(draw(batches(size, len(layout) if layout else None)))
            use.layouts.append(layout)
        for argument in schema.args:
            if argument.required:
                use.args[argument.name] = draw(constants(argument))
        changes = draw(st.integers(0, 4))
    arguments = [a for a in schema.args if a.type not in ("function", "code")]
    for _ in range(changes):
        kind = draw(st.integers(0, 16))
        present = [a for a in arguments if a.name in use.args or a.name in use.tensors]
        if kind > 12 and present:  # what has the right form gets further than what has not
            nudge_argument(draw, use, draw(st.sampled_from(present)))
        elif kind > 9 and use.samples:
            i = draw(st.integers(0, len(use.samples) - 1))
            use.samples[i] = nudge_input(draw, use.samples[i])
        elif kind < 2 and use.samples:
            i = draw(st.integers(0, len(use.samples) - 1))
            ndim = len(use.layouts[i]) or use.samples[i][0].ndim
            use.samples[i] = draw(batches(use.batch, ndim))
        elif kind == 2 and use.samples:
            i = draw(st.integers(0, len(use.samples) - 1))
            use.layouts[i] = draw(st.sampled_from(LAYOUTS))
        elif arguments:
            argument = draw(st.sampled_from(arguments))
            use.args.pop(argument.name, None)
            use.tensors.pop(argument.name, None)
            if kind == 3:
                continue
            if argument.per_sample and kind < 7:
                use.tensors[argument.name] = draw(argument_tensors(argument, use.batch))
            else:
                use.args[argument.name] = draw(constants(argument))
    return use


def operators() -> list[str]:
    """Returns the names of the operators that are driven."""
    return [
        name
        for name, schema in registry().items()
        if not (schema.source or schema.never or name in LEFT_OUT or name.startswith("plugin."))
    ]


def drive(name: str, cases: list[OpCase], options: argparse.Namespace, log: Any) -> dict[str, int]:
    """Runs uses of an operator; returns how many worked, and how many raised."""
    counts = {"worked": 0, "raised": 0}

    @seed(options.seed)
    @settings(
        max_examples=options.examples,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(uses(registry()[name], cases))
    def one(use: Use) -> None:
        log.seek(0)
        log.truncate()
        log.write(repr(use) + "\n")
        log.flush()
        started = time.monotonic()
        faulthandler.dump_traceback_later(options.timeout, exit=True)
        try:
            use.run()
            counts["worked"] += 1
        except InternalError as error:
            raise AssertionError(f"{use!r}: {error}") from error
        except EXPECTED:
            counts["raised"] += 1
        except (MemoryError, RuntimeError) as error:  # the copy of the outputs that is made here
            if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
                raise
            counts["raised"] += 1
        finally:
            faulthandler.cancel_dump_traceback_later()
            if (seconds := time.monotonic() - started) > options.slow:
                print(f"{seconds:.1f} s: {use!r}", flush=True)

    one()
    return counts


def main() -> int:
    """Drives operators; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m helpers.fuzz", description=__doc__)
    parser.add_argument("--operators", nargs="+", default=operators())
    parser.add_argument("--examples", type=int, default=50, help="of each operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, default=Path("fuzz.log"))
    parser.add_argument("--slow", type=float, default=5.0, help="seconds to print a use after")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to end a use after")
    parser.add_argument("--unbounded", action="store_true", help="of memory, for sanitizers")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.unbounded:
        own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (own + MEMORY_BYTES,) * 2)
    cases = cases_of(set(options.operators))
    failed = 0
    with options.log.open("w+") as log:
        for name in options.operators:
            try:
                counts = drive(name, cases[name], options, log)
            except Exception as error:
                failed += 1
                print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
                continue
            print(f"{name}: {counts['worked']} worked, {counts['raised']} raised", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
