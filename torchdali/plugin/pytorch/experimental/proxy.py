# SPDX-License-Identifier: Apache-2.0
"""A pipeline that datasets call for single samples, and that runs in the process that trains.

The classes have DALI's names; docs/guide/other_loops.md shows how to use them, and
docs/design/loader.md how they work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from torchdali.errors import ArgumentError, ArgumentTypeError, _make
from torchdali.loader import DataLoader as _DataLoader
from torchdali.loader._dataset.stages import Stage
from torchdali.plugin.pytorch.experimental._server import DALIServer

__all__ = ["DALIServer", "DataLoader"]

_T = TypeVar("_T", covariant=True)


class _ProxyStage(Stage):
    """Has a server run the pipeline for batches, one ahead of the user."""

    def __init__(self, server: DALIServer) -> None:
        super().__init__()
        self._server = server

    def begin(self, batch: Any) -> Any:
        """See Stage."""
        self._server.submit_all(batch)
        return batch

    def finish(self, begun: Any) -> Any:
        """See Stage."""
        return self._server.produce_data(begun)


class DataLoader(_DataLoader[_T]):
    """torchdali.DataLoader for a dataset that calls the proxy of a server.

    Args:
        dali_server: a DALIServer. Its thread is started when an epoch begins.
        *args: of torchdali.DataLoader, and so of torch's: the dataset comes first.
        **kwargs: likewise; without `pipeline` and `fill_batches`.

    Attributes:
        dali_server: as the argument.

    Raises:
        ArgumentTypeError: `dali_server` is no DALIServer.
        ArgumentError: `pipeline` or `fill_batches` was passed.
    """

    def __init__(self, dali_server: DALIServer, *args: Any, **kwargs: Any) -> None:
        if not isinstance(dali_server, DALIServer):
            raise _make(
                ArgumentTypeError,
                f"proxy.DataLoader: `dali_server` is a {type(dali_server).__name__}, expected a "
                "DALIServer",
                fix="pass the server before the dataset",
            )
        for name in ("pipeline", "fill_batches"):
            if kwargs.get(name):
                raise _make(
                    ArgumentError,
                    f"proxy.DataLoader: `{name}` is for loaders without a proxy",
                    fix="use torchdali.DataLoader, or leave it out",
                )
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server

    def ensure_server_listening(self) -> None:
        """Starts the thread of the server, unless it runs."""
        self.dali_server.start_thread()

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        self.ensure_server_listening()
        return super().__iter__()

    def __torchdali_stage__(self) -> Stage:
        """See torchdali.DataLoader."""
        return _ProxyStage(self.dali_server)
