# SPDX-License-Identifier: Apache-2.0
"""What runs when a pipeline runs: the steps of its plan, and what was fused into each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torchdali._common.notebook import preformatted
from torchdali._common.text import counted

__all__ = ["PipelinePlan", "PlannedOperator", "PlannedStep", "describe_plan"]

_WHERE = {
    "samples": "sample by sample",
    "batches": "whole batches",
    "batches in order": "whole batches, in order",
    "GPU": "whole batches, on the GPU",
}


@dataclass(frozen=True)
class PlannedOperator:
    """An operator as the user wrote it.

    A reader of videos may be in two steps: one decides what to read, the other one decodes.

    Attributes:
        op: what it is called in fn, such as "decoders.image".
        name: of the operator, given or made.
        location: file and line that made it, with the text of the line; "" if unknown.
    """

    op: str
    name: str
    location: str


@dataclass(frozen=True)
class PlannedStep:
    """What is done in one go.

    Attributes:
        operators: whose work it is, in the order of the definition; several if they were fused.
        saves: what fusing them saves, one sentence each; empty if nothing was fused.
        stage: number of the stage; all samples pass one stage before the next, where that is of
            whole batches.
        runs: "samples": each worker takes a sample through all steps of the stage; "batches":
            a worker does it for a whole batch; "batches in order": one batch after the other;
            "GPU": a worker queues it on the GPU for a whole batch.
        outputs: place of each output: "output" of the pipeline; "scratch" of the worker, used
            again by the next sample; "batch": kept for a later stage; "memory of the source". With
            ", pinned" or ", GPU" if that applies.
        conditional: only samples that take a branch of a condition pass it.
    """

    operators: tuple[PlannedOperator, ...]
    saves: tuple[str, ...]
    stage: int
    runs: str
    outputs: tuple[str, ...]
    conditional: bool

    @property
    def fused(self) -> bool:
        """Whether it is the work of more than one operator."""
        return len(self.operators) > 1


@dataclass(frozen=True)
class PipelinePlan:
    """What Pipeline.plan() returns; prints as a table.

    Attributes:
        steps: in the order in which a sample passes them.
        num_threads: workers, which do all steps.
        prefetch_queue_depth: batches in the making at the same time.
    """

    steps: tuple[PlannedStep, ...]
    num_threads: int
    prefetch_queue_depth: int

    def __iter__(self) -> Iterator[PlannedStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def _repr_html_(self) -> str:
        """Returns the text of print(), which notebooks show."""
        return preformatted(str(self))

    def __str__(self) -> str:
        # The work of a reader may be part of two steps.
        fused = len({o.name for step in self.steps if step.fused for o in step.operators})
        total = len({o.name for step in self.steps for o in step.operators})
        into = sum(step.fused for step in self.steps)
        lines = [
            f"{counted(total, 'operator')} in {counted(len(self.steps), 'step')}"
            + (f" ({fused} of them fused into {into})" if fused else "")
            + f"; {counted(self.num_threads, 'worker thread')}, "
            f"{counted(self.prefetch_queue_depth, 'batch', 'batches')} at a time"
        ]
        operators = [operator for step in self.steps for operator in step.operators]
        width = max(len(operator.op) for operator in operators)
        stage = -1
        for number, step in enumerate(self.steps, 1):
            if step.stage != stage:
                stage = step.stage
                lines.append(f"stage {stage + 1}, {_WHERE[step.runs]}")
            lines += _lines(number, step, width)
        return "\n".join(lines)


def _lines(number: int, step: PlannedStep, width: int) -> list[str]:
    lines = []
    for i, operator in enumerate(step.operators):
        lead = f"{number:4}. " if i == 0 else "    + "
        line = operator.location.partition("\n")[0].removesuffix(":")
        lines.append(f"{lead}{operator.op:{width}}  {line}".rstrip())
    lines[-1] += f"  -> {', '.join(step.outputs) or 'nothing'}"
    if step.conditional:
        lines[-1] += "; in a branch"
    return lines + [f"      {text}" for text in step.saves]


def _savings(operators: list[dict[str, Any]], on_gpu: bool) -> tuple[str, ...]:
    """Returns what the members of a step save by running as one."""
    members = [own[-1] for own in _by_member(operators)]
    saves = []
    if len(operators) > len(members):
        saves.append("an expression is one pass: no step's result is a whole tensor")
    if len(members) == 1:
        return tuple(saves)
    roles = [member["role"] for member in members]
    begin = 0
    if roles[0] == "decoder":
        saves.append("only the pixels that the rest reads are decoded")
    if "resampler" in roles:
        begin = roles.index("resampler")
        if any(member["narrows"] for member in members[begin + 1 :]):
            saves.append("only the pixels that the rest keeps are resampled, in their order")
    if on_gpu:
        saves.append("one kernel: images between are not written")
    elif {"pixelwise", "normalizer"} & set(roles[begin + 1 :]):
        saves.append("some rows at a time go through the rest, in the cache")
    return tuple(saves)


def _by_member(operators: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    members: dict[int, list[dict[str, Any]]] = {}
    for operator in operators:
        members.setdefault(operator["member"], []).append(operator)
    return list(members.values())


def describe_plan(
    facts: list[dict[str, Any]], num_threads: int, prefetch_queue_depth: int
) -> PipelinePlan:
    """Returns the plan that the engine reports."""
    steps = tuple(
        PlannedStep(
            operators=tuple(
                PlannedOperator(op=o["op"], name=o["name"], location=o["location"])
                for o in step["operators"]
            ),
            saves=_savings(step["operators"], step["runs"] == "GPU"),
            stage=step["stage"],
            runs=step["runs"],
            outputs=tuple(step["outputs"]),
            conditional=step["guarded"],
        )
        for step in facts
    )
    return PipelinePlan(steps, num_threads, prefetch_queue_depth)
