#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds FFCV, a peer of `make bench-field`, into a virtual environment:   tools/setup_ffcv.sh VENV
# Its metadata does not say what its build needs: pkg-config, libopencv-dev and libturbojpeg0-dev.
set -euo pipefail

venv=$1
"$venv/bin/python" -c 'import ffcv' 2>/dev/null && exit 0
here=$(cd "$(dirname "$0")" && pwd)
mapfile -t packages < <("$venv/bin/python" "$here/requirements.py" ffcv)
"$venv/bin/python" -m pip install -q "setuptools<80" wheel
"$venv/bin/python" -m pip install -q --no-deps --no-build-isolation "${packages[@]}"
echo "$venv: installed FFCV"
