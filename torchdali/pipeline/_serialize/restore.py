# SPDX-License-Identifier: Apache-2.0
"""Reads a serialized pipeline: every operator is recorded again, with the checks of its schema."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from torchdali._common.enums import DALIDataType
from torchdali._common.location import SourceLocation
from torchdali._engine.schema import UNIVERSAL, OperatorSchema, operator_schema
from torchdali._graph import record
from torchdali._graph.scope import Scope, check_guards, check_predicate, pop_scope
from torchdali._sources.group import SourceGroup
from torchdali._sources.parallel_source import parallel_source
from torchdali._sources.python_source import PythonSource
from torchdali.data_node import DataNode, OpNode
from torchdali.pipeline._definition import Definition
from torchdali.pipeline._options import OperatorConcurrency, Options, StreamPolicy
from torchdali.pipeline._serialize.document import Place
from torchdali.pipeline._serialize.references import Allowed
from torchdali.pipeline._serialize.written_files import written_files

__all__ = ["NOWHERE", "drawn_seed", "restore_definition", "stored_options"]

_ENUMS: dict[str, Any] = {
    "output_dtype": DALIDataType,
    "stream_policy": StreamPolicy,
    "concurrency": OperatorConcurrency,
}
_INT64_MAX = (1 << 63) - 1
_MAX_OUTPUTS = 1024  # of an external source; each costs memory when the pipeline is built
NOWHERE = SourceLocation("a serialized pipeline without locations", 0, "", "")
_NODE_KEYS = (
    "operator",
    "name",
    "named",
    "device",
    "arguments",
    "inputs",
    "argument_inputs",
    "guards",
    "seed",
    "preserve",
    "on_error",
    "outputs",
    "source",
    "location",
)
_UNIVERSAL_NAMES = {arg.name for arg in UNIVERSAL}


def stored_options(document: Place) -> dict[str, Any]:
    """Returns the options of the document as the constructor takes them."""

    def plain(place: Place, members: Any) -> Any:
        if place.is_null:
            return None
        if place.is_list:
            return [plain(item, members) for item in place.entries()]
        if place.is_object:
            return {key: item.integer(1) for key, item in place.items()}
        if members is None:
            return place.value()
        name = place.text()
        if name not in members.__members__:
            place.fail(f"is no {members.__name__}")
        return members[name]

    defaults = Options().arguments()
    options = {}
    for name, place in document["options"].items():
        if name not in defaults:
            place.fail("is no option of a pipeline")
        options[name] = plain(place, _ENUMS.get(name))
        if isinstance(defaults[name], bool):
            place.boolean()
    return options


def drawn_seed(document: Place) -> int | None:
    """Returns the seed that a pipeline without one has drawn."""
    seed = document["drawn_seed"]
    return None if seed.is_null else seed.integer(0)


def restore_definition(
    document: Place, definition: Definition, owner: Any, allowed: Allowed
) -> None:
    """Records the operators of a document, and takes its outputs.

    Args:
        document: a serialized pipeline.
        definition: without outputs; gets those of the document.
        owner: the pipeline.
        allowed: the functions that the document may refer to.

    Raises:
        TorchdaliError: the document is damaged, does not fit this version of the operators, or
            refers to other functions.
    """
    scope = definition.scope
    scope.sinks.clear()
    definition.enter(owner)
    try:
        nodes = _restore_nodes(document, scope, allowed)
    finally:
        scope.guards = ()
        pop_scope()
    scope.sinks[:] = [
        nodes[place.integer(0, len(nodes) - 1)] for place in document["sinks"].entries()
    ]
    outputs = [_edge(place, nodes) for place in document["outputs"].entries()]
    if not outputs and not scope.sinks:
        document["outputs"].fail("is empty")
    definition.set_outputs(*outputs)


def _edge(place: Place, nodes: Sequence[OpNode]) -> DataNode:
    """Returns the data node for [node, output]."""
    node, output = place.entries(2)
    return _output(node, output, nodes)


def _output(node: Place, output: Place, nodes: Sequence[OpNode]) -> DataNode:
    found = nodes[node.integer(0, len(nodes) - 1)]
    return found.outputs[output.integer(0, found.num_outputs - 1)]


def _location(place: Place) -> SourceLocation | None:
    if place.is_null:
        return None
    filename, lineno, function, text = place.entries(4)
    return SourceLocation(filename.text(), lineno.integer(0), function.text(), text.text())


def _sources(document: Place, allowed: Allowed) -> list[SourceGroup]:
    groups = []
    for place in document["sources"].entries():
        place.only(
            "function",
            "num_outputs",
            "cycle",
            "batch",
            "batch_info",
            "no_copy",
            "repeat_last",
            "blocking",
            "parallel",
            "device",
            "location",
        )
        location = _location(place["location"])
        num_outputs = place["num_outputs"]
        cycle, batch = place["cycle"], place["batch"].boolean()
        if cycle.text() not in ("no", "quiet", "raise"):
            cycle.fail('is none of "no", "quiet" and "raise"')
        batch_info = place["batch_info"].boolean()
        count = None if num_outputs.is_null else num_outputs.integer(1, _MAX_OUTPUTS)
        source, parallel = None, None
        if not place["function"].is_null:
            function = allowed.find(place["function"].text(), location)
            source = PythonSource(function, cycle.text(), batch, batch_info, location)
            if not place["parallel"].is_null:
                depth, sample_bytes = (item.integer(0) for item in place["parallel"].entries(2))
                parallel = parallel_source(
                    source, count, depth or None, sample_bytes or None, location
                )
        groups.append(
            SourceGroup(
                source=source,
                num_outputs=count,
                no_copy=place["no_copy"].boolean(),
                repeat_last=place["repeat_last"].boolean(),
                blocking=place["blocking"].boolean(),
                location=location,
                parallel=parallel,
                device=place["device"].text(),
            )
        )
    return groups


# Operators with something that is no part of a document (compiled code) and is made again.
_MAKERS = {"plugin.numba.fn.experimental.numba_function": "torchdali.plugin.numba._function"}


def _maker(schema: OperatorSchema) -> Callable[..., Any]:
    """Returns what records an operator; takes what record.create() does."""
    if schema.name not in _MAKERS:
        return record.create
    maker: Callable[..., Any] = importlib.import_module(_MAKERS[schema.name]).restore
    return maker


def _restore_nodes(document: Place, scope: Scope, allowed: Allowed) -> list[OpNode]:
    """Records the operators in the current pipeline, after checking what record.create() trusts."""
    groups = _sources(document, allowed)
    taken: set[tuple[int, int]] = set()
    nodes: list[OpNode] = []
    for place in document["nodes"].entries():
        place.only(*_NODE_KEYS)
        operator = place["operator"]
        try:
            schema = operator_schema(operator.text())
        except KeyError:
            operator.fail(
                f"is {operator.text()!r}, an operator that this version does not have; if it is of "
                "a library, load that first, with torchdali.plugin_manager.load_library()"
            )
        group, output = None, 0
        if place["source"].is_null == (schema.name == "external_source"):
            place["source"].fail("does not go with the operator")
        if not place["source"].is_null:
            which, index = place["source"].entries(2)
            number = which.integer(0, len(groups) - 1)
            group, output = groups[number], index.integer(0, (groups[number].num_outputs or 1) - 1)
            if (number, output) in taken:
                place["source"].fail("is the output of another operator, too")
            taken.add((number, output))
        arguments = {}
        location = _location(place["location"])
        for name, value in place["arguments"].items():
            if name in _UNIVERSAL_NAMES:
                value.fail("does not belong there")
            if name in schema.by_name and schema.by_name[name].type == "function":
                value.only("function")
                found, operator_name = value["function"].text(), schema.fn_name
                arguments[name] = allowed.find(found, location, operator=operator_name)
            else:
                arguments[name] = value.value()
        arg_inputs = {n: _edge(value, nodes) for n, value in place["argument_inputs"].items()}
        if arguments.keys() & arg_inputs.keys():
            place.fail("has an argument twice")
        own_name = place["name"].text()
        if not own_name:
            place["name"].fail("is empty")
        named, seed = place["named"].boolean(), place["seed"]
        policy = place["on_error"]
        guards: list[tuple[DataNode, bool]] = []
        for guard in place["guards"].entries():
            node, of, wanted = guard.entries(3)
            predicate = _output(node, of, nodes)
            check_predicate(predicate)
            check_guards(predicate, tuple(guards))
            guards.append((predicate, wanted.boolean()))
        scope.guards = tuple(guards)
        made = _maker(schema)(
            schema,
            [_edge(value, nodes) for value in place["inputs"].entries()],
            {
                **arguments,
                **arg_inputs,
                "device": place["device"].text(),
                "name": own_name if named else None,
                "seed": None if seed.is_null else seed.integer(0, _INT64_MAX),
                "preserve": place["preserve"].boolean(),
                "on_error": None if policy.is_null else policy.text(),
            },
            group=group,
            group_index=output,
            location=location or NOWHERE,
            generated_name=own_name,
        )
        if isinstance(made, dict):
            made = list(made.values())
        if isinstance(made, list):
            made = made[0]
        recorded = scope.sinks[-1] if made is None else made.source
        if recorded.num_outputs != place["outputs"].integer(0):
            place["outputs"].fail(f"is not {recorded.num_outputs}, which this version makes")
        for path in written_files(recorded):
            allowed.check_file(path, location, operator=schema.fn_name)
        nodes.append(recorded)
    return nodes
