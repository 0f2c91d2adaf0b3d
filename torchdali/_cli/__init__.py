# SPDX-License-Identifier: Apache-2.0
"""The commands of ``torchdali``; docs/design/command_line.md."""
