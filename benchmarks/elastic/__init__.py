# SPDX-License-Identifier: Apache-2.0
"""A conformance test of elastic resume: docs/design/elastic.md."""
