# SPDX-License-Identifier: Apache-2.0
"""Operators that are called on batches by the rules of pipelines, for DALI's eager modes.

In ``torchdali.functional`` layouts are guessed and axes permuted. Here, as in a pipeline, an
operator that does not take a layout refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from torchdali._common.enums import DALIDataType
from torchdali._common.location import find_user_location
from torchdali._eager import devices, values
from torchdali._eager.batch import Batch, Call, batch_of, results
from torchdali._eager.named import face_name, seen_by_users
from torchdali._eager.operation import Operations
from torchdali._eager.program import derive_seeds
from torchdali._engine.schema import OperatorSchema, operator_schema
from torchdali._graph.arithmetic import number
from torchdali._graph.expression import Operand, Step, input_operand
from torchdali.errors import ArgumentError, ArgumentTypeError, TorchdaliError, _make
from torchdali.types import to_torch_type

__all__ = ["Caller", "Expressions", "Shared"]

# A sample that all samples of a batch share, with its layout.
Shared = tuple[torch.Tensor, str]
# Expressions with more numbers than these take them as inputs: compiling takes longer than running.
_MOST_CONSTANTS = 16


class Caller:
    """An operator that is called on batches.

    Args:
        schema: of the operator.
        face: the module of the call, for errors.

    Attributes:
        schema: of the operator.
    """

    def __init__(self, schema: OperatorSchema, face: str) -> None:
        self.schema = schema
        self._face = face
        self._operations = Operations(schema)

    @property
    def name(self) -> str:
        """The operator as users call it."""
        return face_name(self.schema.fn_name, self._face)

    def named(self, function: Callable[[], Any]) -> Any:
        """Returns what a function returns; its errors name the operator and the user's line."""
        try:
            return function()
        except TorchdaliError as error:
            raise seen_by_users(error, self.schema.fn_name, self._face) from error.__cause__

    def call(
        self,
        inputs: Sequence[Batch | Shared],
        kwargs: Mapping[str, Any],
        *,
        size: int,
        seed: int = 0,
        device: Any = None,
    ) -> list[Batch]:
        """Returns the outputs, which are computed when they are read.

        Args:
            inputs: of the operator.
            kwargs: its arguments; a Batch has a value for each sample.
            size: the number of samples.
            seed: of its random values, as that of a pipeline.
            device: that the user names; None: that of the inputs.

        Raises:
            TorchdaliError: the call is wrong.
        """
        return self.named(lambda: self._call(inputs, kwargs, size, seed, device))  # type: ignore[no-any-return]

    def _call(
        self,
        inputs: Sequence[Batch | Shared],
        kwargs: Mapping[str, Any],
        size: int,
        seed: int,
        device: Any,
    ) -> list[Batch]:
        given = {name: value for name, value in kwargs.items() if value is not None}
        kind, wanted = devices.asked_for(device)
        constants, fed = self._operations.split(given)
        own = [v if isinstance(v, Batch) else values.sample(v) for v in fed.values()]
        batches = [_whole(value, size) for value in [*inputs, *own]]
        gpus = [batch.gpu_id for batch in batches]
        operation = self._operations.find(constants, fed, gpus, devices.placed(self.schema, kind))
        seeds = derive_seeds(seed, 1) if self.schema.random else [0]
        gpu = devices.find(gpus, wanted) if operation.uses_gpu else devices.CPU
        location = find_user_location()
        call = Call(operation, tuple(batches), size, seeds[0], location, self._face, gpu)
        return results(call)


class Expressions:
    """Arithmetic on batches by the rules of pipelines.

    Args:
        face: the module of the calls, for errors.
    """

    def __init__(self, face: str) -> None:
        self._caller = Caller(operator_schema("arithmetic"), face)
        self._constants: dict[Any, set[Any]] = {}

    def apply(self, operation: str, operands: Sequence[Any], size: int) -> Batch:
        """Returns the result of one operation, which is computed when it is read.

        Args:
            operation: DALI's name of it.
            operands: batches, samples that are shared, and numbers; at least one is no number.
            size: the number of samples.

        Raises:
            TorchdaliError: the operands do not fit.
        """
        return self._caller.named(lambda: self._apply(operation, operands, size))  # type: ignore[no-any-return]

    def _apply(self, operation: str, operands: Sequence[Any], size: int) -> Batch:
        inputs: list[Batch | Shared] = []
        of_step: list[Operand] = []
        for value in operands:
            data = isinstance(value, Batch) or type(value) is tuple
            constant = None if data else number(value, None)
            if constant is not None and not self._changes(operation, of_step, constant):
                of_step.append(constant)
                continue
            of_step.append(input_operand(len(inputs)))
            if not data and constant is None:
                raise _make(
                    ArgumentTypeError, f"an operand is data or a number, got {type(value).__name__}"
                )
            inputs.append(value if constant is None else (_as_tensor(constant), ""))
        steps = [Step(operation, tuple(of_step))]
        made = self._caller.call(inputs, {"steps": steps}, size=size)
        return made[0]

    def _changes(self, operation: str, before: Sequence[Operand], constant: Operand) -> bool:
        """Returns whether a number has had many values in operations like this one."""
        seen = self._constants.setdefault((operation, len(before), constant.dtype), set())
        text = str(constant)
        if text in seen:
            return False
        if len(seen) >= _MOST_CONSTANTS:
            return True
        seen.add(text)
        return False


def _as_tensor(constant: Operand) -> torch.Tensor:
    return torch.tensor(constant.value, dtype=to_torch_type(DALIDataType(constant.dtype)))


def _whole(value: Batch | Shared, size: int) -> Batch:
    """Returns a batch; all samples of it are one that is shared."""
    batch = value if isinstance(value, Batch) else batch_of([value[0]] * size, value[1])
    if len(batch) != size:
        raise _make(
            ArgumentError,
            f"the batches of one call have one size, got {len(batch)} and {size} samples",
        )
    return batch
