# SPDX-License-Identifier: Apache-2.0
"""Definitions: operators as they are recorded, and what becomes operators."""
