# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of objects that print as text."""

from __future__ import annotations

import html

__all__ = ["preformatted"]


def preformatted(text: str) -> str:
    """Returns a text as HTML that keeps its columns; the first line, a sentence, is bold."""
    first, _, rest = text.partition("\n")
    body = f'<b style="white-space:pre-wrap">{html.escape(first)}</b>'
    body += f"\n{html.escape(rest)}" if rest else ""
    return f'<pre style="line-height:1.3;overflow-x:auto">{body}</pre>'
