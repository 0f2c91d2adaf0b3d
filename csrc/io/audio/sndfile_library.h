// SPDX-License-Identifier: Apache-2.0
// The part of libsndfile's C interface that is used, and its functions, loaded at run time. Source:
// its documentation, libsndfile.github.io/libsndfile/api.html.
#pragma once

#include <cstdint>
#include <string>

namespace torchdali::io::sndfile {

struct File;  // SNDFILE

struct Info {  // SF_INFO
  int64_t frames = 0;
  int samplerate = 0;
  int channels = 0;
  int format = 0;
  int sections = 0;
  int seekable = 0;
};

struct VirtualFile {  // SF_VIRTUAL_IO
  int64_t (*size)(void* user);
  int64_t (*seek)(int64_t offset, int whence, void* user);
  int64_t (*read)(void* to, int64_t count, void* user);
  int64_t (*write)(const void* from, int64_t count, void* user);
  int64_t (*tell)(void* user);
};

inline constexpr int kRead = 0x10;  // SFM_READ
// SF_FORMAT_SUBMASK, and the encodings whose samples are no integers.
inline constexpr int kEncodingMask = 0xffff;
inline constexpr int kEncodingFloat = 0x06, kEncodingDouble = 0x07, kEncodingVorbis = 0x60,
                     kEncodingOpus = 0x64, kEncodingMpeg1 = 0x80, kEncodingMpeg3 = 0x82;

#define TORCHDALI_SNDFILE_FUNCTIONS(X)                              \
  X(open_virtual, File*(VirtualFile*, int mode, Info*, void* user)) \
  X(close, int(File*))                                              \
  X(seek, int64_t(File*, int64_t frames, int whence))               \
  X(readf_float, int64_t(File*, float*, int64_t frames))            \
  X(readf_short, int64_t(File*, short*, int64_t frames))            \
  X(readf_int, int64_t(File*, int*, int64_t frames))                \
  X(error, int(File*))                                              \
  X(error_number, const char*(int))                                 \
  X(version_string, const char*())

struct Api {
#define TORCHDALI_SNDFILE_MEMBER(name, ...) \
  using name##_function = __VA_ARGS__;      \
  name##_function* name = nullptr;
  TORCHDALI_SNDFILE_FUNCTIONS(TORCHDALI_SNDFILE_MEMBER)
#undef TORCHDALI_SNDFILE_MEMBER
};

// The library that was found; it is loaded once. Null if none was; `why` then says why.
const Api* find_library(std::string& why);

}  // namespace torchdali::io::sndfile
