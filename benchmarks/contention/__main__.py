# SPDX-License-Identifier: Apache-2.0
"""How throughput grows with the cores: ``python -m benchmarks.contention --data DIR --out FILE``.

Measures only the throughput, in a minute or two, for machines that are lent. The counts belong to
``python -m benchmarks.run --parts contention``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import harness, tables
from benchmarks.contention import measure_throughput


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contention", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with JPEG files")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    axes = {"batch": 64, "seed": 1, "data": str(options.data.resolve())}
    results = measure_throughput(axes, options.rounds)
    document = harness.document({"rounds": options.rounds, **axes}, results)
    del document["settings"]["data"]  # a local folder
    options.out.write_text(json.dumps(document, indent=1) + "\n")
    print(tables.contention.throughput_table(document))


if __name__ == "__main__":
    main()
