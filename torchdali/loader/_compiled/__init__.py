# SPDX-License-Identifier: Apache-2.0
"""Datasets whose samples the engine makes: DataLoader(accelerate=True)."""
