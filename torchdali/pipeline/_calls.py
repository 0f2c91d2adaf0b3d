# SPDX-License-Identifier: Apache-2.0
"""The families of methods that a pipeline is run by, which are not to be mixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torchdali._common.enums import PipelineAPIType
from torchdali.errors import PipelineError, _make

__all__ = ["CallFamily"]


class CallFamily:
    """Checks that one pipeline is run either by run(), or by schedule_run() and its family.

    Attributes:
        enabled: whether calls are checked.
        current: the family of the first call; None before it.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.current: PipelineAPIType | None = None

    def use(self, family: PipelineAPIType) -> None:
        """Raises PipelineError if the pipeline is run by another family."""
        if self.current is None:
            self.current = family
        elif self.current is not family and self.enabled:
            raise _make(
                PipelineError,
                f"Pipeline: methods of {self.current} and {family} are mixed",
                fix="use either run(), or schedule_run() with share_outputs() and "
                "release_outputs(); enable_api_check(False) allows both",
            )

    @contextmanager
    def scope(self, family: PipelineAPIType) -> Iterator[None]:
        """Checks the family once, and then allows all methods inside the context."""
        self.use(family)
        enabled, self.enabled = self.enabled, False
        try:
            yield
        finally:
            self.enabled = enabled
