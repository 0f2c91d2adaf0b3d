# SPDX-License-Identifier: Apache-2.0
"""Records calls of operators, after checking them. Nothing here runs anything."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdali._common.location import SourceLocation, find_user_location, user_stack_level
from torchdali._engine.extension import _C
from torchdali._engine.schema import OperatorSchema, operator_schema
from torchdali._graph.check import (
    check_device,
    check_layout,
    check_name,
    check_on_error,
    input_sets,
    resolve,
    universal,
)
from torchdali._graph.debug_node import DataNodeDebug
from torchdali._graph.scope import (
    Runner,
    Scope,
    auto_name,
    check_guards,
    check_predicate,
    current_scope,
    foreign,
    free_names,
)
from torchdali.data_node import DataNode, Guards, OpNode
from torchdali.errors import (
    ArgumentError,
    ArgumentTypeError,
    PipelineError,
    TorchdaliError,
    UnsupportedError,
    _make,
    _with_context,
)

__all__ = ["create", "transfer"]

_MERGE = "conditional.merge"


def create(
    schema: OperatorSchema,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    group: Any = None,
    group_index: int = 0,
    location: SourceLocation | None = None,
    generated_name: str | None = None,
) -> Any:
    """Records one call of an operator.

    Args:
        schema: of the operator.
        inputs: data nodes.
        kwargs: its arguments, and those of every operator.
        group: as in OpNode.
        group_index: as in OpNode.
        location: the user's line; found if it is not given.
        generated_name: name of an operator that the user did not name; by default a new one.

    Returns:
        A DataNode, a list of them for operators with more outputs, None for those with none, a
        dictionary where an argument names the outputs. Lists of nodes as inputs make one operator
        for each position, and lists of the above.

    Raises:
        ArgumentError, ArgumentTypeError, LayoutError, UnsupportedError: the call is wrong.
    """
    location = location or find_user_location()
    scope = current_scope()
    if scope is not None and scope.runner is not None:
        inputs, kwargs = _with_adopted_data(schema, inputs, kwargs, scope.runner)
    call = _checked_call(schema, inputs, kwargs, scope, location, generated_name)
    call.group, call.group_index = group, group_index
    sets = input_sets(schema, inputs, location)
    if isinstance(sets, tuple):
        return call.record(sets, call.name)
    results = [
        call.record(chosen, f"{call.name}[{i}]" if call.name else None)
        for i, chosen in enumerate(sets)
    ]
    # As in DALI: an operator with several outputs returns one list for each of them.
    if results and isinstance(results[0], list):
        return [list(column) for column in zip(*results, strict=True)]
    return results


def transfer(node: DataNode, device: str, location: SourceLocation | None = None) -> DataNode:
    """Returns a node that copies to another device."""
    schema = operator_schema(f"copy.to_{device}")
    made = create(schema, [node], {"device": device}, location=location)
    assert isinstance(made, DataNode)
    made.layout = node.layout
    return made


# -- the arguments of a call


def _with_adopted_data(
    schema: OperatorSchema, inputs: Sequence[Any], kwargs: Mapping[str, Any], runner: Runner
) -> tuple[list[Any], dict[str, Any]]:
    """Returns inputs and arguments with nodes in place of data, which debug mode accepts."""
    per_sample = {arg.name for arg in schema.args if arg.per_sample}
    return (
        [runner.adopt(value, argument=False) for value in inputs],
        {
            name: runner.adopt(value, argument=True) if name in per_sample else value
            for name, value in kwargs.items()
        },
    )


def _checked_call(
    schema: OperatorSchema,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    scope: Scope | None,
    location: SourceLocation | None,
    generated_name: str | None,
) -> _Call:
    """Returns what all operators that a call makes have in common."""
    if scope is not None and scope.defaults:
        names = {arg.name for arg in schema.args}
        kwargs = {**{k: v for k, v in scope.defaults.items() if k in names}, **kwargs}
    values = resolve(schema, kwargs, location)
    device_given = values.get("device") is not None
    device = universal(schema, "device", values, location)
    name = universal(schema, "name", values, location)
    seed = universal(schema, "seed", values, location)
    if seed >= 0 and not schema.random:
        warnings.warn(
            f"{schema.fn_name}: the operator draws no random values; `seed` has no effect",
            stacklevel=user_stack_level(),
        )
    preserve = universal(schema, "preserve", values, location)
    on_error = universal(schema, "on_error", values, location)
    universal(schema, "bytes_per_sample_hint", values, location)
    if not device_given and any(_on_gpu(value) for value in inputs):
        device = "gpu"  # as in DALI: an operator runs where its inputs are
    check_device(schema, device, location)
    check_name(schema, name or generated_name or "", location)
    in_debug_mode = scope is not None and scope.runner is not None
    check_on_error(schema, on_error, in_debug_mode, location)
    _check_required(schema, values, location)
    arg_inputs = {key: value for key, value in values.items() if isinstance(value, DataNode)}
    _check_on_cpu(schema, arg_inputs, location)
    return _Call(
        schema=schema,
        location=location,
        scope=scope,
        device=device,
        name=name,
        generated_name=generated_name,
        seed=None if seed < 0 else seed,
        preserve=preserve,
        on_error=on_error,
        args={key: value for key, value in values.items() if key not in arg_inputs},
        arg_inputs=arg_inputs,
        # The batches of a source are whole, whichever branch it is in.
        guards=() if scope is None or schema.source else scope.guards,
    )


def _check_required(
    schema: OperatorSchema, values: Mapping[str, Any], location: SourceLocation | None
) -> None:
    for arg in schema.args:
        if arg.required and arg.name not in values:
            raise _make(
                ArgumentTypeError,
                f"needs the argument `{arg.name}` ({arg.type_text()})",
                operator=schema.fn_name,
                location=location,
            )


def _check_on_cpu(
    schema: OperatorSchema, arg_inputs: Mapping[str, DataNode], location: SourceLocation | None
) -> None:
    for name, node in arg_inputs.items():
        if node.device != "cpu":
            raise _make(
                ArgumentError,
                f"argument `{name}` takes a batch on the CPU, and {node!r} is on the GPU",
                operator=schema.fn_name,
                location=location,
                fix="pass .cpu() of it",
            )


@dataclass
class _Call:
    """A call of an operator, checked; it makes one operator, or one for each of several inputs."""

    schema: OperatorSchema
    location: SourceLocation | None
    scope: Scope | None
    device: str
    name: str | None
    generated_name: str | None
    seed: int | None
    preserve: bool
    on_error: str | None
    args: dict[str, Any]
    arg_inputs: Mapping[str, DataNode]
    guards: Guards
    group: Any = None
    group_index: int = 0

    def record(self, inputs: tuple[DataNode, ...], name: str | None) -> Any:
        """Records the operator for some inputs; returns its outputs as create() does."""
        schema, location = self.schema, self.location
        runs_on, copied = _placement(schema, self.device, inputs, location)
        by_copy = copied and schema.gpu_by_copy
        inputs = _on_device(schema, runs_on, inputs, location, copied=by_copy)
        owner = self._check_nodes(inputs)
        check_layout(schema, inputs, location)
        numbers = free_names if self.scope is None else self.scope.names
        node = OpNode(
            schema=schema,
            name=name or self.generated_name or auto_name(schema.class_name, numbers),
            named=name is not None,
            inputs=inputs,
            arg_inputs=self.arg_inputs,
            args=self.args,
            seed=self.seed,
            device=runs_on,
            preserve=self.preserve,
            on_error=self.on_error,
            num_outputs=self._count_outputs(len(inputs)),
            location=location,
            scope=owner,
            provisional=self.scope is None and name is None,
            guards=self.guards,
            group=self.group,
            group_index=self.group_index,
        )
        if self.preserve or schema.side_effects or node.num_outputs == 0:
            self._keep(node)
        outputs = self._outputs(node)
        if copied:
            outputs = tuple(transfer(output, "gpu", location) for output in outputs)
        if schema.outputs_by:
            names = [feature[0] for feature in self.args[schema.outputs_by]]
            return dict(zip(names, outputs, strict=True))
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def _check_nodes(self, inputs: Sequence[DataNode]) -> object | None:
        """Checks where the inputs come from; returns the token of the pipeline they belong to."""
        owner = self.scope.token if self.scope else None
        for node in (*inputs, *self.arg_inputs.values()):
            if node.source is None:
                raise self._error(ArgumentError, f"{node!r} was made by no operator")
            if isinstance(node, DataNodeDebug) and (
                self.scope is None or self.scope.runner is None
            ):
                raise self._error(
                    PipelineError,
                    f"`{node.name}` belongs to a pipeline in debug mode, whose operators run "
                    "inside its definition only",
                    fix="`.get()` has its data",
                )
            token = node.source.scope
            if token is not None and owner is not None and token is not owner:
                raise foreign(node.source)
            owner = owner or token
            if self.schema.name != _MERGE:
                check_guards(node, self.guards)
        if self.schema.name == _MERGE:  # each sample has the value of one of the branches
            *branches, predicate = inputs
            check_predicate(predicate)
            check_guards(predicate, self.guards)
            for branch, holds in zip(branches, (True, False), strict=True):
                check_guards(branch, (*self.guards, (predicate, holds)))
        return owner

    def _count_outputs(self, num_inputs: int) -> int:
        schema = self.schema
        if not schema.variable_outputs:
            return len(schema.outputs)
        try:
            return _C.num_outputs(schema.name, self.args, list(self.arg_inputs), num_inputs)
        except TorchdaliError as error:
            raise _with_context(
                error, operator=self.schema.fn_name, location=self.location
            ) from None

    def _keep(self, node: OpNode) -> None:
        """Has an operator run although nothing may use its outputs."""
        if self.scope is None:
            raise self._error(
                PipelineError,
                "an operator that is to run although nothing uses its outputs has to be made "
                "inside a pipeline",
                fix="define it in a pipeline_def function or in a `with pipeline:` block",
            )
        self.scope.sinks.append(node)

    def _outputs(self, node: OpNode) -> tuple[DataNode, ...]:
        """Returns the outputs of an operator, which runs at once in debug mode."""
        runner = None if self.scope is None else self.scope.runner
        return node.outputs if runner is None else runner.run(node)

    def _error(self, cls: type[Any], message: str, fix: str | None = None) -> Exception:
        return _make(cls, message, operator=self.schema.fn_name, location=self.location, fix=fix)


# -- devices


def _on_gpu(value: Any) -> bool:
    """Returns whether a value is a data node on the GPU, or a list with one."""
    if isinstance(value, (list, tuple)):
        return any(_on_gpu(item) for item in value)
    return isinstance(value, DataNode) and value.device == "gpu"


def _placement(
    schema: OperatorSchema,
    device: str,
    inputs: Sequence[DataNode],
    location: SourceLocation | None,
) -> tuple[str, bool]:
    """Returns where an operator runs, "cpu" or "gpu", and whether its outputs are copied then."""
    if device == "mixed":
        return "cpu", True
    if device == "gpu" and not schema.has_kernel:  # one that needs no input, or copies of them
        if not schema.gpu_by_copy and any(node.device == "gpu" for node in inputs):
            raise _make(
                UnsupportedError,
                'takes no input on the GPU in this version; with device="gpu" it takes none',
                operator=schema.fn_name,
                location=location,
                fix="pass .cpu() of the input",
            )
        return "cpu", True
    return device, False


def _on_device(
    schema: OperatorSchema,
    device: str,
    inputs: Sequence[DataNode],
    location: SourceLocation | None,
    *,
    copied: bool,
) -> tuple[DataNode, ...]:
    """Returns the inputs on the device that an operator reads them on, copied if necessary.

    ``copied``: for one that runs on the CPU and was declared for the GPU.
    """
    result = []
    for i, node in enumerate(inputs):
        spec = schema.inputs[min(i, len(schema.inputs) - 1)]
        is_read = schema.name != "copy.to_cpu" and not spec.data_unread
        if device == "cpu" and node.device == "gpu" and copied:
            node = transfer(node, "cpu", location)
        elif device == "cpu" and node.device == "gpu" and is_read:
            raise _make(
                ArgumentError,
                f"runs on the CPU, and its input `{spec.name}` is on the GPU",
                operator=schema.fn_name,
                location=location,
                fix="pass .cpu() of it" + (', or device="gpu"' if "gpu" in schema.devices else ""),
            )
        if device == "gpu" and node.device == "cpu" and not spec.host:
            node = transfer(node, "gpu", location)
        elif device == "gpu" and node.device == "gpu" and spec.host:
            node = transfer(node, "cpu", location)
        result.append(node)
    return tuple(result)
