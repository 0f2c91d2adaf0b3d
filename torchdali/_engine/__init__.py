# SPDX-License-Identifier: Apache-2.0
"""The compiled engine: loading it, and what it says about its operators."""
