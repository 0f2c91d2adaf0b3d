# SPDX-License-Identifier: Apache-2.0
"""AutoAugment (https://arxiv.org/abs/1805.09501): one of a policy's sequences of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchdali import fn, types
from torchdali._graph.conditionals.runtime import Choice
from torchdali._graph.constant import constant_node
from torchdali.auto_aug import _policies, _suites
from torchdali.auto_aug import augmentations as a
from torchdali.auto_aug.core import Policy, _Augmentation, select, signed_bin
from torchdali.auto_aug.core._augmentation import check_all_used
from torchdali.auto_aug.core._bins import seed_of
from torchdali.data_node import DataNode
from torchdali.errors import ArgumentError

__all__ = [
    "apply_auto_augment",
    "auto_augment",
    "auto_augment_image_net",
    "get_image_net_policy",
    "get_reduced_cifar10_policy",
    "get_reduced_image_net_policy",
    "get_svhn_policy",
]

_PIXELS, _PART = 250, 1.0  # of the greatest translation


def auto_augment(
    data: DataNode,
    policy_name: str = "image_net",
    shape: DataNode | tuple[int, int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
) -> DataNode:
    """Applies one of the policies that AutoAugment found.

    Args:
        data: uint8 images, "HWC", or sequences, "FHWC".
        policy_name: "image_net", "reduced_image_net", "svhn" or "reduced_cifar10".
        shape: (height, width) of the images, for translations relative to it. None: translations
            are in pixels.
        fill_value: of pixels that come in from outside; None repeats those at the border.
        interp_type: types.INTERP_LINEAR (by default) or types.INTERP_NN.
        max_translate_abs: without `shape`: greatest translation in pixels, or (vertical,
            horizontal); 250 by default.
        max_translate_rel: with `shape`: greatest translation as a part of height and width, or one
            for each; 1 by default.
        seed: of all draws; by default it follows from the pipeline's.

    Returns:
        As `data`.

    Raises:
        ArgumentError: there is no such policy, or it has no use for an argument.
    """
    if policy_name == "reduced_image_net":  # moves nothing
        given = {
            "shape": shape,
            "max_translate_abs": max_translate_abs,
            "max_translate_rel": max_translate_rel,
        }
        useless = [f"`{name}`" for name, value in given.items() if value is not None]
        if useless:
            raise _suites.error(
                ArgumentError,
                "auto_augment",
                f"the policy {policy_name!r} has no translations: {', '.join(useless)} has no use",
            )
        policy = get_reduced_image_net_policy()
    elif policy_name in _WITH_TRANSLATIONS:
        policy = _WITH_TRANSLATIONS[policy_name](
            shape is not None, max_translate_abs, max_translate_rel
        )
    else:
        names = ", ".join(map(repr, ["reduced_image_net", *_WITH_TRANSLATIONS]))
        raise _suites.error(
            ArgumentError, "auto_augment", f"`policy_name` takes {names}, got {policy_name!r}"
        )
    arguments = _suites.arguments(policy.augmentations.values(), shape, fill_value, interp_type)
    return apply_auto_augment(policy, data, seed, **arguments)


def auto_augment_image_net(
    data: DataNode,
    shape: DataNode | tuple[int, int] | None = None,
    fill_value: int | None = 128,
    interp_type: types.DALIInterpType | None = None,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
    seed: int | None = None,
) -> DataNode:
    """Applies the policy "image_net"; see auto_augment()."""
    return auto_augment(
        data,
        "image_net",
        shape,
        fill_value,
        interp_type,
        max_translate_abs,
        max_translate_rel,
        seed,
    )


def apply_auto_augment(
    policy: Policy, data: DataNode, seed: int | None = None, **kwargs: Any
) -> DataNode:
    """Applies a policy: each sample goes through one of its sub-policies.

    Args:
        policy: the policy.
        data: what its augmentations take.
        seed: of all draws; by default it follows from the pipeline's.
        kwargs: for the augmentations, each of which gets those that it takes.

    Returns:
        As `data`.

    Raises:
        ArgumentError: the policy is empty.
        ArgumentTypeError: an argument is taken by none of the augmentations.
    """
    caller = "apply_auto_augment"
    steps = max((len(one) for one in policy.sub_policies), default=0)
    if steps == 0:
        raise _suites.error(ArgumentError, caller, f"{policy.name!r} has no sub-policies")
    check_all_used(policy.augmentations.values(), kwargs, caller)
    chosen = fn.random.uniform(
        values=list(range(len(policy.sub_policies))), dtype=types.INT32, seed=seed_of(seed, 0)
    )
    draws = fn.random.uniform(range=[0, 1], shape=(steps,), seed=seed_of(seed, 1))
    operations, probabilities, bins = _tables(policy, steps)
    magnitudes: Any = constant_node(bins)[chosen]
    if any(one.randomly_negate for one in policy.augmentations.values()):
        magnitudes = signed_bin(magnitudes, seed=seed_of(seed, 2), shape=(steps,))
    runs = draws < constant_node(probabilities)[chosen]
    for step, (ops, numbers) in enumerate(operations):
        number = constant_node(numbers)[chosen]
        choice = Choice(runs[step])
        arguments = {
            "magnitude_bin": magnitudes[step],
            "num_magnitude_bins": policy.num_magnitude_bins,
            **kwargs,
        }
        made = select(ops, number, data, **arguments) if choice.if_true() else None
        data = choice.merged(made, data if choice.if_false() else None)
    return data


def _tables(
    policy: Policy, steps: int
) -> tuple[list[tuple[list[_Augmentation], Any]], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns a policy as arrays over its sub-policies.

    Returns:
        For each step the augmentations and which of them each sub-policy takes; the probabilities
        and the magnitude bins, [sub-policy, step]. What is shorter than others has probability 0 at
        its end.
    """
    count = len(policy.sub_policies)
    probabilities = np.zeros((count, steps), np.float32)
    bins = np.zeros((count, steps), np.int32)
    operations = []
    for step in range(steps):
        numbers = np.zeros(count, np.int32)
        found: dict[_Augmentation, int] = {}
        for row, sub_policy in enumerate(policy.sub_policies):
            if step < len(sub_policy):
                one, probabilities[row, step], magnitude = sub_policy[step]
                bins[row, step] = magnitude or 0
                numbers[row] = found.setdefault(one, len(found))
        operations.append((list(found), numbers))
    return operations, probabilities, bins


