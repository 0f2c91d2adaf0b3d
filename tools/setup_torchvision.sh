#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates a virtual environment with torchvision and timm, and with the packages of another one that has torch,
# so that torch is not downloaded again:   tools/setup_torchvision.sh VENV PYTHON_WITH_TORCH
set -euo pipefail

venv=$1 base=$2
torch=$("$base" -c 'import torch; print("torch==" + torch.__version__)')
# Their versions, not an import: torchvision's operators do not load beside every build of torch.
installed=$("$venv/bin/python" -c 'from importlib.metadata import version
version("torchvision"), version("timm")
print("torch==" + version("torch"))' 2>/dev/null) || true
[ "$installed" != "$torch" ] || exit 0
"$base" -m venv --clear "$venv"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
"$base" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' >"$site/base.pth"
"$venv/bin/python" -m pip install -q --constraint <(echo "$torch") torchvision "timm>=1" "pillow>=10" numpy
echo "$venv: torchvision and timm for $torch"
