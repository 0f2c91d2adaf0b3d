# SPDX-License-Identifier: Apache-2.0
"""Which part may depend on which, and how long files may be; see CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "torchdali"

# Folder of csrc -> folders that it may include, beside itself.
CXX_RULES: dict[str, set[str]] = {
    "api": set(),
    "core": set(),
    "extension": {"api", "core", "gpu", "ops"},  # of ops, the layout of an input
    "kernels": set(),
    "io": {"core", "kernels"},
    "gpu": {"core", "kernels"},
    "ops": {"core", "kernels", "io", "gpu"},
    "executor": {"core", "gpu"},
    # io: the list of codecs; kernels, gpu: strides and streams of what a Python function returns
    "python": {"core", "executor", "extension", "gpu", "io", "kernels"},
    # torchdali/_video.so, which is not linked with the engine: the table of its functions
    "video": {"io", "kernels"},
    "workers": {"core"},  # its std only part: torchdali._shm is not linked with torch
}
# Files that see torch; the rest of the engine is std only.
SEES_TORCH = {"gpu/torch_c.cpp", "gpu/torch_memory.cpp"}
TORCH = re.compile(r"^(torch|ATen|c10|pybind11|nanobind|nb_combined|Python\.h)\b")
SEES_PYTHON = {"workers/bind_workers.cpp", "workers/nanobind.cpp"}
# Vocabulary that every folder may use: element types, layouts and errors are std only, and so are
# the kernels that use them.
VOCABULARY = {
    f"core/{name}.h"
    for name in (
        *("audio/frame_lanes", "cpu_features", "dtype", "error", "image_types", "layout"),
        *("random", "view"),
    )
}

# The floors of the package: a module imports from its own floor or from lower ones, never in a
# cycle. A name stands for a module or a package with all that is in it.
FLOORS: list[set[str]] = [
    {
        *("_build_info", "_common", "_dali_path", "_storage", "as_dali", "errors", "pickling"),
        *("stats", "tfrecord"),
    },
    {
        "_C",
        "_engine",
        "_shm",
        "_workers",
        "index",
        "info",
        "profiling",
        "python_function_plugin",
        "storage",
    },
    {"tensors"},
    {"_graph", "data_node", "graph", "math", "types"},
    {"_sources"},
    {"backend", "external_source", "fn", "ops", "pipeline", "plugin_manager", "sysconfig"},
    {
        "_eager",
        "_stubs",
        "auto_aug",
        "experimental",
        "extension",
        "functional",
        "loader",
        "loop",
        "plugin",
        "transforms",
    },
    {"lightning", "ray"},
    {"__main__", "_cli", "run"},
]
# A definition records nodes and runs nothing; a pipeline runs any nodes.
NEVER = {("fn", "pipeline"), ("ops", "pipeline"), ("pipeline", "fn"), ("pipeline", "ops")}

MOST_LINES = 400
SUFFIXES = {".c", ".cpp", ".cu", ".h", ".py"}  # stubs are generated


def problems(found: Iterable[str]) -> None:
    """Fails with all the problems of a rule, one per line."""
    text = "\n".join(found)
    assert not text, f"\n{text}"


def find_cycles(edges: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yields the cycles that a walk through a graph finds first."""
    done: set[str] = set()
    path: list[str] = []

    def walk(name: str) -> Iterator[str]:
        path.append(name)
        for other in edges.get(name, ()):
            if other in path:
                yield " -> ".join([*path[path.index(other) :], other])
            elif other not in done:
                yield from walk(other)
        done.add(path.pop())

    for name in edges:
        if name not in done:
            yield from walk(name)


# -- C++