def _policy(name: str, table: _policies.Table, moves: list[_Augmentation]) -> Policy:
    """Returns a policy with the magnitudes of AutoAugment."""
    solarize_add = a.solarize_add.augmentation((0, 110), False)
    found = {one.name: one for one in (*_suites.as_auto_augment(moves), solarize_add, a.invert)}
    steps = [[(found[op], p, magnitude) for op, p, magnitude in one] for one in table]
    return Policy(name, _policies.NUM_BINS, steps)


def _moves(use_shape: bool, max_abs: Any, max_rel: Any) -> list[_Augmentation]:
    return _suites.translations(use_shape, max_abs, max_rel, _PIXELS, _PART, "auto_augment")


def get_image_net_policy(
    use_shape: bool = False,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
) -> Policy:
    """Returns the policy that was found on ImageNet.

    Args:
        use_shape: whether translations are relative to the shape of images, which is then passed as
            `shape` where the policy is applied.
        max_translate_abs: see auto_augment().
        max_translate_rel: see auto_augment().
    """
    moves = _moves(use_shape, max_translate_abs, max_translate_rel)
    return _policy("ImageNetPolicy", _policies.IMAGE_NET, moves)


def get_reduced_cifar10_policy(
    use_shape: bool = False,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
) -> Policy:
    """Returns the policy that was found on a part of CIFAR-10.

    Args:
        use_shape: as get_image_net_policy().
        max_translate_abs: see auto_augment().
        max_translate_rel: see auto_augment().
    """
    moves = _moves(use_shape, max_translate_abs, max_translate_rel)
    return _policy("ReducedCifar10Policy", _policies.REDUCED_CIFAR10, moves)


def get_svhn_policy(
    use_shape: bool = False,
    max_translate_abs: int | tuple[int, int] | None = None,
    max_translate_rel: float | tuple[float, float] | None = None,
) -> Policy:
    """Returns the policy that was found on SVHN.

    Args:
        use_shape: as get_image_net_policy().
        max_translate_abs: see auto_augment().
        max_translate_rel: see auto_augment().
    """
    moves = _moves(use_shape, max_translate_abs, max_translate_rel)
    return _policy("SvhnPolicy", _policies.SVHN, moves)


def get_reduced_image_net_policy() -> Policy:
    """Returns the policy that was found on a part of ImageNet; it has no translations."""
    return _policy("ReducedImageNetPolicy", _policies.REDUCED_IMAGE_NET, [])


_WITH_TRANSLATIONS = {
    "image_net": get_image_net_policy,
    "svhn": get_svhn_policy,
    "reduced_cifar10": get_reduced_cifar10_policy,
}
