# SPDX-License-Identifier: Apache-2.0
"""Writes torchdali/_common/dali_names.json: the public names of DALI, with a kind for each.

    python tools/dali_names.py API_JSON OPERATORS_JSON DALI_PYTHON

The two files hold the names of DALI's manual, read off its modules and schemas. DALI_PYTHON is a
Python with DALI 1.35, whose modules are asked for the names that later releases have dropped.

The result maps each module (without "nvidia.dali") to its names, and each name to its kind: the
category of an operator, "module", or "name" for anything else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parents[1] / "torchdali" / "_common" / "dali_names.json"
PACKAGE = "nvidia.dali"
# DALI's own machinery, which its manual does not have; and names that are covered by their module.
LEFT_OUT = re.compile(
    r"(^|\.)(_|libdali)|^(backend_impl|internal|experimental\.torchvision)\.|\bhidden\."
)

# Runs in DALI's Python: prints (module, name, whether it is a module) of all modules. Plugins of
# frameworks that are not installed are only names.
WALK = """
import importlib, inspect, json, pkgutil, warnings
warnings.simplefilter("ignore")
import nvidia.dali
found = []
for info in pkgutil.walk_packages(nvidia.dali.__path__, "nvidia.dali."):
    parent, _, own = info.name.rpartition(".")
    found.append((parent, own, True))
    try:
        module = importlib.import_module(info.name)
    except Exception:
        continue
    modules = [(info.name, module)]
    for name, module in modules:
        for own, value in vars(module).items():
            if inspect.ismodule(value):
                if value.__name__.startswith(name + ".") and value is not module:
                    found.append((name, own, True))
                    modules.append((value.__name__, value))
                continue
            home = getattr(value, "__module__", None) or "nvidia.dali"
            if isinstance(home, str) and home.startswith("nvidia.dali"):
                found.append((name, own, False))
print(json.dumps(found))
"""


def operators(facts: dict[str, Any]) -> dict[str, str]:
    """Returns the category of each operator, by its dotted names in fn and ops."""
    kinds: dict[str, str] = {}
    for operator in facts["operators"]:
        kinds[operator["fn"]] = kinds[operator["ops"]] = operator["category"]
    for alias in facts["hidden_aliases"]:
        schema = (alias["in_favour_of"] or "").replace("__", ".")
        kinds[alias["fn"]] = kinds[alias["ops"]] = kinds.get(f"ops.{schema}", "generic")
    return kinds


def names_of_manual(api: dict[str, Any]) -> dict[str, str]:
    """Returns the kind of each name in the modules of the manual."""
    kinds: dict[str, str] = {}
    for module, names in api["modules"].items():
        if not module.startswith(PACKAGE) or " " in module:
            continue
        path = module[len(PACKAGE) + 1 :]
        if path:
            kinds[path] = "module"
        for name, about in names.items():
            if about["kind"] != "module":  # else it is imported from elsewhere, or an own entry
                kinds[f"{path}.{name}".lstrip(".")] = "name"
    return kinds


def names_of_release(python: str) -> dict[str, str]:
    """Returns the kind of each public name in the modules of an installed DALI."""
    found = subprocess.run([python, "-c", WALK], capture_output=True, text=True, check=True).stdout
    kinds: dict[str, str] = {}
    for module, name, is_module in json.loads(found.splitlines()[-1]):
        path = f"{module}.{name}"[len(PACKAGE) + 1 :]
        kinds[path] = "module" if is_module else "name"
    return kinds


def main() -> None:
    """Reads the facts and writes the table."""
    api, facts = (json.loads(Path(path).read_text()) for path in sys.argv[1:3])
    by_name = operators(facts)
    kinds = {**names_of_release(sys.argv[3]), **names_of_manual(api), **by_name}
    kinds = {path: kind for path, kind in kinds.items() if path and not LEFT_OUT.search(path)}
    for path, kind in list(kinds.items()):
        if kind == "name" and re.match(r"(fn|ops)\.", path):
            kinds[path] = "generic"  # an operator that later releases have dropped
        elif kind == "module" and re.match(r"(fn|ops)\.(?!hidden)", path):
            del kinds[path]
    for path, kind in list(kinds.items()):
        of_operators = path.startswith(("fn.", "ops."))
        for dot in re.finditer(r"\.", path):
            kinds.setdefault(path[: dot.start()], kind if of_operators else "module")
    table: dict[str, dict[str, str]] = defaultdict(dict)
    for path, kind in sorted(kinds.items()):
        module, _, name = path.rpartition(".")
        table[module][name] = kind
    OUTPUT.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
