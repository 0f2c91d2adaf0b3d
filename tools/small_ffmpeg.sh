#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds FFmpeg's libraries with little more than what NVDEC is compared with, for machines without packages:
#   tools/small_ffmpeg.sh SOURCE PREFIX
# SOURCE is an archive of FFmpeg's source (.tar.xz or .tar.gz; Debian: apt-get source --download-only ffmpeg).
# PREFIX gets lib, include and a program pkg-config, which needs no other one for them; it may be moved. The license of the
# result is the LGPL. Nothing of it belongs to torchdali's packages.
set -euo pipefail
[ $# = 2 ] || { sed -n '3,4s/^# *//p' "$0" >&2; exit 2; }
source=$(realpath "$1")
mkdir -p "$2"
prefix=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xf "$source" -C "$work" --strip-components 1
cd "$work"
codecs=h264,hevc,vp8,vp9,mpeg4,mjpeg
./configure --prefix="$prefix" --enable-shared --disable-static --disable-programs --disable-doc \
  --disable-autodetect --disable-x86asm --disable-everything --disable-avdevice --disable-avfilter \
  --disable-swscale --disable-swresample --disable-network --enable-decoder=$codecs \
  --enable-parser=h264,hevc,vp8,vp9,mpeg4video,mjpeg --enable-demuxer=mov,matroska,avi,mpegts,h264,hevc \
  --enable-bsf=h264_mp4toannexb,hevc_mp4toannexb >configure.log 2>&1 || { tail configure.log >&2; exit 1; }
make -j "${JOBS:-$(nproc)}" >make.log 2>&1 && make install >install.log 2>&1 || { tail make.log >&2; exit 1; }
strip --strip-unneeded "$prefix"/lib/lib*.so
cat >"$prefix/pkg-config" <<'SHIM'
#!/usr/bin/env bash
# Answers --cflags and --libs for FFmpeg's libraries, whatever version is asked for, and passes on the rest.
here=$(cd "$(dirname "$0")" && pwd)
libs=
for word in $*; do
  case $word in
    libavformat | libavcodec | libavutil) libs+=" -l${word#lib}" ;;
  esac
done
[ -n "$libs" ] || exec pkg-config "$@"
case " $* " in
  *" --cflags "*) printf -- '-I%s ' "$here/include" ;;&
  *" --libs "*) printf -- '-L%s%s\n' "$here/lib" "$libs" ;;
esac
SHIM
chmod +x "$prefix/pkg-config"
rm -rf "$prefix/share"
