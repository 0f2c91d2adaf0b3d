#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates a virtual environment to build and test torchdali, and installs only what is missing:
#   tools/setup_env.sh VENV EXTRA... [--optional EXTRA...]       (EXTRA: names from pyproject.toml)
# A failure to install optional extras is ignored. System packages are installed with apt if it is
# available; TORCHDALI_APT=0 disables this. A torch that PYTHON can import is used; TORCH (for
# example torch==2.9.0) requests a version. No network is needed if nothing is missing, or if wheels of
# what is missing are in build/wheels.
set -euo pipefail

venv=$1
shift
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

have_python() { "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }
have_venv() { [ -x "$venv/bin/python" ] || "$python" -c 'import ensurepip, venv' 2>/dev/null; }
have_headers() {
  "$python" -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}
have_compiler() {
  echo 'int main() {}' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}
have_library() { pkg-config --exists "$1" 2>/dev/null; }
torch_home() { # prints the site-packages of a torch >= 2.8 that $1 can import, if there is one
  "$1" -c 'import os, torch
major, minor = torch.__version__.split(".")[:2]
if (int(major), int(minor)) >= (2, 8):
    print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null || true
}

# System packages: those needed to compile, then optional ones.
needed=() wanted=()
have_python || needed+=(python3)
have_venv || needed+=(python3-venv)
have_headers || needed+=(python3-dev)
have_compiler || needed+=(g++)
command -v pkg-config >/dev/null || wanted+=(pkg-config)
have_library libjpeg || wanted+=(libjpeg-dev)
have_library libpng || wanted+=(libpng-dev)
have_library "libtiff-4 >= 4.5" || wanted+=(libtiff-dev)
have_library zlib || wanted+=(zlib1g-dev)
have_library libwebp || wanted+=(libwebp-dev)
have_library "libopenjp2 >= 2.5" || wanted+=(libopenjp2-7-dev)
for library in libavformat libavcodec libavutil; do
  have_library "$library" || wanted+=("$library-dev")
done
command -v ffmpeg >/dev/null || wanted+=(ffmpeg) # makes the videos of tests
command -v ccache >/dev/null || wanted+=(ccache)
case " $* " in
  *" browser "*) command -v chromium >/dev/null || wanted+=(chromium) ;;
esac
packages=("${needed[@]}" "${wanted[@]}")
if [ ${#packages[@]} -gt 0 ] && [ "${TORCHDALI_APT:-1}" != 0 ] && command -v apt-get >/dev/null; then
  sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  say "apt-get install ${packages[*]}"
  if [ ${#sudo[@]} -gt 0 ] && ! command -v sudo >/dev/null; then
    say "not root and no sudo: run the line above as root; continuing without the packages"
  elif ! { "${sudo[@]}" apt-get update -q &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -q --no-install-recommends "${packages[@]}"; }; then
    say "apt-get failed; continuing without the packages"
  fi
fi
have_python || die "$python is not Python 3.10 or newer (use PYTHON=... to name another)"
have_headers || die "the headers of $python are missing (Debian: python3-dev)"
have_compiler || die "${CXX:-c++} is not a C++20 compiler (Debian: g++)"
have_library libjpeg || say "libjpeg not found: this build will lack some JPEG formats (Debian: libjpeg-dev)"
lacks() { say "$1 not found: this build will not decode $2 (Debian: $3)"; }
have_library libpng || say "libpng not found: this build will lack some PNG files (Debian: libpng-dev)"
have_library zlib || lacks zlib "FITS images compressed by gzip" zlib1g-dev
have_library "libtiff-4 >= 4.5" || lacks "libtiff 4.5" TIFF libtiff-dev
have_library libwebp || lacks libwebp WebP libwebp-dev
have_library "libopenjp2 >= 2.5" || lacks "OpenJPEG 2.5" "JPEG 2000" libopenjp2-7-dev
have_library "libavformat >= 58.76" || lacks "FFmpeg's libavformat" "video" \
  "libavformat-dev, libavcodec-dev, libavutil-dev"

# The environment. It shares the torch of $python, wherever that is installed.
if [ ! -x "$venv/bin/python" ]; then
  say "creating $venv"
  shared=$(torch_home "$python")
  options=()
  [ -z "$shared" ] || options+=(--system-site-packages)
  if ! "$python" -m venv "${options[@]}" "$venv" >/dev/null; then
    # Without ensurepip, use the system's pip. It is needed only if something is missing.
    "$python" -m venv --clear --without-pip --system-site-packages "$venv"
  fi
  # If $python is in a virtual environment itself, --system-site-packages does not include it.
  if [ -n "$shared" ] && [ -z "$(torch_home "$venv/bin/python")" ]; then
    echo "$shared" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-parent.pth"
  fi
fi
py=$venv/bin/python

optional=()
for i in $(seq $#); do
  if [ "${!i}" = --optional ]; then
    optional=("${@:i+1}")
    set -- "${@:1:i-1}"
    break
  fi
done

wheels=$here/../build/wheels
links=()
[ ! -d "$wheels" ] || links=(--find-links "$wheels")

install() { # install --also REQUIREMENT | EXTRA...
  mapfile -t missing < <("$py" "$here/requirements.py" --missing "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "pip install ${missing[*]}"
  if ! "$py" -m pip install -q --disable-pip-version-check "${links[@]}" "${missing[@]}"; then
    mapfile -t absent < <("$py" "$here/requirements.py" --absent "$@")
    [ ${#absent[@]} -eq 0 ] || die "could not install ${absent[*]}"
    say "could not install ${missing[*]}; continuing with the installed versions"
  fi
}

if [ -n "${TORCH:-}" ]; then
  install --also "$TORCH"
elif [ -z "$(torch_home "$py")" ]; then
  install torch
fi
install package "$@"
[ ${#optional[@]} -eq 0 ] || (install "${optional[@]}") || say "continuing without the optional extras"
"$py" -c 'import sys, torch
print(f"setup: Python {sys.version.split()[0]}, torch {torch.__version__}")'
