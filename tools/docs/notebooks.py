# SPDX-License-Identifier: Apache-2.0
"""The tutorials: executes notebooks, makes pages of them, and removes their outputs.

Notebooks are stored as they were written, without outputs: ``make format`` removes them. The site
and the tests execute them.
"""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["cleaned", "execute", "page", "tutorials"]

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120  # of a cell
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def tutorials() -> list[Path]:
    """Returns the notebooks."""
    return sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def _clean_cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).rstrip()
        if not source:
            continue
        kept = {"cell_type": cell["cell_type"], "metadata": {}}
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        yield kept | {"source": source.splitlines(keepends=True)}


def cleaned(text: str) -> str:
    """Returns a notebook without outputs, numbers of execution, ids and the kernel's version."""
    notebook = {
        "cells": list(_clean_cells(json.loads(text))),
        "metadata": _METADATA,
        "nbformat": 4,
        "nbformat_minor": 4,  # later versions need an id for each cell
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _package_folder() -> str:
    """Returns the folder with the torchdali that this process would import."""
    spec = importlib.util.find_spec("torchdali")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parents[1])


def execute(path: Path) -> Any:
    """Returns a notebook with its outputs, executed in an empty folder.

    Raises:
        CellExecutionError: of nbclient: a cell has failed; the message has its source.
    """
    import nbclient
    import nbformat
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="torchdali-tutorial-") as folder:
        environment = {
            # Small models train faster with one thread than with several that wait for each other.
            "OMP_NUM_THREADS": "1",
            "TORCHDALI_CACHE_DIR": f"{folder}/cache",
            **os.environ,
            "PYTHONPATH": _package_folder(),
            "TMPDIR": folder,
            "TORCH_EXTENSIONS_DIR": f"{folder}/extensions",
        }
        # Sockets in a folder: two kernels that start at the same time may choose the same TCP port.
        kernel = Config(transport="ipc", connection_file=f"{folder}/kernel.json")
        client = nbclient.NotebookClient(
            notebook,
            config=Config(AsyncKernelManager=kernel),
            timeout=TIMEOUT_S,
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=environment)
    return notebook


def page(notebook: Any) -> str:
    """Returns an executed notebook as Markdown."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        first, _, rest = cell.source.partition("\n")
        written = re.match(r"%%writefile (.*\.(\w+))$", first)
        language = written[2] if written else "python"
        code = f"// {written[1]}\n{rest}" if written else cell.source
        prompt = f'<div class="tutorial-prompt">In [{cell.execution_count}]</div>'
        parts.append(f"{prompt}\n\n```{language}\n{code}\n```")
        shown = [text for text in map(_output, cell.outputs) if text]
        if shown:
            parts.append('<div class="tutorial-output">\n' + "\n".join(shown) + "\n</div>")
    return "\n\n".join(parts) + "\n"


def _output(output: Any) -> str:
    """Returns an output as HTML; "" for what libraries write to stderr."""
    if output.output_type == "stream":
        return _text(output.text) if output.name == "stdout" else ""
    data: Mapping[str, str] = output.get("data", {})
    if "image/svg+xml" in data:
        return data["image/svg+xml"]
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        return data["text/html"]
    return _text(data.get("text/plain", ""))


def _text(text: str) -> str:
    return f"<pre>{html.escape(_COLORS.sub('', text)).rstrip()}</pre>"


if __name__ == "__main__":
    for path in tutorials():
        path.write_text(cleaned(path.read_text(encoding="utf-8")), encoding="utf-8")
