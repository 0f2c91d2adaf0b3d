# SPDX-License-Identifier: Apache-2.0
"""Who may depend on whom, read off #include and import lines; CONTRIBUTING.md has the picture."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "torchdali"

# Folder of csrc -> folders that it may include, beside itself.
CXX_RULES: dict[str, set[str]] = {
    "core": set(),
    "kernels": set(),
    "io": {"core", "kernels"},
    "gpu": {"core", "kernels"},
    "ops": {"core", "kernels", "io", "gpu"},
    "executor": {"core", "gpu"},
    # io: the list of codecs; kernels, gpu: strides and streams of what a Python function returns
    "python": {"core", "executor", "gpu", "io", "kernels"},
    "workers": {"core"},  # its std only part: torchdali._shm is not linked with torch
    "cuda": {"gpu"},
}
# Files that see torch; the rest of the engine is std only.
SEES_TORCH = {"core/batch.h", "core/batch.cpp", "gpu/device.h", "gpu/device.cpp"}
TORCH = re.compile(r"^(torch|ATen|c10|pybind11|Python\.h)\b")
SEES_PYTHON = {"workers/bind_workers.cpp"}
# Vocabulary that anybody may use: element types, layouts and errors are std only, and so are the
# kernels that use them.
VOCABULARY = {"core/dtype.h", "core/error.h", "core/layout.h", "core/view.h", "core/cpu_features.h"}

# Modules of the package from the ground up: one may import those of the layers below its own. A
# name stands for a package and everything in it.
PY_LAYERS: list[set[str]] = [
    {"_build_info", "_enums", "_gpu_record", "_infos", "_plan_facts", "_sample_context"},
    {"_source_location", "pickling"},
    {"errors", "stats", "types"},
    {"_counters", "_workers"},
    {"_tensor_input", "_tensor_repr"},
    {"_tensors", "_tensor_gpu"},
    {"data_node", "_document", "_references"},
    {"_extension", "_ranks", "_structure"},
    {"_functions", "_schema", "tensors", "info", "python_function_plugin"},
    {"_arguments", "_checkpoint", "_debug_node", "_op_schema", "_options"},
    {"_nodes", "_operator_use"},
    {"graph"},
    {
        "_clocks",
        "_constants",
        "_devices",
        "_dot",
        "_expressions",
        "_pulling",
        "_sinking",
        "_subscript",
    },
    {"_feeding", "_planning", "math"},
    {"_parallel", "_taking"},
    {"_calls", "_conditionals", "_process_functions", "external_source", "_restoring", "_running"},
    {"_eager", "profiling"},
    {"_resuming"},
    {"_inspecting"},
    {"_debug", "_serialization"},
    {"_building"},
    {"_callables", "pipeline"},
    {"backend"},
    {"fn", "ops"},
    {"_loop_epochs", "_loop_outputs"},
    {"_loop_state"},
    {"_loop_pipelines"},
    {"loop"},
    {"auto_aug", "plugin", "loader"},
    {"lightning"},
    {"_reference"},
    {"_operator_states"},
    {"_generate"},
]
# A definition records nodes and runs nothing.
FORBIDDEN = {("fn", "pipeline"), ("ops", "pipeline")}
# They give other modules' names to users, under the names that DALI has for them.
FACADES = {"__init__"}


def cxx_files() -> list[Path]:
    return sorted(p for p in CSRC.rglob("*") if p.suffix in {".h", ".cpp", ".cu"})


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", cxx_files(), ids=lambda p: str(p.relative_to(CSRC)))
def test_a_cxx_file_includes_only_what_its_folder_may(path):
    name = path.relative_to(CSRC)
    folder = name.parts[0]
    assert folder in CXX_RULES, f"csrc/{folder} has no rule in tests/test_layering.py"
    for include in includes(path):
        if TORCH.match(include):
            allowed = folder in {"python", "executor"} or str(name) in SEES_TORCH | SEES_PYTHON
            assert allowed, f"{name} includes {include}: the engine is std only here"
            assert include != "torch/extension.h", f"{name}: torch/extension.h costs 15 s a file"
            if "pybind" in include:
                binds = folder == "python" or str(name) in SEES_PYTHON
                assert binds, f"{name}: only csrc/python sees pybind11"
            assert path.suffix != ".cu", f"{name}: a .cu file sees no torch header"
        elif include.split("/")[0] in CXX_RULES:
            target = include.split("/")[0]
            allowed = target == folder or target in CXX_RULES[folder] or include in VOCABULARY
            assert allowed, f"{name} includes {include}: {folder} may not depend on {target}"


def test_every_include_of_ours_exists():
    for path in cxx_files():
        for include in includes(path):
            if include.split("/")[0] in CXX_RULES:
                assert (CSRC / include).exists(), f"{path.name} includes {include}"


@pytest.mark.parametrize("path", cxx_files(), ids=lambda p: str(p.relative_to(CSRC)))
def test_a_cxx_file_starts_with_its_licence_and_says_what_it_is(path):
    first, second = path.read_text().splitlines()[:2]
    assert first == "// SPDX-License-Identifier: Apache-2.0"
    # What a .cpp file is may stand in the header of its name.
    described = second.startswith("// ") or (
        path.suffix == ".cpp" and path.with_suffix(".h").exists()
    )
    assert described, f"{path.name}: the second line says what the file is"


def test_the_engine_asks_nothing_of_cuda_at_compile_time():
    for path in cxx_files():
        if path.suffix != ".cu":
            text = path.read_text()
            assert not re.search(r"#\s*if.*\b(USE_CUDA|WITH_CUDA)\b", text), path
            assert "cuda_runtime" not in text, path


def module_name(path: Path) -> str:
    """Returns the first part of a module's name inside the package: "fn" for fn/__init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports(path: Path) -> set[str]:
    """Returns modules of the package that a file imports, those inside functions included.

    What is imported for the type checker alone does not count.
    """
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = ("torchdali", *path.relative_to(PACKAGE).parts[:-1])
                parts = package[: len(package) - node.level + 1]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "torchdali" and len(parts) > 1:
                found.add(parts[1])
    return found


def python_files() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p.name != "_build_info.py")


@pytest.mark.parametrize("path", python_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_python_module_imports_only_what_lies_below_it(path):
    module = module_name(path)
    if module in FACADES:
        return
    layer_of = {name: number for number, names in enumerate(PY_LAYERS) for name in names}
    assert module in layer_of, f"torchdali/{module} has no layer in tests/test_layering.py"
    for name in imports(path) - {module}:
        if name in FACADES or name in layer_of:
            below = name in layer_of and layer_of[name] < layer_of[module]
            assert below, f"{module} may not import torchdali.{name}"
            assert (module, name) not in FORBIDDEN, f"{module} may not import torchdali.{name}"


@pytest.mark.parametrize("path", python_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_public_module_says_what_it_exports(path):
    if path.stem.startswith("_") and path.stem != "__init__":
        return
    if all(isinstance(node, ast.Expr) for node in ast.parse(path.read_text()).body):
        return  # nothing but its docstring
    assigned = {
        target.id
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    assert "__all__" in assigned
