#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a virtual environment for peers that do not go together with ours, and installs what is
# missing:   tools/setup_peer.sh VENV EXTRA       (EXTRA: a name from pyproject.toml)
# dali: real DALI, the oracle of the parity tests and a peer of the benchmarks; it runs without a
# GPU, and never a newer one than pyproject.toml pins. rivals: other loaders.
set -euo pipefail

venv=$1 extra=$2
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
mapfile -t missing < <("$venv/bin/python" "$here/requirements.py" --missing "$extra")
[ ${#missing[@]} -eq 0 ] || "$venv/bin/python" -m pip install -q "${missing[@]}"
echo "$venv has $("$venv/bin/python" "$here/requirements.py" "$extra" | paste -sd " ")"
