# SPDX-License-Identifier: Apache-2.0
"""Writes dali_api.json: names and signatures of DALI's Python modules, for tests/test_api_names.py.

    python tests/data/make_dali_api.py API_JSON

API_JSON holds what DALI says about itself when it is asked (inspect, docstrings of pybind11). The
result has one line a name. A class has "init" (one or more signatures), "methods", "properties" and
"members"; a signature is a list of [name, kind] or [name, kind, default], where kind is one letter:
p positional only, b by position or name, k by name only, * and ** for the rest.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).with_name("dali_api.json")
DYNAMIC = "experimental.dynamic"
MODULES = ("", "pipeline", "data_node", "types", "math", "tensors", "backend")
MODULES += (DYNAMIC, f"{DYNAMIC}.math", f"{DYNAMIC}.random", f"{DYNAMIC}.readers")


def parameter(argument: ast.arg, kind: str, default: ast.expr | None) -> list[Any]:
    """Returns one parameter; a default that is no literal stands as its text."""
    if kind == "b" and argument.arg.startswith("arg") and argument.arg[3:].isdigit():
        kind = "p"  # what pybind11 calls an argument without a name
    if default is None:
        return [argument.arg, kind]
    try:
        return [argument.arg, kind, ast.literal_eval(default)]
    except ValueError:
        return [argument.arg, kind, ast.unparse(default)]


def signature(text: str) -> list[list[Any]]:
    """Returns the parameters of "name(a, *, b: int = 1) -> x", without self."""
    text = re.sub(r"<[^<>]*>", "None", text)  # "<object object>", "<class 'SupportsIndex'>"
    begin, depth = text.index("("), 0
    for end in range(begin, len(text)):
        depth += (text[end] in "([") - (text[end] in ")]")
        if not depth:
            break
    found = ast.parse(f"def f{text[begin : end + 1]}: pass").body[0]
    assert isinstance(found, ast.FunctionDef)
    args = found.args
    positional = [(a, "p") for a in args.posonlyargs] + [(a, "b") for a in args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    result = [parameter(a, k, d) for (a, k), d in zip(positional, defaults, strict=True)]
    if args.vararg:
        result.append([args.vararg.arg, "*"])
    result += [parameter(a, "k", d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        result.append([args.kwarg.arg, "**"])
    return [p for p in result if p[0] not in ("self", "cls") and not p[0].startswith("_")]


def method(name: str, text: str) -> list[list[Any]]:
    """Returns the parameters of a method; what syntax calls, like x[i], goes by position."""
    found = signature(text)
    if name in ("__getitem__", "__exit__"):
        return [[p[0], "p", *p[2:]] for p in found]
    return found


def entry(name: str, facts: dict[str, Any], operators: list[str]) -> dict[str, Any]:
    """Returns what the test has to know about one name."""
    kind = facts["kind"]
    if kind == "function" and facts["sig"] is None:  # an object that can be called
        return {"kind": "value", "type": "DType"}
    if kind == "function":
        return {"kind": kind, "parameters": signature(facts["sig"])}
    if kind == "enum":
        return {"kind": kind, "members": list(facts["members"])}
    if kind != "class":
        return {"kind": kind, **({"type": facts["type"]} if kind == "value" else {})}
    if "see" in facts:
        return {"kind": "alias", "of": f"{facts['see']}.{name}".removeprefix("nvidia.dali.")}
    init = facts["init"] if isinstance(facts["init"], list) else [facts["init"]]
    # What every object has needs no test, and pickling (__getstate__) is tested by pickling. The
    # operators of DataNode have no signature.
    plain = {"__repr__", "__str__", "__getstate__", "__setstate__"}
    methods = {n: method(n, m["sig"]) for n, m in facts["methods"].items() if n not in plain}
    result = {
        "kind": kind,
        "init": [signature(one) for one in init],
        "methods": {**methods, **{name: None for name in operators if name not in methods}},
        "properties": list(facts["properties"]),
    }
    return {**result, **({"members": facts["attributes"]} if "attributes" in facts else {})}


def main() -> None:
    """Reads the facts and writes the small file."""
    facts = json.loads(Path(sys.argv[1]).read_text())
    lines = []
    for module in MODULES:
        home = f"nvidia.dali.{module}".rstrip(".")
        for name, value in sorted(facts["modules"][home].items()):
            operators = facts["python_operators"].get(value.get("home"), [])
            if value.get("home", "").endswith(".pipeline.DataNode"):
                operators = facts["python_operators"]["nvidia.dali.data_node.DataNode"]
            if value.get("type") == "_Feature":
                continue  # what "from __future__ import annotations" leaves behind
            full = f"{module}.{name}".lstrip(".")
            text = json.dumps(entry(name, value, operators), separators=(",", ":"))
            lines.append(f"{json.dumps(full)}: {text}")
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
