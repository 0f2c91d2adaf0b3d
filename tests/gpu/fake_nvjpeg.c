// SPDX-License-Identifier: Apache-2.0
// Stands in for libnvjpeg.so in tests/gpu/test_nvjpeg.py, where there is no GPU: writes a pattern to
// host memory, a line for each call to the file $FAKE_NVJPEG_LOG, and fails for the backends that
// $FAKE_NVJPEG_BROKEN names, for files with a comment "nvjpeg fails", and out of order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int backend, states;
} Handle;
typedef struct {
  Handle* handle;
  int batch, channels;
} State;
typedef struct {
  int format, x, y, width, height;
} Params;
typedef struct {
  unsigned char* channel[4];
  size_t pitch[4];
} Image;

#define EXPORT __attribute__((visibility("default")))
enum { kInvalid = 2, kBad = 3, kMismatch = 7 };

static void log_line(const char* name, long a, long b, long c, long d) {
  const char* path = getenv("FAKE_NVJPEG_LOG");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %ld %ld %ld %ld\n", name, a, b, c, d);
  fclose(file);
}

EXPORT int nvjpegCreateEx(int backend, void* dev, void* pinned, unsigned flags, Handle** handle) {
  const char* broken = getenv("FAKE_NVJPEG_BROKEN");
  log_line("create", backend, flags, dev == NULL, pinned == NULL);
  if (broken && strchr(broken, '0' + backend)) return kMismatch;
  *handle = calloc(1, sizeof(Handle));
  (*handle)->backend = backend;
  return 0;
}
EXPORT int nvjpegDestroy(Handle* handle) {
  log_line("destroy", handle->backend, handle->states, 0, 0);
  free(handle);
  return 0;
}
EXPORT int nvjpegSetDeviceMemoryPadding(size_t padding, Handle* handle) {
  log_line("device_padding", handle->backend, (long)padding, 0, 0);
  return 0;
}
EXPORT int nvjpegSetPinnedMemoryPadding(size_t padding, Handle* handle) {
  log_line("pinned_padding", handle->backend, (long)padding, 0, 0);
  return 0;
}
EXPORT int nvjpegJpegStateCreate(Handle* handle, State** state) {
  *state = calloc(1, sizeof(State));
  (*state)->handle = handle;
  ++handle->states;
  return 0;
}
EXPORT int nvjpegJpegStateDestroy(State* state) {
  --state->handle->states;
  free(state);
  return 0;
}
EXPORT int nvjpegDecodeBatchedPreAllocate(Handle* handle, State* state, int batch, int width,
                                          int height, int sampling, int format) {
  (void)state, (void)sampling, (void)format;
  log_line("preallocate", handle->backend, batch, width, height);
  return 0;
}
EXPORT int nvjpegDecodeBatchedInitialize(Handle* handle, State* state, int batch, int threads,
                                         int format) {
  log_line("initialize", handle->backend, batch, threads, format);
  if (state->handle != handle || batch < 1) return kInvalid;
  state->batch = batch;
  state->channels = format == 2 ? 1 : format == 5 || format == 6 ? 3 : 0;
  return state->channels ? 0 : kInvalid;
}
EXPORT int nvjpegDecodeParamsCreate(Handle* handle, Params** params) {
  (void)handle;
  *params = calloc(1, sizeof(Params));
  return 0;
}
EXPORT int nvjpegDecodeParamsDestroy(Params* params) {
  free(params);
  return 0;
}
EXPORT int nvjpegDecodeParamsSetOutputFormat(Params* params, int format) {
  params->format = format;
  return 0;
}
EXPORT int nvjpegDecodeParamsSetROI(Params* params, int x, int y, int width, int height) {
  params->x = x, params->y = y, params->width = width, params->height = height;
  return 0;
}

// Of the frame header.
static int read_size(const unsigned char* data, size_t length, int* width, int* height) {
  for (size_t at = 2; at + 9 < length; at += 2 + (data[at + 2] << 8 | data[at + 3])) {
    if (data[at] != 0xFF) return 0;
    if (data[at + 1] != 0xC0) continue;
    *height = data[at + 5] << 8 | data[at + 6];
    *width = data[at + 7] << 8 | data[at + 8];
    return 1;
  }
  return 0;
}
static int fails(const unsigned char* data, size_t length) {
  const char* text = "nvjpeg fails";
  for (size_t i = 0; i + strlen(text) < length; ++i)
    if (memcmp(data + i, text, strlen(text)) == 0) return 1;
  return 0;
}

static int decode(Handle* handle, State* state, const unsigned char* const* data,
                  const size_t* lengths, Image* to, Params** params, void* stream) {
  log_line(params ? "decode_ex" : "decode", handle->backend, state->batch, stream == NULL, 0);
  if (state->batch == 0) return kInvalid;
  const int batch = state->batch;
  state->batch = 0;
  for (int i = 0; i < batch; ++i)
    if (fails(data[i], lengths[i])) return kBad;
  for (int i = 0; i < batch; ++i) {
    int width, height, left = 0, top = 0;
    if (!read_size(data[i], lengths[i], &width, &height)) return kBad;
    if (params && params[i]->width >= 0) {
      left = params[i]->x, top = params[i]->y;
      if (left < 0 || top < 0 || left + params[i]->width > width ||
          top + params[i]->height > height)
        return kInvalid;
      width = params[i]->width, height = params[i]->height;
    }
    if (to[i].pitch[0] != (size_t)(width * state->channels)) return kInvalid;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < state->channels; ++c)
          to[i].channel[0][y * to[i].pitch[0] + x * state->channels + c] =
              (unsigned char)(x + left + 3 * (y + top) + 50 * c + lengths[i]);
  }
  return 0;
}
EXPORT int nvjpegDecodeBatched(Handle* handle, State* state, const unsigned char* const* data,
                               const size_t* lengths, Image* to, void* stream) {
  return decode(handle, state, data, lengths, to, NULL, stream);
}
EXPORT int nvjpegDecodeBatchedEx(Handle* handle, State* state, const unsigned char* const* data,
                                 const size_t* lengths, Image* to, Params** params, void* stream) {
  return decode(handle, state, data, lengths, to, params, stream);
}
