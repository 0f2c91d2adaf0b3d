# SPDX-License-Identifier: Apache-2.0
"""Automatic augmentations: AutoAugment, RandAugment and TrivialAugment, and what they are made of.

Policies choose for each sample what is done to it, and a sample pays for that alone. They need no
`enable_conditionals`.
"""

from torchdali.auto_aug import augmentations, auto_augment, core, rand_augment, trivial_augment

__all__ = ["augmentations", "auto_augment", "core", "rand_augment", "trivial_augment"]
