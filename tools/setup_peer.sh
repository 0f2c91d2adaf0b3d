#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates a virtual environment for packages that conflict with those of .venv, and installs what
# is missing:   tools/setup_peer.sh VENV EXTRA       (EXTRA: a name from pyproject.toml)
# dali: real DALI, for parity tests and benchmarks; it runs without a GPU. Do not use a newer version
# than the one pinned in pyproject.toml. rivals: other loaders, for benchmarks.
set -euo pipefail

venv=$1 extra=$2
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
mapfile -t missing < <("$venv/bin/python" "$here/requirements.py" --missing "$extra")
[ ${#missing[@]} -eq 0 ] || "$venv/bin/python" -m pip install -q "${missing[@]}"
echo "$venv: installed $("$venv/bin/python" "$here/requirements.py" "$extra" | paste -sd " ")"