def cxx_files() -> list[Path]:
    return sorted(p for p in CSRC.rglob("*") if p.suffix in {".h", ".cpp", ".cu", ".cuh"})


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def include_problem(path: Path, include: str) -> str | None:
    name = path.relative_to(CSRC)
    folder, target = name.parts[0], include.split("/")[0]
    if folder not in CXX_RULES:
        return "the folder has no rule in tests/test_layering.py"
    if not TORCH.match(include):
        if target not in CXX_RULES:
            return None
        if not (CSRC / include).exists():
            return "there is no such file"
        allowed = target == folder or target in CXX_RULES[folder] or include in VOCABULARY
        return None if allowed else f"{folder} may not depend on {target}"
    if path.suffix == ".cu":
        return "a .cu file sees no torch header"
    if folder not in {"python", "executor"} and str(name) not in SEES_TORCH | SEES_PYTHON:
        return "the engine is std only here"
    if folder == "workers" and not include.startswith(("nanobind/", "nb_combined")):
        return "torchdali._shm uses nanobind only"
    if re.match("(pybind11|ATen|c10)", include):
        return "the engine uses nanobind, and of torch its C interface"
    return None


def test_cxx_files_include_only_what_their_folder_may():
    problems(
        f"{path.relative_to(CSRC)} includes {include}: {problem}"
        for path in cxx_files()
        for include in includes(path)
        if (problem := include_problem(path, include))
    )


def test_headers_with_gpu_kernels_do_not_include_each_other():
    # A kernel would be registered by the generated files of both (tools/gpu_kernels.py).
    problems(
        f"{path.relative_to(CSRC)} includes {include}"
        for path in cxx_files()
        if path.name.endswith("_gpu.h") and path.is_relative_to(CSRC / "kernels")
        for include in includes(path)
        if include.endswith("_gpu.h")
    )


def test_includes_have_no_cycles():
    problems(find_cycles({str(p.relative_to(CSRC)): includes(p) for p in cxx_files()}))


def test_a_cxx_file_starts_with_its_license_and_a_description():
    def found() -> Iterator[str]:
        for path in cxx_files():
            first, second = path.read_text().splitlines()[:2]
            if first != "// SPDX-License-Identifier: Apache-2.0":
                yield f"{path}: no license in the first line"
            # The header of the same name may describe a .cpp file.
            header = path.suffix == ".cpp" and path.with_suffix(".h").exists()
            if not header and not second.startswith("// "):
                yield f"{path}: the second line does not say what the file is"

    problems(found())


def test_the_engine_does_not_depend_on_cuda_at_compile_time():
    asks = re.compile(r"#\s*if.*\b(USE_CUDA|WITH_CUDA)\b|cuda_runtime")
    # csrc/api is compiled with the operators of users.
    engine = [p for p in cxx_files() if p.suffix[:3] != ".cu" and p.parent != CSRC / "api"]
    problems(str(p) for p in engine if asks.search(p.read_text()))


def operator_names() -> set[str]:
    """Returns the names of all operators, hidden ones included."""
    registered = re.compile(r'TORCHDALI_OPERATOR\("([^"]+)"\)')
    return {name for path in cxx_files() for name in registered.findall(path.read_text())}


def operator_literals(code: str, names: set[str]) -> Iterator[str]:
    """Yields the string literals of C++ code that are the name of an operator or its beginning."""
    code = re.sub(r"//[^\n]*", "", code)
    for literal in re.findall(r'"([\w.]+)"', code):
        module = literal.rstrip(".") + "."
        if literal in names or any(name.startswith(module) for name in names):
            yield literal


def test_the_executor_knows_no_operator_by_name():
    names = operator_names()
    assert {"flip", "arithmetic", "conditional.merge", "copy.to_gpu"} <= names
    problems(
        f'{path.relative_to(CSRC)} names the operator "{name}"; ask its schema for a role'
        for path in cxx_files()
        if path.is_relative_to(CSRC / "executor")
        for name in operator_literals(path.read_text(), names)
    )


# -- Python


