# SPDX-License-Identifier: Apache-2.0
"""Remote files: options, and the libraries that make requests. docs/design/storage.md.

Imports no torch, because worker processes carry the options.
"""
