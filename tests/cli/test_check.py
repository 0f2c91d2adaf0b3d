# SPDX-License-Identifier: Apache-2.0
"""`python -m torchdali.run --check`: names and arguments that torchdali lacks, with their lines."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from helpers.cases import for_each

from torchdali import run
from torchdali._cli import check


def findings(source: str) -> list[tuple[int, str, str]]:
    """Returns line, what is missing without "nvidia.dali.", and what to use instead."""
    found = check.check_source(textwrap.dedent(source))
    assert found is not None
    return [(f.line, f.what.removeprefix("nvidia.dali."), f.fix) for f in found]


MISSING = [
    ("import nvidia.dali.plugin.tf as dali_tf", "plugin.tf", "DLPack"),
    ("from nvidia.dali.plugin import jax", "plugin.jax", "DLPack"),
    ("from nvidia.dali.backend_impl import TensorCPU", "backend_impl", "torchdali.backend"),
    ("import nvidia.dali as d; d.fn.resise(x)", "fn.resise", "did you mean `resize`?"),
    ("from nvidia.dali import fn; f = fn; f.optical_flow(x)", "fn.optical_flow", "OpenCV"),
    ("import nvidia.dali.types as t; t.DALIDataType.INT9", "types.DALIDataType.INT9", "INT"),
    ("from nvidia.dali.types import *; DALIDataType.INT9", "types.DALIDataType.INT9", "INT"),
    ("from nvidia import dali; dali.nothing.deeper", "nothing", ""),
    ("from nvidia.dali.fn import resize; resize(x, interp=3)", "fn.resize(interp=)", "interp_type"),
    ("from nvidia.dali import ops; ops.Resize(sise=3)", "ops.Resize(sise=)", "`size`"),
    (
        "from nvidia.dali.pipeline import pipeline_def\n@pipeline_def(num_thread=3)\ndef p(): pass",
        "pipeline.pipeline_def(num_thread=)",
        "`num_threads`",
    ),
    (
        "from nvidia.dali import Pipeline\n"
        "class P(Pipeline):\n    def __init__(self):\n        super().__init__(batch=3)",
        "Pipeline(batch=)",
        "batch_size",
    ),
    (
        "from nvidia.dali.plugin.pytorch import DALIGenericIterator as I; I(p, reader='x')",
        "plugin.pytorch.DALIGenericIterator(reader=)",
        "reader_name",
    ),
    (
        "from nvidia.dali import fn\ndef f(x):\n    from nvidia.dali import ops\n    ops.Resise",
        "ops.Resise",
        "`Resize`",
    ),
    (
        "from nvidia.dali import Pipeline\np = Pipeline(1, 1, 0)\nwith p:\n    p.biuld",
        "Pipeline.biuld",
        "`build`",
    ),
    (
        "from nvidia.dali import pipeline_def\n@pipeline_def(batch_size=1)\ndef f(): pass\n"
        "def main():\n    p = f(num_threads=1)\n    p.feed_inputs",
        "Pipeline.feed_inputs",
        "`feed_input`",
    ),
    (
        "from nvidia.dali import Pipeline\np = Pipeline()\np.feed_input('x', y, layot='HWC')",
        "Pipeline.feed_input(layot=)",
        "`layout`",
    ),
    (
        "import nvidia.dali.plugin.pytorch as dali\nclass Loader:\n"
        "    def __init__(self, pipe):\n        self.it = dali.DALIGenericIterator(pipe, ['x'])\n"
        "    def end(self): self.it.resett()",
        "plugin.pytorch.DALIGenericIterator.resett",
        "`reset`",
    ),
    (
        "from nvidia.dali import ops\nclass A:\n    def __init__(self):\n"
        "        self.decode = ops.decoders.Image()\n    def run(self): self.decode.devices",
        "ops.decoders.Image.devices",
        "`device`",
    ),
]


@for_each("case", MISSING)
def test_what_is_missing_is_found_with_its_line(case):
    source, what, fix = case
    ((line, name, instead),) = findings(source)
    assert name.startswith(what)
    assert fix in instead
    assert line == len(source.splitlines()) or "@" in source


PRESENT = [
    "import nvidia.dali as dali; dali.fn.readers.file(file_root=x, device='cpu', seed=3)",
    "from nvidia.dali import ops; ops.CropMirrorNormalize(output_dtype=t, image_type=i)",
    "from nvidia.dali import fn; fn.external_source(s, batch_info=True, name='x')",
    "from nvidia.dali import pipeline_def\n@pipeline_def(batch_size=1, debug=True)\ndef p(): pass",
    "from nvidia.dali import fn\ndef f(fn, *ops): fn.no_such_name",
    "from nvidia.dali import fn\ndef f():\n    for fn in x: fn.no_such_name",
    "from nvidia.dali import fn; fn.copy(x).no_such_name",
    "import nvidia.dali, nvidia.cublas; nvidia.cublas.no_such_name",
    "from nvidia.dali import Pipeline; Pipeline(**args)",
    "from nvidia.dali import types; types.FLOAT.no_such_name",
    *(
        f"from nvidia.dali import Pipeline, ops, pipeline_def\n{program}"
        for program in (
            "p = Pipeline()\np.own = 3\np.own",
            "p = Pipeline()\nif hasattr(p, 'own'): p.own()",
            "p = Pipeline()\np = other()\np.own",
            "p = Pipeline()\nfor p in x: p.own",
            "p = Pipeline()\ndef f():\n    global p\n    p = other()\np.own",
            "p = Pipeline()\ndef f(p): p.own",
            "p = Pipeline()\np._private",
            "class P(Pipeline):\n    def own(self): pass\np = P()\np.own()",
            "class A:\n    def __init__(self): self.p = Pipeline()\n"
            "    def set(self): self.p = other()\n    def run(self): self.p.own",
            "@other\n@pipeline_def\ndef f(): pass\np = f()\np.own",
            "r = ops.readers.File(files=x)\nr(name='x').own",
        )
    ),
]


@for_each("source", PRESENT)
def test_what_is_there_is_not_reported(source):
    assert findings(source) == []


def test_programs_without_dali_are_told_apart():
    assert check.check_source("import nvidia.cublas as dali; dali.fn.resise") is None
    assert check.check_source("from dali import fn; fn.resise") is None


def test_a_project_is_read_and_not_run(tmp_path: Path, capsys):
    (tmp_path / "train.py").write_text(
        "from nvidia.dali import fn\nfn.resise\nraise RuntimeError\n"
    )
    (tmp_path / "plain.py").write_text("raise RuntimeError\n")
    for folder in (".venv", "site-packages"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "other.py").write_text("from nvidia.dali import resise")
    cells = [
        {"cell_type": "markdown", "source": ["from nvidia.dali import text"]},
        {"cell_type": "code", "source": ["!pip install x\n", "from nvidia.dali import ops"]},
        {"cell_type": "code", "source": ["%%timeit\n", "ops.This"]},
        {"cell_type": "code", "source": ["%time x\n", "ops.Resise"]},
    ]
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": cells}))
    assert run.main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path}/notebook.ipynb:6: nvidia.dali.ops.Resise: neither DALI 1.35 nor torchdali "
        "has it",
        "    did you mean `Resize`?",
        f"{tmp_path}/train.py:2: nvidia.dali.fn.resise: neither DALI 1.35 nor torchdali has it",
        "    did you mean `resize`?",
        "files read: 3; with DALI: 2; names and arguments that torchdali lacks: 2",
    ]
    (tmp_path / "train.py").write_text("def (")
    (tmp_path / "notebook.ipynb").write_text("[]")
    assert run.main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out.count("cannot be read") == 2


def test_programs_that_run_lack_nothing(capsys):
    folder = Path(__file__).with_name("programs")
    assert run.main(["--check", str(folder)]) == 0
    assert capsys.readouterr().out.endswith("torchdali lacks: 0\n")
