# SPDX-License-Identifier: Apache-2.0
"""The generators that a loader draws the order of samples and the seeds of workers from."""

from __future__ import annotations

import base64
from types import TracebackType
from typing import Any

import torch

__all__ = ["Generators", "GlobalGenerator", "tensor_of"]


def _text(state: torch.Tensor) -> str:
    """Returns the state of a generator as text, for states that may become JSON."""
    return base64.b64encode(state.numpy().tobytes()).decode()


def tensor_of(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


class GlobalGenerator:
    """torch's global generator, or a copy that stands in for it.

    A loader that is resumed in another process continues with a copy, so that its later epochs are
    those that it would have had. If the program has restored the global generator, that is used.
    """

    def __init__(self) -> None:
        self._copy: torch.Tensor | None = None  # the state of the copy
        self._kept: torch.Tensor | None = None  # that of torch's generator while the copy is used

    @property
    def _is_in_use(self) -> bool:
        """Whether torch's functions draw from it."""
        return self._copy is None or self._kept is not None

    def get_state(self) -> str:
        """Returns its state."""
        own = self._copy
        return _text(torch.get_rng_state() if own is None or self._is_in_use else own)

    def set_state(self, state: str) -> None:
        """Restores what get_state() returned."""
        if self._is_in_use:
            torch.set_rng_state(tensor_of(state))
        else:
            self._copy = tensor_of(state)

    def resume(self, state: str) -> None:
        """Continues from a state, without changing torch's generator."""
        own = tensor_of(state)
        self._copy = None if torch.equal(torch.get_rng_state(), own) else own

    def __enter__(self) -> None:
        """Has torch's functions draw from the copy."""
        if self._copy is not None:
            if self._kept is None:  # else __exit__() was interrupted
                self._kept = torch.get_rng_state()
            torch.set_rng_state(self._copy)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._kept is not None:
            self._copy = torch.get_rng_state()
            torch.set_rng_state(self._kept)
            self._kept = None


class Generators:
    """The generators that the order of a loader may depend on, each of them once.

    Args:
        loader: a DataLoader.
        default: what is used where no generator was given.
    """

    def __init__(self, loader: Any, default: GlobalGenerator) -> None:
        self.default = default
        owners = (
            loader,
            loader.sampler,
            loader.batch_sampler,
            getattr(loader.batch_sampler, "sampler", None),
        )
        found: dict[int, torch.Generator] = {}
        for owner in owners:
            generator = getattr(owner, "generator", None)
            if isinstance(generator, torch.Generator):
                found[id(generator)] = generator
        self._own = list(found.values())

    def state(self) -> dict[str, Any]:
        """Returns the states of all of them."""
        return {
            "global": self.default.get_state(),
            "generators": [_text(generator.get_state()) for generator in self._own],
        }

    def set_own(self, state: dict[str, Any]) -> None:
        """Restores what state() returned, except for the global generator."""
        for generator, own in zip(self._own, state["generators"], strict=False):
            generator.set_state(tensor_of(own))

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores what state() returned."""
        self.default.set_state(state["global"])
        self.set_own(state)

    def set_torch(self, state: dict[str, Any]) -> None:
        """Restores what state() returned, with torch's global generator as the default one."""
        torch.set_rng_state(tensor_of(state["global"]))
        self.set_own(state)
