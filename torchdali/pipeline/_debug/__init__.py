# SPDX-License-Identifier: Apache-2.0
"""Debug mode: operators run as the definition calls them; docs/design/debug.md."""
