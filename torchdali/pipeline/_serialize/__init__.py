# SPDX-License-Identifier: Apache-2.0
"""Serialized pipelines: documents of a definition and its options."""
