#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a virtual environment with real DALI, the oracle of the parity tests and a peer of the
# benchmarks; it runs without a GPU. Never a newer DALI than the one that pyproject.toml pins.
#   tools/setup_dali.sh VENV
set -euo pipefail

venv=$1
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
mapfile -t missing < <("$venv/bin/python" "$here/requirements.py" --missing dali)
[ ${#missing[@]} -eq 0 ] || "$venv/bin/python" -m pip install -q "${missing[@]}"
"$venv/bin/python" -c 'import nvidia.dali as d; print(f"DALI {d.__version__} in {d.__path__[0]}")'
