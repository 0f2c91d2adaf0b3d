# SPDX-License-Identifier: Apache-2.0
"""A folder for sys.path, which makes ``nvidia.dali`` mean torchdali; torchdali.as_dali adds it."""
