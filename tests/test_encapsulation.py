# SPDX-License-Identifier: Apache-2.0
"""No module of the package reads private attributes of foreign objects, and classes stay small."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "torchdali"
MOST_ATTRIBUTES = 25

# Private names of other packages without a public alternative, and the one file that uses each.
FOREIGN_NAMES = {
    "_common/location.py": {"_getframe"},
    # DALI's own names, which users may use too.
    "_engine/dali_schema.py": {
        "_DATA_TYPE_VEC",
        "_FEATURE_DICT",
        "_FLOAT_VEC",
        "_INT32_VEC",
        "_STRING_VEC",
        "_TENSOR_LAYOUT_VEC",
    },
    "pipeline/_pipeline_def.py": {"_is_pipeline_def"},
    "_graph/conditionals/__init__.py": {"_getframe"},
    "_graph/conditionals/runtime.py": {"_getframe"},
    "_graph/conditionals/expressions.py": {"_attributes"},  # of ast nodes; documented
    "_sources/tables/memory.py": {"_indices"},  # of a datasets.Dataset: the rows that it has
    "_workers/server.py": {"_exit"},
    "_workers/starting.py": {"_exit"},
    # The functions of torchvision's datasets that are called without decoding the image.
    "loader/_compiled/torchvision_datasets.py": {
        "_bin_labels",
        "_dataset",
        "_images",
        "_labels",
        "_load_target",
        "_segs",
        "_target_types",
        "_wrapper",
    },
    "loader/_dataset/columns.py": {"_replace"},  # of named tuples
    "loader/_dataset/torch_internals.py": {
        "_IterableDataset_len_called",
        "_auto_collation",
        "_dataset_kind",
        "_generate_state",
        "_index_sampler",
        "_iterator",
        "_worker_info",
    },
    "pickling.py": {"_lru_cache_wrapper"},
    "plugin/numba/_numba.py": {"_get_excinfo_argument", "_return_errcode_raw"},
    # The batches and samples of one module are made and taken apart in the other.
    "tensors/__init__.py": {"_data", "_layout", "_names", "_packed", "_wrap"},
}


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and not name.endswith("_")


def names_defined(tree: ast.Module) -> set[str]:
    """Returns the names that a module defines itself: functions, variables, attributes of self."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and is_own(node) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def is_own(node: ast.Attribute) -> bool:
    """Returns whether an attribute is one of self, cls or super()."""
    value = node.value
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def private_accesses(path: Path, source: str) -> Iterator[str]:
    tree = ast.parse(source)
    allowed = names_defined(tree) | FOREIGN_NAMES.get(path.relative_to(PACKAGE).as_posix(), set())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or is_own(node) or not is_private(node.attr):
            continue
        if node.attr not in allowed:
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"


def stored_names(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def attributes(node: ast.ClassDef) -> set[str]:
    """Returns the data attributes of a class: what methods assign to self, fields and constants.

    Members of an enumeration are its values, and `name = function(...)` in the body of a class
    makes a property or a method.
    """
    if any("Enum" in ast.unparse(base) for base in node.bases):
        return set()
    names = {
        own.attr
        for own in ast.walk(node)
        if isinstance(own, ast.Attribute) and isinstance(own.ctx, ast.Store) and is_own(own)
    }
    for statement in node.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        is_field = any("dataclass" in ast.unparse(one) for one in node.decorator_list)
        if is_field or not isinstance(statement.value, ast.Call):
            several = isinstance(statement, ast.Assign)
            names |= set(stored_names(statement.targets if several else [statement.target]))
    return names


def test_private_attributes_are_read_only_where_they_are_defined():
    found = [line for path in python_files() for line in private_accesses(path, path.read_text())]
    assert not found, "\n".join(found)


def test_the_list_of_foreign_names_has_no_leftovers():
    for file, names in FOREIGN_NAMES.items():
        used = {
            node.attr
            for node in ast.walk(ast.parse((PACKAGE / file).read_text()))
            if isinstance(node, ast.Attribute)
        }
        assert names <= used, file


def test_no_class_has_too_many_attributes():
    found = [
        f"{path.relative_to(ROOT)}: {node.name} has {count}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and (count := len(attributes(node))) > MOST_ATTRIBUTES
    ]
    assert not found, "\n".join(found)


def test_the_rules_can_fail():
    path = PACKAGE / "x.py"
    assert list(private_accesses(path, "def f(p):\n    return p._run"))
    assert list(private_accesses(path, "import os\nos._secret"))
    assert not list(private_accesses(path, "class A:\n    def f(self, a):\n        return self._x"))
    fields = "\n".join(f"    x{i}: int = f()" for i in range(30))
    constants = "\n".join(f"    x{i} = {i}" for i in range(30))
    members = "\n".join(f"    x{i} = option({i})" for i in range(30))
    assigned = "\n".join(f"        self.x{i} = {i}" for i in range(30))
    for source, expected in (
        (f"@dataclass(frozen=True)\nclass A:\n{fields}", 30),
        (f"class A:\n    y = 0\n{constants}", 31),
        (f"class A:\n    y = z = 0\n    def f(self):\n{assigned}", 32),
        (f"class A:\n{members}", 0),
        (f"class A(IntEnum):\n{constants}", 0),
    ):
        node = ast.parse(source).body[0]
        assert isinstance(node, ast.ClassDef)
        assert len(attributes(node)) == expected
