# SPDX-License-Identifier: Apache-2.0
"""What calls on tensors take besides the arguments of the operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from torchdali._eager import devices
from torchdali._eager.program import derive_seeds, draw_seed
from torchdali._engine.schema import Argument, OperatorSchema
from torchdali.errors import ArgumentError, ArgumentTypeError, _make

__all__ = ["Options", "options_of", "take_options"]

OPTIONS = (
    Argument(
        "layout",
        "layout",
        'Letters of the axes of a sample of the inputs, such as "CHW"; by default what a batch '
        "knows, or the layout of `set_default_layout`. Results have it too.",
    ),
    Argument(
        "batched",
        "bool",
        "The first axis of a tensor or array is the samples; the result is one tensor, too.",
        has_default=True,
        default=False,
    ),
    Argument(
        "batch_size",
        "int",
        "Number of samples of the result, which is a batch then; by default it is one sample.",
    ),
    Argument(
        "seed",
        "int",
        "Of the random values: those that the first batch of a pipeline with this seed has. By "
        "default drawn from `generator`.",
    ),
    Argument(
        "generator",
        "torch.Generator",
        "That the seed is drawn from; by default the one that `torch.manual_seed` sets.",
    ),
)
_DEVICE = Argument(
    "device",
    "str",
    'Where the operator runs: "cpu", "gpu" or "cuda", also with a number ("cuda:1"), or "mixed"; '
    "by default where the inputs are.",
)
_OF_PIPELINES = ("name", "preserve", "on_error", "bytes_per_sample_hint")


@dataclass(frozen=True)
class Options:
    """What a call says about its data.

    Attributes:
        layout: of its inputs; None: that of the data.
        batched: whether the first axis of tensors is the samples.
        batch_size: of an operator without inputs; None: one sample.
        random: whether the operator draws random values.
        seed: that was given, or None.
        generator: that the seed is drawn from; None: that of torch.
        device: that was named: "cpu", "gpu" or "mixed"; None: that of the inputs.
        gpu: that was named; CPU: any.
    """

    layout: str | None = None
    batched: bool = False
    batch_size: int | None = None
    random: bool = False
    seed: int | None = None
    generator: torch.Generator | None = None
    device: str | None = None
    gpu: int = devices.CPU

    def seeds(self) -> list[int]:
        """Returns the seed of the operator's random values, in a list; [] if it draws none."""
        if not self.random:
            return []
        seed = self.seed
        if seed is None:
            seed = draw_seed(self.generator)
        return derive_seeds(seed, 1)


def options_of(schema: OperatorSchema) -> list[Argument]:
    """Returns the options that calls of an operator take."""
    without = set() if schema.random else {"seed", "generator"}
    without |= {"batch_size"} if schema.min_inputs else set()
    without |= {"layout", "batched"} if not schema.inputs else set()
    own = [*OPTIONS, _DEVICE] if schema.devices != ("cpu",) else OPTIONS
    return [arg for arg in own if arg.name not in without and arg.name not in schema.by_name]


def take_options(schema: OperatorSchema, kwargs: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Returns the options of a call, and the arguments of the operator.

    Raises:
        ArgumentError: an option does not apply to the operator.
        ArgumentTypeError: an option has a wrong type.
    """
    rest = {name: value for name, value in kwargs.items() if value is not None}
    taken: dict[str, Any] = {}
    for arg in OPTIONS:
        if arg.name not in schema.by_name and arg.name in rest:
            taken[arg.name] = rest.pop(arg.name)
    for name, kind in (("layout", str), ("batched", bool), ("generator", torch.Generator)):
        if name in taken and not isinstance(taken[name], kind):
            raise _make(
                ArgumentTypeError,
                f"argument `{name}` takes a {kind.__name__}, got {taken[name]!r}",
            )
    for name in ("batch_size", "seed"):
        if name in taken and (isinstance(taken[name], bool) or not isinstance(taken[name], int)):
            raise _make(
                ArgumentTypeError, f"argument `{name}` takes an integer, got {taken[name]!r}"
            )
    if not schema.random:
        for name in ("seed", "generator"):
            if name in taken:
                raise _make(
                    ArgumentError, f"the operator draws no random values, and takes no `{name}`"
                )
    if "seed" in taken and "generator" in taken:
        raise _make(ArgumentError, "takes `seed` or `generator`, got both")
    if "batch_size" in taken and schema.min_inputs:
        raise _make(ArgumentError, "the batch has the size of the inputs; `batch_size` is for none")
    for name in _OF_PIPELINES:
        if name in rest:
            raise _make(ArgumentError, f"`{name}` has a meaning in pipelines only")
    device, gpu = devices.asked_for(rest.pop("device", None))
    device = devices.placed(schema, device)
    return Options(random=schema.random, device=device, gpu=gpu, **taken), rest
