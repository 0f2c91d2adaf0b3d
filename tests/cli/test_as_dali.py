# SPDX-License-Identifier: Apache-2.0
"""torchdali.as_dali: modules under DALI's names, next to other packages called nvidia.*."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import programs
from helpers.cases import for_each

ROOT = Path(__file__).parents[2]


def run(text: str, *paths: Path) -> str:
    """Runs a program with folders on sys.path; returns what it has printed."""
    done = programs.run(
        "-c", f"import sys; sys.path[1:1] = {[str(path) for path in paths]}\n{text}"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def packages(folder: Path, *names: str) -> Path:
    """Writes packages, each with its name in NAME; returns the folder."""
    for name in names:
        path = folder.joinpath(*name.split("."), "__init__.py")
        path.parent.mkdir(parents=True)
        path.write_text(f"NAME = 'package {name}'\n")
    return folder


SPELLINGS = [
    ("import nvidia.dali as dali", "dali.fn"),
    ("import nvidia.dali.fn", "nvidia.dali.fn"),
    ("import nvidia.dali", "nvidia.dali.fn"),
    ("import nvidia.dali.fn as fn", "fn"),
    ("from nvidia import dali", "dali.fn"),
    ("from nvidia.dali import fn", "fn"),
    ("from nvidia.dali import *", "fn"),
    ("from nvidia.dali import fn as own", "own"),
    ("import importlib; fn = importlib.import_module('nvidia.dali.fn')", "fn"),
]


def test_all_spellings_give_the_same_module():
    lines = [f"exec({statement!r}); assert {name} is expected" for statement, name in SPELLINGS]
    text = "import torchdali.as_dali; import torchdali.fn as expected\n"
    run(text + "\n".join(lines))


MODULES = [
    *("auto_aug.auto_augment", "auto_aug.core", "backend", "data_node", "experimental.dynamic"),
    *("experimental.eager", "external_source", "fn", "fn.decoders", "fn.experimental"),
    *(
        "fn.readers",
        "fn.io.file",
        "math",
        "ops",
        "ops.readers",
        "ops.random",
        "pickling",
        "pipeline",
    ),
    *("pipeline.experimental", "plugin.base_iterator", "plugin.numba", "plugin.pytorch"),
    *("plugin.pytorch.fn", "plugin.pytorch.experimental.proxy", "plugin.pytorch.torch_utils"),
    *("plugin_manager", "python_function_plugin", "sysconfig", "tensors", "tfrecord", "types"),
]


def test_every_module_has_both_names():
    run(f"""
import importlib, torchdali.as_dali
for name in {MODULES}:
    theirs = importlib.import_module(f"nvidia.dali.{{name}}")
    own = importlib.import_module(f"torchdali.{{name}}")
    assert theirs is own, name
    assert own.__name__ == f"torchdali.{{name}}", name
    assert own.__spec__ is None or own.__spec__.name == own.__name__, name
""")


@for_each("kind", ["namespace", "package"])
def test_other_packages_called_nvidia_are_found(kind, tmp_path):
    first, second = tmp_path / kind / "1", tmp_path / kind / "2"
    packages(first, "nvidia.cublas", "nvidia.dali")
    packages(second, "nvidia.cudnn")
    if kind == "package":
        (second / "nvidia" / "__init__.py").write_text("")
    for before in "", "import nvidia.cudnn; ":
        assert run(
            f"""{before}import torchdali.as_dali
import nvidia.cudnn, nvidia.dali
assert nvidia.dali.fn.__name__ == "torchdali.fn"
print(nvidia.cudnn.NAME)
""",
            second,
            first,
        )
    text = "import torchdali.as_dali, nvidia.cublas, nvidia.cudnn; print(nvidia.cublas.NAME)"
    text += "; assert nvidia.__path__[0] == sys.path[2] + '/nvidia', nvidia.__path__"
    assert run(text, first, second) == "package nvidia.cublas"


def test_dali_that_is_imported_already_is_named(tmp_path):
    packages(tmp_path, "nvidia.dali")
    text = """
import nvidia.dali
try:
    import torchdali.as_dali
except NotImplementedError as error:
    print(error)
"""
    found = run(text, tmp_path)
    assert f"NVIDIA DALI ({tmp_path}" in found
    assert "before the first import of nvidia.dali" in found


def test_what_is_missing_raises_the_errors_of_torchdali():
    run("""
import importlib.util, torchdali.as_dali
try:
    import nvidia.dali.plugin.tf
except ModuleNotFoundError as error:
    assert "nvidia.dali.plugin.tf has no counterpart" in str(error), error
try:
    import nvidia.dali.no_such_module
except ModuleNotFoundError as error:
    assert str(error) == "No module named 'nvidia.dali.no_such_module'", error
import nvidia.dali
assert not hasattr(nvidia.dali, "reducers") and not hasattr(nvidia.dali, "no_such_name")
assert "fn" in dir(nvidia.dali) and nvidia.dali.Pipeline.__module__ == "torchdali.pipeline"
""")


def test_the_version_is_that_of_the_peer():
    version = run("from torchdali import as_dali; print(as_dali.DALI_VERSION)")
    assert f'"nvidia-dali-cuda120=={version}"' in (ROOT / "pyproject.toml").read_text()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Returns a program that prints its arguments and where it is."""
    path = tmp_path / "folder" / "program.py"
    path.parent.mkdir()
    (path.parent / "beside.py").write_text("")
    path.write_text("""
import json, sys
import beside
print(json.dumps([__name__, sys.argv[1:], sys.modules["__main__"].__file__]))
sys.exit(3)
""")
    return path


@for_each("way", ["script", "module"])
def test_a_program_gets_its_arguments_and_gives_its_status(way, program):
    what = [program] if way == "script" else ["-m", "program"]
    arguments = [*what, "--lr", "1", "-m", "--check"]
    run = ROOT / "torchdali" / "run.py"
    done = programs.run(run, *arguments, cwd=program.parent)
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout) == ["__main__", ["--lr", "1", "-m", "--check"], str(program)]
