# SPDX-License-Identifier: Apache-2.0
"""Records uses of operators, after checking them. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchdali._common.location import SourceLocation, find_user_location
from torchdali._engine.extension import _C
from torchdali._engine.schema import OperatorSchema, operator_schema
from torchdali._graph.check import (
    check_device,
    check_layout,
    check_name,
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
    current_owner,
    current_scope,
    foreign,
    free_names,
    pop_scope,
    push_scope,
    same_node,
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

__all__ = [
    "Guards",
    "OpNode",
    "Runner",
    "Scope",
    "auto_name",
    "check_device",
    "check_guards",
    "check_predicate",
    "create",
    "current_owner",
    "current_scope",
    "foreign",
    "free_names",
    "pop_scope",
    "push_scope",
    "resolve",
    "same_node",
    "transfer",
]


def create(
    schema: OperatorSchema,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    group: Any = None,
    group_index: int = 0,
    location: SourceLocation | None = None,
    made_up_name: str | None = None,
) -> Any:
    """Records one use of an operator.

    Args:
        schema: what the operator is.
        inputs: data nodes.
        kwargs: its arguments, and those of every operator.
        group: as in OpNode.
        group_index: as in OpNode.
        location: the user's line; found where it is not given.
        made_up_name: of an operator that the user did not name; by default a new one.

    Returns:
        A DataNode, a list of them for operators with more outputs, None for those with none. Lists
        of nodes as inputs make one use for each position, and lists of the above.

    Raises:
        ArgumentError, ArgumentTypeError, LayoutError, UnsupportedError: the call is wrong.
    """
    location = location or find_user_location()
    scope = current_scope()
    if scope is not None and scope.runner is not None:
        adopt = scope.runner.adopt
        inputs = [adopt(value, argument=False) for value in inputs]
        per_sample = {arg.name for arg in schema.args if arg.per_sample}
        kwargs = {k: adopt(v, argument=True) if k in per_sample else v for k, v in kwargs.items()}
    values = resolve(schema, kwargs, location)
    device_given = values.get("device") is not None
    device = universal(schema, "device", values, location)
    name = universal(schema, "name", values, location)
    seed = universal(schema, "seed", values, location)
    preserve = universal(schema, "preserve", values, location)
    universal(schema, "bytes_per_sample_hint", values, location)
    if not device_given and any(_on_gpu(value) for value in inputs):
        device = "gpu"  # as in DALI: an operator runs where its inputs are
    check_device(schema, device, location)
    check_name(schema, name or made_up_name or "", location)
    for arg in schema.args:
        if arg.required and arg.name not in values:
            raise _make(
                ArgumentTypeError,
                f"needs the argument `{arg.name}` ({arg.type_text()})",
                operator=schema.fn_name,
                location=location,
            )
    arg_inputs = {key: value for key, value in values.items() if isinstance(value, DataNode)}
    for key, value in arg_inputs.items():
        if value.device != "cpu":
            raise _make(
                ArgumentError,
                f"argument `{key}` takes a batch on the CPU, and {value!r} is on the GPU",
                operator=schema.fn_name,
                location=location,
                fix="pass .cpu() of it",
            )
    args = {key: value for key, value in values.items() if key not in arg_inputs}

    numbers = free_names if scope is None else scope.names
    guards = scope.guards if scope and not schema.source else ()  # a source gives whole batches

    def use(chosen: tuple[DataNode, ...], own_name: str | None) -> Any:
        owner = scope.token if scope else None
        runs_on, copied = _placement(schema, device, chosen, location)
        chosen = _on_device(schema, runs_on, chosen, location)
        for node in (*chosen, *arg_inputs.values()):
            if node.source is None:
                raise _make(
                    ArgumentError,
                    f"{node!r} was made by no operator",
                    operator=schema.fn_name,
                    location=location,
                )
            token = node.source.scope
            if isinstance(node, DataNodeDebug) and (scope is None or scope.runner is None):
                raise _make(
                    PipelineError,
                    f"`{node.name}` belongs to a pipeline in debug mode, whose operators run "
                    "inside its definition only",
                    operator=schema.fn_name,
                    location=location,
                    fix="`.get()` has its data",
                )
            if token is not None and owner is not None and token is not owner:
                raise foreign(node.source)
            owner = owner or token
            if schema.name != "conditional.merge":
                check_guards(node, guards)
        if schema.name == "conditional.merge":  # a sample has the one or the other
            check_predicate(chosen[2])
            check_guards(chosen[2], guards)
            for branch, holds in zip(chosen, (True, False), strict=False):
                check_guards(branch, (*guards, (chosen[2], holds)))
        check_layout(schema, chosen, location)
        num_outputs = len(schema.outputs)
        if schema.variable_outputs:
            try:
                num_outputs = _C.num_outputs(schema.name, args, list(arg_inputs), len(chosen))
            except TorchdaliError as error:
                raise _with_context(error, operator=schema.fn_name, location=location) from None
        made = OpNode(
            schema=schema,
            name=own_name or made_up_name or auto_name(schema.class_name, numbers),
            named=own_name is not None,
            inputs=chosen,
            arg_inputs=arg_inputs,
            args=args,
            seed=None if seed < 0 else seed,
            device=runs_on,
            preserve=preserve,
            num_outputs=num_outputs,
            location=location,
            scope=owner,
            provisional=scope is None and own_name is None,
            guards=guards,
            group=group,
            group_index=group_index,
        )
        if preserve or schema.side_effects or num_outputs == 0:
            if scope is None:
                raise _make(
                    PipelineError,
                    "an operator that is to run although nothing uses its outputs has to be made "
                    "inside a pipeline",
                    operator=schema.fn_name,
                    location=location,
                    fix="define it in a pipeline_def function or in a `with pipeline:` block",
                )
            scope.sinks.append(made)
        outputs = _outputs(made, scope)
        if copied:
            outputs = tuple(transfer(node, "gpu", location) for node in outputs)
        if num_outputs == 0:
            return None
        return outputs[0] if num_outputs == 1 else list(outputs)

    sets = input_sets(schema, inputs, location)
    if isinstance(sets, tuple):
        return use(sets, name)
    results = [use(s, f"{name}[{i}]" if name else None) for i, s in enumerate(sets)]
    # As in DALI: an operator with several outputs gives one list for each of them.
    if results and isinstance(results[0], list):
        return [list(column) for column in zip(*results, strict=True)]
    return results


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
    if device == "gpu" and not schema.has_kernel:  # one that needs no input
        if any(node.device == "gpu" for node in inputs):
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
) -> tuple[DataNode, ...]:
    """Returns the inputs where an operator on `device` reads them: copies, where need be."""
    result = []
    for i, node in enumerate(inputs):
        spec = schema.inputs[min(i, len(schema.inputs) - 1)]
        if device == "cpu" and node.device == "gpu" and schema.name != "copy.to_cpu":
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


def transfer(node: DataNode, device: str, location: SourceLocation | None = None) -> DataNode:
    """Returns a node that copies to another device."""
    schema = operator_schema(f"copy.to_{device}")
    made = create(schema, [node], {"device": device}, location=location)
    assert isinstance(made, DataNode)
    made.layout = node.layout
    return made


def _outputs(made: OpNode, scope: Scope | None) -> tuple[DataNode, ...]:
    """Returns the outputs of a new operator, which has run where operators run at once."""
    return made.outputs if scope is None or scope.runner is None else scope.runner.run(made)
