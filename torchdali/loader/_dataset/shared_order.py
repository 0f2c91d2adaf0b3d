# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch that ranks share, and what another rank makes of a state inside it.

Of torch's own samplers the whole order is known. Ranks take steps together, so the samples that all
of them have had are the beginning of the order, and what is left can be divided among any number of
ranks. docs/design/elastic.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
)

from torchdali.errors import ArgumentError, _make
from torchdali.loader._dataset.randomness import tensor_of
from torchdali.loader._dataset.torch_internals import index_sampler

__all__ = ["is_elsewhere", "rest_of", "restore_epoch", "share_of", "translated"]

_ORDER = ("kind", "size", "seed", "shuffle")  # what two loaders with the same order agree in
_PLACE = ("rank", "world_size")
_OTHER_SEED = 0x9E3779B97F4A7C15  # odd, so that all ranks differ
_SEEDS = 1 << 62  # workers add their numbers


def share_of(loader: Any) -> dict[str, Any] | None:
    """Returns which part of which order a loader draws; None: it has no batches of a sampler.

    "kind" is that of the order: "sequential", "random", "distributed", or "other" if it is that of
    an unknown sampler.
    """
    batches = index_sampler(loader)
    if type(batches) is not BatchSampler:
        return None
    sampler: Any = batches.sampler
    share = {
        "kind": "other",
        "rank": _whole(getattr(sampler, "rank", 0)),
        "world_size": _whole(getattr(sampler, "num_replicas", 1)),
        "batch_size": batches.batch_size,
        "size": None,
        "seed": 0,
        "shuffle": False,
        "epoch": 0,
    }
    if type(sampler) is DistributedSampler:
        share |= {
            "kind": "distributed" if sampler.shuffle else "sequential",
            "size": len(sampler.dataset),  # type: ignore[arg-type]
            "seed": sampler.seed if sampler.shuffle else 0,
            "shuffle": sampler.shuffle,
            "epoch": sampler.epoch,
        }
    elif type(sampler) is SequentialSampler:
        share |= {"kind": "sequential", "size": len(sampler)}
    elif type(sampler) is RandomSampler and not sampler.replacement:
        size = len(sampler.data_source)
        if sampler.num_samples == size:
            share |= {"kind": "random", "size": size, "shuffle": True}
    return share


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def is_elsewhere(loader: Any, state: Mapping[str, Any]) -> bool:
    """Returns whether a state is of another rank, number of ranks, or order of a known kind."""
    stored, own = _stored_share(state), share_of(loader)
    if stored is None or own is None:
        return False
    keys = [*_PLACE, *_ORDER]
    if "other" in (stored["kind"], own["kind"]):
        keys = [*_PLACE]
    elif stored["kind"] == own["kind"] == "sequential":
        keys.remove("size")  # a data set may grow at its end
    return any(stored[key] != own[key] for key in keys)


