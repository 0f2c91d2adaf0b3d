#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates a virtual environment for packages that conflict with those of .venv, and installs what
# is missing:   tools/setup_peer.sh VENV EXTRA [PYTHON]       (EXTRA: a name from pyproject.toml)
# With PYTHON, the environment also has the packages of that interpreter, such as torch.
# dali: real DALI, for parity tests and benchmarks; it runs without a GPU. Do not use a newer version
# than the one pinned in pyproject.toml. rivals: other loaders, for benchmarks.
set -euo pipefail

venv=$1 extra=$2 base=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$venv/bin/python" ] || "${base:-${PYTHON:-python3}}" -m venv "$venv"
if [ -n "$base" ]; then
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  "$base" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' >"$site/base.pth"
fi
mapfile -t missing < <("$venv/bin/python" "$here/requirements.py" --missing "$extra")
torch=
[ -z "$base" ] || torch=$("$base" -c 'from importlib.metadata import version; print("torch==" + version("torch"))')
[ ${#missing[@]} -eq 0 ] || "$venv/bin/python" -m pip install -q --constraint <(echo "$torch") "${missing[@]}"
echo "$venv: installed $("$venv/bin/python" "$here/requirements.py" "$extra" | paste -sd " ")"