def python_files() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p.name != "_build_info.py")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph() -> dict[str, set[str]]:
    """Returns for each module those that it imports, in functions and for type checkers too."""
    modules = {module_name(path): path for path in python_files()}
    compiled = {f"torchdali.{name}" for name in ("_build_info", "_C", "_shm")}

    def imports(path: Path) -> Iterator[str]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: a relative import"
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    yield name if name in modules or name in compiled else str(node.module)

    known = modules.keys() | compiled
    return {name: {n for n in imports(p) if n in known} - {name} for name, p in modules.items()}


def test_modules_import_only_from_their_floor_and_below():
    floors = {name: number for number, names in enumerate(FLOORS, 1) for name in names}

    def found() -> Iterator[str]:
        for module, imported in import_graph().items():
            if module == "torchdali":  # gives users the names of others
                continue
            part = module.split(".")[1]
            if part not in floors:
                yield f"{module} has no floor in tests/test_layering.py"
                continue
            for other in sorted(imported):
                target = other.split(".")[1] if "." in other else "torchdali"
                if floors.get(target, 0) > floors[part] or (part, target) in NEVER:
                    yield f"{module} imports {other}"

    problems(found())


def test_imports_have_no_cycles():
    problems(find_cycles(import_graph()))


def test_no_folder_of_csrc_has_too_many_files():
    folders = {path.parent for path in cxx_files()}
    count = {folder: len([p for p in cxx_files() if p.parent == folder]) for folder in folders}
    problems(f"{folder}: {n} files" for folder, n in count.items() if n > 25)


def test_no_private_module_is_at_the_top_level():
    flat = {path.name for path in PACKAGE.glob("_*.py")} - {
        "__init__.py",
        "__main__.py",
        "_build_info.py",
    }
    problems(flat)


def length_problem(name: str, lines: int) -> str | None:
    return f"{name}: {lines} lines" if lines > MOST_LINES else None


def test_no_source_file_is_too_long():
    def found() -> Iterator[str]:
        for folder in ("benchmarks", "csrc", "examples", "tests", "tools", "torchdali"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in SUFFIXES:
                    name = path.relative_to(ROOT).as_posix()
                    yield length_problem(name, len(path.read_text().splitlines())) or ""

    problems(filter(None, found()))


def test_modules_of_worker_processes_do_not_import_torch():
    graph = import_graph()
    seen = {
        "torchdali._workers.process",
        "torchdali._workers.sources",
        "torchdali._workers.functions",
    }
    while more := {other for name in seen for other in graph.get(name, ())} - seen:
        seen |= more
    at_import = re.compile(r"^(import|from) torch\b", re.MULTILINE)
    paths = (path for path in python_files() if module_name(path) in seen)
    problems(str(path) for path in paths if at_import.search(path.read_text()))


def test_a_public_module_has_all():
    def assigns_all(tree: ast.Module) -> bool:
        return any(
            isinstance(target, ast.Name) and target.id == "__all__"
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )

    def found() -> Iterator[str]:
        for path in python_files():
            tree = ast.parse(path.read_text())
            empty = all(isinstance(node, ast.Expr) for node in tree.body)
            private = "._" in module_name(path)
            if not empty and not private and not assigns_all(tree):
                yield str(path)

    problems(found())


def test_the_rules_can_fail():
    assert list(find_cycles({"a": ["b"], "b": ["c"], "c": ["a"]})) == ["a -> b -> c -> a"]
    assert not list(find_cycles({"a": ["b", "c"], "b": ["c"]}))
    checks: list[Callable[[], str | None]] = [
        lambda: length_problem("csrc/core/x.h", 401),
        lambda: include_problem(CSRC / "core" / "x.h", "ops/window/flip.cpp"),
        lambda: include_problem(CSRC / "ops" / "x.cpp", "torch/extension.h"),
        lambda: include_problem(CSRC / "ops" / "x.cpp", "core/no_such_file.h"),
    ]
    assert all(check() for check in checks)
    code = 'is("flip"); starts("decoders."); // "copy"\n in("decoders"); is("cpu");'
    names = {"flip", "copy", "decoders.image"}
    assert list(operator_literals(code, names)) == ["flip", "decoders.", "decoders"]
