# SPDX-License-Identifier: Apache-2.0
"""Serializer: the methods of Pipeline that write and read its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchdali.errors import ArgumentError, FileError, PipelineError, _make
from torchdali.pipeline._options import Options
from torchdali.pipeline._parts import PipelineParts
from torchdali.pipeline._serialize.document import Place, load
from torchdali.pipeline._serialize.references import Allow, Allowed
from torchdali.pipeline._serialize.restore import (
    drawn_seed,
    restore_definition,
    stored_options,
)
from torchdali.pipeline._serialize.write import write_document

__all__ = ["Allow", "Serializer", "read_document"]


class Serializer:
    """Writes and reads the definition of a pipeline.

    Args:
        owner: the pipeline.
        parts: of the pipeline.
    """

    def __init__(self, owner: Any, parts: PipelineParts) -> None:
        self._owner = owner
        self._parts = parts

    def serialize(
        self,
        define_graph: Callable[[], Any] | None = None,
        filename: Any = None,
        *,
        locations: bool = True,
    ) -> bytes:
        """Returns the definition and the options as text, for deserialize().

        Equal definitions have equal bytes. The seed is stored, also one that was drawn, so that the
        new pipeline draws the values that this one draws. Functions are stored by name. Data that
        was fed, positions of sources, and methods of a subclass such as iter_setup() are not
        stored.

        Args:
            define_graph: returns the outputs; instead of define_graph() and set_outputs().
            filename: of a file that the bytes are also written to; it is overwritten.
            locations: also store the lines of the user's code, for messages. Without them the bytes
                do not depend on where the definition is written.

        Returns:
            ASCII text; docs/design/serialization.md describes it.

        Raises:
            UnsupportedError: a function cannot be found by its name.
            PipelineError: `define_graph`, although the outputs are defined; a closed pipeline.
            FileError: the file cannot be written.
        """
        parts = self._parts
        parts.definition.require_graph("serialize")
        parts.define(self._owner, define_graph)
        data = write_document(parts.definition, parts.options, locations)
        if filename is not None:
            try:
                with open(filename, "wb") as file:
                    file.write(data)
            except OSError as error:
                raise _make(FileError, f"Pipeline.serialize: {error}") from None
        return data

    def deserialize_and_build(self, serialized_pipeline: bytes | str, *, allow: Allow = ()) -> None:
        """Gives this pipeline the definition of a serialized one, and builds it.

        Batch size, threads, device, seed and declared outputs are the document's unless this
        pipeline has its own; all other options are this pipeline's.

        Args:
            serialized_pipeline: what serialize() returned.
            allow: as in deserialize().

        Raises:
            PipelineError: this pipeline has a definition.
            TorchdaliError: as in deserialize().
        """
        parts = self._parts
        parts.definition.require_graph("deserialize_and_build")
        if parts.definition.outputs is not None or parts.is_closed:
            state = "is closed" if parts.is_closed else "has a definition already"
            raise _make(
                PipelineError,
                f"Pipeline.deserialize_and_build: the pipeline {state}",
                fix="make a new one, or use Pipeline.deserialize()",
            )
        document = load(serialized_pipeline)
        own_seed = parts.options.seed
        parts.options = parts.options.filled_in(stored_options(document))
        self.restore(document, allow, keeps_drawn_seed=own_seed is None)

    def restore(self, document: Place, allow: Allow, *, keeps_drawn_seed: bool) -> None:
        """Takes the definition of a document, and builds the pipeline.

        Args:
            document: a serialized pipeline.
            allow: as in deserialize().
            keeps_drawn_seed: whether the seed that the serialized pipeline had drawn is used.
        """
        definition = self._parts.definition
        if keeps_drawn_seed:
            definition.drawn_seed = drawn_seed(document)
        restore_definition(document, definition, self._owner, Allowed(allow))
        self._owner.build()


def read_document(
    serialized_pipeline: Any, filename: Any, given: Mapping[str, Any]
) -> tuple[Place, dict[str, Any]]:
    """Returns a document, and the arguments of a constructor that takes its options.

    Args:
        serialized_pipeline: as in Pipeline.deserialize().
        filename: as there.
        given: arguments that replace those of the document.
    """
    if (serialized_pipeline is None) == (filename is None):
        raise _make(
            ArgumentError,
            "Pipeline.deserialize: takes either `serialized_pipeline` or `filename`, got "
            f"{'neither' if filename is None else 'both'}",
        )
    if filename is not None:
        try:
            with open(filename, "rb") as file:
                serialized_pipeline = file.read()
        except OSError as error:
            raise _make(FileError, f"Pipeline.deserialize: {error}") from None
    document = load(serialized_pipeline)
    own = dict(given)
    for name in ("batch_size", "num_threads"):
        if own.get(name) in (None, -1):
            own.pop(name, None)
    # Defaults are left out: the constructor of a subclass may not take all arguments.
    defaults = Options().arguments()
    stored = stored_options(document)
    return document, {**{name: v for name, v in stored.items() if v != defaults[name]}, **own}
