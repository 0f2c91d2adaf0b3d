#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs what needs a GPU, for machines that are lent for minutes, without a network:
#   tools/gpu_session.sh prepare [--ffmpeg SOURCE] DATA [WHEEL...]   beforehand, where the images are
#   tools/gpu_session.sh [--out DIR] [--seconds N] [STEP...]   on the machine; STEP: build test sanitize cores bench
# prepare copies an even selection of DATA's JPEG files (24 MB), and wheels of what the machine lacks, to
# build/gpu_session and build/wheels. Take both folders to the machine with the checkout. It uses the
# installed torch and packages. With --ffmpeg, an archive of FFmpeg's source, it also builds the libraries that tests of
# NVDEC need (tools/small_ffmpeg.sh; minutes). Without them, tests of videos are skipped where FFmpeg is missing.
# A step that fails does not stop the others, except the build. After N seconds (540 by default) the present one is stopped and
# the rest is skipped. DIR (default build/gpu_session/out) gets the log of each step, the record of the tests
# (ran_on_gpu.json, for tests/gpu/) and the results of the benchmark: bench.json, for benchmarks/results/gpu/,
# bench.overlap.svg and bench.trace.json.gz. bench.log ends with which way to decode wins where. cores.json has
# the throughput of the machine's cores, for benchmarks/results/cores/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

kept=build/gpu_session
out=$kept/out
limit=540
py=.venv/bin/python

prepare() { # prepare [--ffmpeg SOURCE] DATA [WHEEL...]
  local ffmpeg=
  [ "$1" != --ffmpeg ] || { ffmpeg=$2 && shift 2; }
  local data=$1
  shift
  rm -rf "$kept" && mkdir -p "$kept/images"
  [ -z "$ffmpeg" ] || tools/small_ffmpeg.sh "$ffmpeg" "$kept/ffmpeg" || exit
  git describe --always --dirty --abbrev=7 --match= >"$kept/commit"
  find -L "$data" -iname '*.jp*g' -printf '%s %p\n' | sort -k 2 | awk -v limit=24000000 '
    { size[NR] = $1; sub(/^[0-9]+ /, ""); path[NR] = $0; total += size[NR] }
    END { for (i = 1; i <= NR; ++i) if ((due += limit / total) >= 1 || total <= limit) { due -= 1; print path[i] } }' |
    { number=0; while IFS= read -r file; do cp "$file" "$kept/images/$((number += 1)).jpg"; done; }
  mkdir -p build/wheels
  [ $# = 0 ] || cp "$@" build/wheels/
  # The only package of the build that such a machine is likely to lack.
  "$py" -m pip download -q --no-deps -d build/wheels "$("$py" tools/requirements.py build | grep nanobind)"
  du -sh "$kept"
}

if [ "${1:-}" = prepare ]; then
  [ $# -ge 2 ] || { sed -n '4,5s/^# *//p' "$0" >&2; exit 2; }
  prepare "${@:2}"
  exit
fi

steps=()
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --seconds) limit=$2; shift 2 ;;
    build | test | sanitize | cores | bench) steps+=("$1"); shift ;;
    *) sed -n '4,5s/^# *//p' "$0" >&2; exit 2 ;;
  esac
done
[ ${#steps[@]} -gt 0 ] || steps=(build test sanitize cores bench)

mkdir -p "$out"
jobs=$(nproc)
# Nothing is fetched: installing fails at once instead of waiting for a network.
export TORCHDALI_APT=0 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export TORCHDALI_CUDA=1 TORCHDALI_REQUIRE=cuda PYTHONUNBUFFERED=1
if [ -z "${TORCHDALI_CUDA_ARCHS:-}" ]; then # only what this GPU needs
  TORCHDALI_CUDA_ARCHS=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
  export TORCHDALI_CUDA_ARCHS
fi
[ ! -s "$kept/commit" ] || TORCHDALI_COMMIT=$(cat "$kept/commit")
export TORCHDALI_COMMIT=${TORCHDALI_COMMIT:-}

if [ -x "$kept/ffmpeg/pkg-config" ]; then
  export PKG_CONFIG=$PWD/$kept/ffmpeg/pkg-config LD_LIBRARY_PATH=$PWD/$kept/ffmpeg/lib:${LD_LIBRARY_PATH:-}
fi

left() { echo $((limit - SECONDS)); }
summary=()
failed=0
run() { # run NAME SHARE COMMAND...: a step within 1/SHARE of the time that is left, with its log
  local name=$1 most=$(($(left) / $2)) began=$SECONDS code
  shift 2
  if [ "$(left)" -lt 10 ]; then
    summary+=("$name: skipped, the time is over")
    failed=1
    return
  fi
  printf '=== %s (at most %d s)\n' "$name" "$most"
  timeout --kill-after=10 "$most" "$@" >"$out/$name.log" 2>&1
  code=$?
  [ $code = 0 ] || { failed=1 && tail -n 25 "$out/$name.log"; }
  summary+=("$name: exit $code, $((SECONDS - began)) s; $(tail -n 1 "$out/$name.log" | cut -c 1-120)")
  return $code
}

for step in "${steps[@]}"; do
  case $step in
    build)
      nvidia-smi -L
      # Without the packages of the tests that the machine lacks: those tests are skipped.
      tools/setup_env.sh .venv build && touch .venv/.setup
      # The compiler's errors in all files at once: there may be no time for a second look.
      ninja=$(command -v ninja || echo "$PWD/.venv/bin/ninja")
      mkdir -p "$kept/bin" && printf '#!/bin/sh\nexec "%s" -k 0 "$@"\n' "$ninja" >"$kept/bin/ninja"
      chmod +x "$kept/bin/ninja" && PATH=$PWD/$kept/bin:$PATH
      run build 1 make build JOBS="$jobs" || break
      ;;
    test)
      run test 1 "$py" -m pytest -q -m cuda -n "$jobs" --gpu-record "$out/ran_on_gpu.json" --durations 15
      ;;
    sanitize)
      # One size of each operator, and what fills shared memory or relies on barriers.
      share=3
      for tool in memcheck racecheck initcheck; do
        run "$tool" "$((share--))" compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all \
          "$py" -m pytest -q -x -m cuda tests/gpu/test_gpu_matches_cpu.py -k any_size
      done
      ;;
    cores)
      run cores 5 "$py" -m benchmarks.contention --data "$kept/images" --out "$out/cores.json"
      ;;
    bench)
      run bench 1 "$py" -m benchmarks.gpu --data "$kept/images" --out "$out/bench.json" --limit $(($(left) - 15))
      ;;
  esac
done
printf '%s\n' '' "${summary[@]}"
exit $failed