def _stored_share(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
    sampling = state.get("sampling")
    share: Mapping[str, Any] | None = sampling.get("share") if sampling else None
    return share


def translated(loader: Any, state: dict[str, Any], random: dict[str, Any]) -> dict[str, Any]:
    """Returns the state of this rank for that of another one, or of another number of ranks.

    Args:
        loader: a DataLoader, for which is_elsewhere() is true.
        state: of a loader on any rank.
        random: the states of the loader's generators; another rank's are not used.

    Raises:
        ArgumentError: the position cannot be translated.
    """
    stored, own = _stored_share(state), share_of(loader)
    assert stored is not None
    assert own is not None
    is_same_rank = stored["rank"] == own["rank"]
    found = dict(state)
    if not is_same_rank:  # ranks with equal seeds would draw equal values
        found["random"] = random
        found["seed"] = _seed_of_rank(state["seed"], stored, own)
        stream = state["pipeline"]
        if stream is not None and "seed" not in (getattr(loader, "pipeline_options", None) or {}):
            found["pipeline"] = {**stream, "seed": _seed_of_rank(stream["seed"], stored, own)}
    if not state["begun"] or state["finished"]:
        return found
    first = _had_by_all(state, stored, own)
    order = {key: stored[key] for key in (*_ORDER, "epoch")}
    if stored["kind"] == "random":
        order["random"] = _random_of(state["sampling"])
    found["sampling"] = {
        "drawn": 0,
        "samples": 0,
        "sampler": None,
        "iter": found["random"],
        "first": found["random"],
        "share": {**own, **order},
        "rest": {"order": order, "first": first},
    }
    return {**found, "ahead": [], "workers": [None], "ended": [], "turn": 0}


def restore_epoch(loader: Any, state: Mapping[str, Any]) -> None:
    """Sets the epoch of a DistributedSampler to that of a state, which continues inside of it."""
    share, sampler = _stored_share(state), getattr(loader, "sampler", None)
    is_inside = state["begun"] and not state["finished"]
    if share is not None and is_inside and type(sampler) is DistributedSampler:
        sampler.set_epoch(share["epoch"])


def rest_of(rest: Mapping[str, Any], share: Mapping[str, Any], drop_last: bool) -> list[int]:
    """Returns the indices of a rank in what is left of an epoch.

    As in DistributedSampler, ranks have equally many: some samples come again, from the beginning
    of the order, or with `drop_last` are left out.

    Args:
        rest: of a state that translated() has returned.
        share: which part of it.
        drop_last: of the DistributedSampler.
    """
    order = _order(rest["order"])
    left = order[rest["first"] :]
    count = share["world_size"]
    if drop_last:
        left = left[: len(left) // count * count]
    else:
        left += itertools.islice(itertools.cycle(order), -len(left) % count)
    return left[share["rank"] :: count]


def _seed_of_rank(seed: Any, stored: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    if seed is None:
        return None
    return (int(seed) + _OTHER_SEED * (own["rank"] - stored["rank"])) % _SEEDS


def _random_of(sampling: Mapping[str, Any]) -> Any:
    rest = sampling.get("rest")
    return rest["order"]["random"] if rest else sampling["first"]


def _had_by_all(state: Mapping[str, Any], stored: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    """Returns how many samples of the order all ranks have had at a state.

    Raises:
        ArgumentError: it is not known.
    """
    sampling, ahead = state["sampling"], list(itertools.chain(*state["ahead"]))
    if "other" in (stored["kind"], own["kind"]):
        raise _elsewhere(stored, own, "the order of its sampler on other ranks is not known")
    if stored["size"] != own["size"]:
        raise _make(
            ArgumentError,
            f"load_state_dict(): the state is of a data set of {stored['size']} samples, that of "
            f"this loader has {own['size']}",
            fix="resume with the data set that the state was made with",
        )
    if any(state["workers"]):
        raise _elsewhere(stored, own, "the dataset has states, which belong to a rank's samples")
    if state.get("filling"):
        raise _elsewhere(stored, own, "its batches were filled")
    rest = sampling.get("rest")
    first = int(rest["first"]) if rest else 0
    order = {key: stored[key] for key in (*_ORDER, "epoch")}
    if stored["kind"] == "random":
        order["random"] = _random_of(sampling)
    had = rest_of({"order": order, "first": first}, stored, drop_last=False)
    drawn = int(sampling["samples"])
    if had[drawn - len(ahead) : drawn] != ahead:
        raise _elsewhere(stored, own, "its batches came out of order (in_order=False)")
    had_by_each = drawn - len(ahead)
    after: int = first + had_by_each * int(stored["world_size"])
    return min(int(stored["size"]), after)


def _elsewhere(stored: Mapping[str, Any], own: Mapping[str, Any], why: str) -> Exception:
    """Returns the error of a state that cannot be translated."""
    return _make(
        ArgumentError,
        f"load_state_dict(): the state is of rank {stored['rank']} of {stored['world_size']}, this "
        f"is rank {own['rank']} of {own['world_size']}, and {why}",
        fix="resume with the state of the same rank, on as many ranks, or at the end of an epoch",
    )


def _order(order: Mapping[str, Any]) -> list[int]:
    """Returns the samples of an epoch, in their order."""
    samples = range(order["size"])
    sampler: Any = samples
    if order["kind"] == "distributed":
        sampler = DistributedSampler(samples, 1, 0, seed=order["seed"])  # type: ignore[arg-type]
        sampler.set_epoch(order["epoch"])
    if order["kind"] != "random":
        return list(sampler)
    random = order["random"]
    own: Sequence[str] = random["generators"]
    generator = None
    if own:
        generator = torch.Generator()
        generator.set_state(tensor_of(own[-1]))  # the sampler's comes after that of the loader
    kept = torch.get_rng_state()  # the global generator is the user's and must not change
    try:
        torch.set_rng_state(tensor_of(random["global"]))
        return list(RandomSampler(samples, generator=generator))
    finally:
        torch.set_rng_state(kept)
