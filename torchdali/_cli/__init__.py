# SPDX-License-Identifier: Apache-2.0
"""The commands of ``torchdali``; docs/design/command_line.md."""

__all__ = ["AS_DALI"]

AS_DALI = "the script is for DALI: nvidia.dali is torchdali"  # help of the option
