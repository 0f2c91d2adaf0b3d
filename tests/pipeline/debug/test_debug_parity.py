# SPDX-License-Identifier: Apache-2.0
"""Debug mode against real DALI 1.35.0: everything that needs no GPU there."""

from __future__ import annotations

import inspect
import json
import os
import subprocess

import pytest

PROGRAMS = {
    "nodes and outputs": """
x = fn.external_source(source=batches, layout="XY")
return x, 5, x
""",
    "print": """
x = fn.external_source(source=batches, name="x")
say(repr(x)[:16], str(x) == repr(x), x.get().shape(), x.device)
return x
""",
    "several outputs": """
return tuple(fn.external_source(source=lambda: (batches(), batches()), num_outputs=2))
""",
    "nothing": "fn.external_source(source=batches)",
    "nested": "return [fn.external_source(source=batches), [fn.external_source(source=batches)]]",
    "more": """
say(len(said))
for _ in range(len(said)):
    x = fn.external_source(source=batches)
return x
""",
    "fewer": """
x = fn.external_source(source=batches)
say(len(said))
if len(said) == 1:
    fn.external_source(source=batches)
return x
""",
    "sizes": """
return fn.external_source(source=batches), fn.external_source(source=lambda: batches()[:2])
""",
    "large": "return fn.external_source(source=lambda: 2 * batches())",
    "variable": """
say(len(said))
return fn.external_source(source=batches), fn.external_source(source=batches)
""",
    "truth": "return fn.external_source(source=batches) and 1",
    "items": "return list(fn.external_source(source=batches))",
    "end": "return fn.external_source(source=both)",
    "error": "raise KeyError",
    "with": "return pipe.__enter__()",
}


def tell(programs, module):
    """Runs the programs with DALI or with torchdali; returns what they do, as text."""
    import importlib

    np = importlib.import_module("numpy")
    modules = {name: importlib.import_module(f"{module}.{name}") for name in ("fn", "types")}
    decorate = importlib.import_module(f"{module}.pipeline").experimental.pipeline_def
    told = {}
    for name, text in programs.items():
        said, made = [], []

        def batches(said=said):
            count = 1 + len(said) % 3 if "variable" in told else 3
            return [np.arange(6, dtype=np.uint8).reshape(2, 3) + i for i in range(count)]

        def show(batch):
            return [np.array(batch.at(i)).tolist() for i in range(len(batch))], batch.layout()

        scope = {
            **modules,
            "batches": batches,
            "both": iter([batches(), batches()]),
            "said": said,
            "say": lambda *what, said=said: said.append(what),
            "pipe": type("", (), {"__enter__": lambda self, made=made: made[0].__enter__()})(),
        }
        body = "".join(f"    {line}\n" for line in text.strip().splitlines())
        exec(f"def definition():\n{body}", scope)
        options = {"batch_size": 3, "num_threads": 1, "device_id": None, "debug": True}
        pipe = decorate(scope["definition"], **options)()
        made.append(pipe)
        pipe.build()
        for _ in range(3):
            try:
                said.append([show(batch) for batch in pipe.run()])
            except Exception as error:
                kinds = [c for c in type(error).__mro__ if c.__module__ == "builtins"]
                kind = TypeError if isinstance(error, TypeError) else kinds[0]
                said.append(kind.__name__)
        told[name] = [repr(what) for what in said]
    return told


@pytest.mark.dali
def test_programs_behave_as_in_dali(dali_python):
    code = "\n".join(
        [
            inspect.getsource(tell),
            f"PROGRAMS = {PROGRAMS!r}",
            "import json, sys",
            "json.dump(tell(PROGRAMS, 'nvidia.dali'), sys.stdout)",
        ]
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [dali_python, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    theirs = json.loads(done.stdout or "null")
    assert theirs is not None, done.stderr
    ours = tell(PROGRAMS, "torchdali")
    assert ours == theirs
