# SPDX-License-Identifier: Apache-2.0
"""The calls of a definition in debug mode, in their order, over all runs."""

from __future__ import annotations

from collections.abc import Sequence

from torchdali._sources.group import SourceGroup
from torchdali.data_node import OpNode
from torchdali.errors import ArgumentError, _make
from torchdali.pipeline._compile import seed_of
from torchdali.pipeline._debug.call_site import CallSite, SharedSource, changed_call, difference

__all__ = ["Calls"]


class Calls:
    """Finds the call site of each call by its position in the run.

    Args:
        seed: of the pipeline.

    Attributes:
        sites: all calls of the first run, in their order.
        nodes: their operators.
        names: the name of each operator by its ordinal.
        is_traced: whether a run has succeeded, so that all calls are known.
    """

    def __init__(self, seed: int) -> None:
        self.sites: list[CallSite] = []
        self.nodes: list[OpNode] = []
        self.names: dict[int, str] = {}
        self.is_traced = False
        self._seed = seed
        self._next = 0

    def begin_run(self) -> None:
        """Begins with the first call again."""
        self._next = 0
        self.end_run()  # of a run that was interrupted

    def end_run(self) -> None:
        """Forgets what belongs to one run."""
        for site in self.sites:
            if site.source is not None:
                site.source.end_run()

    @property
    def remaining(self) -> Sequence[CallSite]:
        """The calls that this run has not reached."""
        return self.sites[self._next :]

    def next(self, node: OpNode) -> tuple[CallSite, Sequence[CallSite]]:
        """Returns the site of the next call, and those that were dropped for it.

        Sites are dropped if the first run failed and the definition has changed since.

        Raises:
            PipelineError: the call differs from that of the first run.
        """
        index = self._next
        self._next += 1
        dropped: Sequence[CallSite] = ()
        if index < len(self.sites):
            site = self.sites[index]
            if difference(site.node, node) is None:
                site.take_functions(node)
                return site, dropped
            if self.is_traced:
                raise changed_call(site.node, node)
            dropped = self.drop(index)
        elif self.is_traced:
            raise changed_call(None, node)
        return self._add(node), dropped

    def _add(self, node: OpNode) -> CallSite:
        if node.named and node.name in self.names.values():
            raise _make(
                ArgumentError,
                f"two operators of one pipeline are named `{node.name}`",
                operator=node.schema.fn_name,
                location=node.location,
            )
        stream = sum(site.node.schema.random for site in self.sites)
        site = CallSite(node, seed_of(node, self._seed, stream))
        if isinstance(node.group, SourceGroup):
            first = node.group_index == 0
            site.source = SharedSource(node.group) if first else self.sites[-1].source
            assert site.source is not None
            site.source.nodes.append(site.node)
        self.sites.append(site)
        self.nodes.append(site.node)
        self.names[site.node.ordinal] = site.node.name
        return site

    def drop(self, start: int) -> Sequence[CallSite]:
        """Drops the calls from one on; returns them, with their engines ended."""
        dropped = self.sites[start:]
        for site in dropped:
            site.stop()
            del self.names[site.node.ordinal]
        del self.sites[start:], self.nodes[start:]
        return dropped
