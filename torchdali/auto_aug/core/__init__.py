# SPDX-License-Identifier: Apache-2.0
"""What policies of augmentations are made of: for augmentations and policies of one's own."""

from typing import TYPE_CHECKING

from torchdali._common.unsupported import names_of
from torchdali.auto_aug.core._augmentation import Augmentation as _Augmentation
from torchdali.auto_aug.core._augmentation import augmentation
from torchdali.auto_aug.core._bins import signed_bin
from torchdali.auto_aug.core._select import select
from torchdali.auto_aug.core.policy import Policy

__all__ = ["Policy", "_Augmentation", "augmentation", "select", "signed_bin"]

if not TYPE_CHECKING:  # else a type checker would believe every name
    __getattr__ = names_of(__name__)
