#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles what changed, in place. The first time, it also installs the checkout as editable:
#   tools/install_editable.sh PYTHON
set -euo pipefail

py=$1
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

case $py in /*) root_py=$py ;; *) root_py=$root/$py ;; esac
# Runs in another folder, because Python would find the checkout in this one.
where=$(cd / && "$root_py" -c 'import importlib.util as u
spec = u.find_spec("torchdali")
print(next(iter(spec.submodule_search_locations)) if spec else "")')

# Prints one short line per file instead of ninja's commands; compiler messages are kept.
"$root_py" setup.py -q build_ext --inplace 2>&1 |
  sed -uE -e '/^ninja: /d' -e 's#^(\[[0-9]+/[0-9]+\]).* -c [^ ]*/((csrc|build/(gpu_kernels|units))/[^ ]+) .*#\1 \2#'

[ "$where" != "$root/torchdali" ] || exit 0
# --no-deps: the dependencies are installed, and a package index may not be reachable.
if ! "$root_py" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .; then
  echo "pip could not install the checkout; adding it to the path of $py instead"
  site=$("$root_py" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$root" >"$site/torchdali-checkout.pth"
fi
