# SPDX-License-Identifier: Apache-2.0
"""Writes dali_operators.json: what the tests need to know of DALI's operators and their arguments.

    python tests/data/make_dali_operators.py OPERATORS_JSON

OPERATORS_JSON holds facts read off DALI's own schemas: names, types, defaults, flags. The result
has one line an operator: inputs [least, most], layouts, devices, whether it takes sequences and
volumes, its name in release 1.35 (null: not there), and for each argument [type, per sample,
required, default]; without default the list is shorter.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

OUTPUT = Path(__file__).with_name("dali_operators.json")


def main() -> None:
    """Reads the facts and writes the small file."""
    facts = json.loads(Path(sys.argv[1]).read_text())
    lines = []
    for operator in sorted(facts["operators"], key=lambda o: o["fn"]):
        arguments = {}
        for argument in operator["args"]:
            if argument.get("universal"):
                continue
            entry = [argument["type"], argument["per_sample"], argument["required"]]
            if argument["has_default"]:
                entry.append(argument["default"])
            arguments[argument["name"]] = entry
        layouts = operator["input_layouts"] or {}
        entry = {
            "inputs": [operator["min_inputs"], operator["max_inputs"]],
            "layouts": layouts.get("all_inputs", []),
            "devices": operator["backends"],
            "sequences": operator["allows_sequences"],
            "volumes": operator["volumetric"],
            "name_1_35": operator["in_dali_1_35"],
            "args": arguments,
        }
        name = operator["fn"].removeprefix("fn.")
        lines.append(f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}")
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
