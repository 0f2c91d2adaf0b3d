# SPDX-License-Identifier: Apache-2.0
"""Pipelines as documents: serialize() and deserialize().

document.py has the format; restore.py records the operators that were read.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from torchdali._common.location import SourceLocation
from torchdali._graph.scope import check_guards, pop_scope, push_scope
from torchdali._sources.input import Group
from torchdali.data_node import DataNode, OpNode
from torchdali.errors import ArgumentError, FileError, PipelineError, UnsupportedError, _make
from torchdali.pipeline._compile import settle
from torchdali.pipeline._inspect import InspectedPipeline
from torchdali.pipeline._options import Options
from torchdali.pipeline._serialize.document import Place, dump, encode, load
from torchdali.pipeline._serialize.references import Allowed, reference
from torchdali.pipeline._serialize.restore import (
    NOWHERE,
    drawn_seed,
    edge,
    restore_nodes,
    stored_options,
)

__all__ = ["SerializedPipeline"]

_P = TypeVar("_P", bound="SerializedPipeline")


class SerializedPipeline(InspectedPipeline):
    """The part of Pipeline that turns a definition into bytes and back."""

    def serialize(
        self,
        define_graph: Callable[[], Any] | None = None,
        filename: Any = None,
        *,
        locations: bool = True,
    ) -> bytes:
        """Returns the definition and the options as text that deserialize() makes a pipeline of.

        Equal definitions give equal bytes. The seed is among them, also one that was drawn, so that
        the pipeline made of them draws what this one does. Functions are stored by name; data that
        was fed, positions of sources, and methods of a subclass such as iter_setup() are not
        stored.

        Args:
            define_graph: returns the outputs; instead of define_graph() and set_outputs().
            filename: of a file that the bytes are also written to, over what was in it.
            locations: also store the lines of the user's code, for messages. Without them the bytes
                do not depend on where the definition is written.

        Returns:
            ASCII text; docs/design/serialization.md describes it.

        Raises:
            UnsupportedError: a function cannot be found by its name.
            PipelineError: `define_graph`, although the outputs are defined; a closed pipeline.
            FileError: the file cannot be written.
        """
        self._define(define_graph)
        assert self._outputs is not None
        data = dump(_document(self, self._outputs, locations))
        if filename is not None:
            try:
                with open(filename, "wb") as file:
                    file.write(data)
            except OSError as error:
                raise _make(FileError, f"Pipeline.serialize: {error}") from None
        return data

    @classmethod
    def deserialize(
        cls: type[_P],
        serialized_pipeline: bytes | str | None = None,
        filename: Any = None,
        *,
        allow: bool | str | Callable[..., Any] | Iterable[Any] = (),
        **kwargs: Any,
    ) -> _P:
        """Returns a built pipeline out of what serialize() returned or wrote.

        Nothing of the document is executed. Where it refers to functions of the user, their modules
        are imported and they are called, if `allow` has them; otherwise it is refused. Building
        reads what the definition names, such as the folders of readers.

        Args:
            serialized_pipeline: what serialize() returned.
            filename: of a file that it wrote; instead of `serialized_pipeline`.
            allow: functions that the pipeline may call: functions themselves, their names
                ("module:qualname"), names of modules for all functions in them, or True for all.
            **kwargs: arguments of the constructor, which take the place of those in the document.
                A new `seed` changes what is drawn by operators without one of their own.

        Raises:
            ArgumentError: not exactly one of the two was given.
            ArgumentTypeError: there is no such argument.
            DataError: it is no serialized pipeline, or a damaged one.
            UnsupportedError: it was written by another version of the format.
            FileError: the file cannot be read.
            PipelineError: it calls a function that was not allowed.
            TorchdaliError: the definition does not fit this version of the operators.
        """
        if (serialized_pipeline is None) == (filename is None):
            raise _make(
                ArgumentError,
                "Pipeline.deserialize: takes either `serialized_pipeline` or `filename`, got "
                f"{'neither' if filename is None else 'both'}",
            )
        data: Any = serialized_pipeline
        if filename is not None:
            try:
                with open(filename, "rb") as file:
                    data = file.read()
            except OSError as error:
                raise _make(FileError, f"Pipeline.deserialize: {error}") from None
        document = load(data)
        options = stored_options(document)
        given = dict(kwargs)
        for name in ("batch_size", "num_threads"):
            if given.get(name) in (None, -1):
                given.pop(name, None)
        # A subclass need not take what nobody asked for.
        defaults = Options().arguments()
        kept = {name: value for name, value in options.items() if value != defaults[name]}
        pipeline = cls(**{**kept, **given})
        if "seed" not in given:
            pipeline._drawn_seed = drawn_seed(document)
        pipeline._restore(document, Allowed(allow))
        pipeline.build()
        return pipeline

    def deserialize_and_build(
        self,
        serialized_pipeline: bytes | str,
        *,
        allow: bool | str | Callable[..., Any] | Iterable[Any] = (),
    ) -> None:
        """Gives this pipeline the definition of a serialized one, and builds it.

        Batch size, threads, device, seed and declared outputs are the document's where this
        pipeline was not given its own; all other options are this pipeline's.

        Args:
            serialized_pipeline: what serialize() returned.
            allow: as in deserialize().

        Raises:
            PipelineError: this pipeline has a definition.
            TorchdaliError: as in deserialize().
        """
        if self._outputs is not None or self._closed:
            state = "is closed" if self._closed else "has a definition already"
            raise _make(
                PipelineError,
                f"Pipeline.deserialize_and_build: the pipeline {state}",
                fix="make a new one, or use Pipeline.deserialize()",
            )
        document = load(serialized_pipeline)
        if self._options.seed is None:
            self._drawn_seed = drawn_seed(document)
        self._options = self._options.filled_in(stored_options(document))
        self._restore(document, Allowed(allow))
        self.build()

    def _restore(self, document: Place, allowed: Allowed) -> None:
        """Records the operators of a document, and takes its outputs."""
        self._scope.sinks.clear()
        push_scope(self._scope, self)
        try:
            nodes = restore_nodes(document, self._scope, allowed)
        finally:
            self._scope.guards = ()
            pop_scope()
        self._scope.sinks[:] = [
            nodes[place.integer(0, len(nodes) - 1)] for place in document["sinks"].entries()
        ]
        outputs = [edge(place, nodes) for place in document["outputs"].entries()]
        if not outputs:
            document["outputs"].fail("is empty")
        for output in outputs:
            check_guards(output, ())
        self._outputs = outputs


# -- writing: what pipeline/_serialize/restore.py reads


def _document(
    pipeline: InspectedPipeline, outputs: Sequence[DataNode], locations: bool
) -> dict[str, Any]:
    nodes, names = settle(outputs, pipeline._scope)
    position = {node.ordinal: i for i, node in enumerate(nodes)}
    groups: dict[int, tuple[int, Group]] = {}
    for node in nodes:
        if isinstance(node.group, Group):
            groups.setdefault(id(node.group), (len(groups), node.group))

    def edge(node: DataNode) -> list[int]:
        assert node.source is not None
        return [position[node.source.ordinal], node.index]

    def place(location: SourceLocation | None) -> Any:
        if location is None or location is NOWHERE or not locations:
            return None
        return [location.short_filename(), location.lineno, location.function, location.line()]

    def entry(node: OpNode) -> dict[str, Any]:
        return {
            "operator": node.schema.name,
            "name": names[node.ordinal],
            "named": node.named,
            "device": node.device,
            "arguments": {
                name: _argument(node, name)
                for name in sorted(node.args)
                if node.schema.by_name[name].type != "code"  # made of the other arguments
            },
            "inputs": [edge(i) for i in node.inputs],
            "argument_inputs": {n: edge(node.arg_inputs[n]) for n in sorted(node.arg_inputs)},
            "guards": [[*edge(i), value] for i, value in node.guards],
            "seed": node.seed,
            "preserve": node.preserve,
            "outputs": node.num_outputs,
            "source": (
                [groups[id(node.group)][0], node.group_index] if id(node.group) in groups else None
            ),
            "location": place(node.location),
        }

    def source(group: Group) -> dict[str, Any]:
        puller = group.puller
        return {
            "function": None if puller is None else reference(puller.source, group.location),
            "num_outputs": group.num_outputs,
            "cycle": "no" if puller is None else puller.cycle,
            "batch": True if puller is None else puller.batch,
            "batch_info": False if puller is None else puller.batch_info,
            "no_copy": group.no_copy,
            "device": group.device,
            "repeat_last": group.repeat_last,
            "blocking": group.blocking,
            "parallel": (
                None
                if group.parallel is None
                else [group.parallel.depth, group.parallel.sample_bytes]
            ),
            "location": place(group.location),
        }

    options = {name: _option(v) for name, v in pipeline._options.arguments().items()}
    return {
        "options": options,
        "drawn_seed": None if options["seed"] is not None else pipeline._base_seed(),
        "sources": [source(group) for _, group in groups.values()],
        "nodes": [entry(node) for node in nodes],
        "outputs": [edge(node) for node in outputs],
        "sinks": sorted({position[node.ordinal] for node in pipeline._scope.sinks}),
    }


def _argument(node: OpNode, name: str) -> Any:
    value = node.args[name]
    if node.schema.by_name[name].type == "expression":
        return [str(step) for step in value]
    if node.schema.by_name[name].type == "function":
        operator = node.schema.fn_name
        return {"function": reference(value, node.location, operator=operator, argument=name)}
    try:
        return encode(value)
    except TypeError as error:
        raise _make(
            UnsupportedError,
            f"argument `{name}` cannot be serialized: it is a {error}",
            operator=node.schema.fn_name,
            location=node.location,
        ) from None


def _option(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return {key: int(value[key]) for key in sorted(value)}
    return [_option(item) for item in value] if isinstance(value, list) else value
