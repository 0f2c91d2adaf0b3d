// SPDX-License-Identifier: Apache-2.0
#include "python/arrays/pillow_images.h"

#include <cstring>
#include <string_view>

#include "core/memory/storage.h"
#include "kernels/window/pixel_words.h"
#include "python/arrays/torch_tensors.h"

namespace torchdali {
namespace {

// The Arrow C data interface.
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

template <class T>
const T& inside(const nb::capsule& capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  return *static_cast<const T*>(pointer);
}

// The memory of an image: bytes, or words of four bytes.
const void* memory_of(const nb::capsule& schema_capsule, const nb::capsule& array_capsule,
                      int64_t pixels, int channels) {
  const auto& schema = inside<ArrowSchema>(schema_capsule, "arrow_schema");
  const auto& array = inside<ArrowArray>(array_capsule, "arrow_array");
  const auto is_bytes = [](const ArrowSchema& s, const ArrowArray& a) {
    return std::string_view(s.format) == "C" && a.offset == 0 && a.n_buffers == 2;
  };
  if (array.length == pixels && array.offset == 0) {
    if (channels == 1 && is_bytes(schema, array)) return array.buffers[1];
    const bool is_words = channels == 3 && std::string_view(schema.format) == "+w:4" &&
                          schema.n_children == 1 && array.n_children == 1;
    if (is_words && is_bytes(*schema.children[0], *array.children[0]) &&
        array.children[0]->length == 4 * pixels)
      return array.children[0]->buffers[1];
  }
  raise(ErrorKind::kValue, "an image of Pillow has ", array.length, " elements of type \"",
        schema.format, "\", expected ", pixels, " pixels of ", channels, " channels");
}

}  // namespace

nb::object read_pillow_image(const nb::capsule& schema, const nb::capsule& array, int64_t height,
                             int64_t width, int channels, bool planar) {
  const int64_t pixels = height * width;
  const auto* from = static_cast<const uint8_t*>(memory_of(schema, array, pixels, channels));
  const Storage storage = Storage::on_host(static_cast<size_t>(pixels * channels));
  auto* to = static_cast<uint8_t*>(storage.data());
  {
    const nb::gil_scoped_release release;
    if (channels == 1) std::memcpy(to, from, static_cast<size_t>(pixels));
    else if (planar) kernels::split_words(to, from, pixels);
    else kernels::pack_words(to, from, pixels);
  }
  const SampleView view{
      .data = to,
      .dtype = DType::kUInt8,
      .shape = planar ? Shape{channels, height, width} : Shape{height, width, channels},
      .layout = {}};
  return to_tensor(view, storage.block());
}

void write_pillow_image(const nb::capsule& schema, const nb::capsule& array, nb::handle tensor) {
  const ArrayView from = view_tensor(tensor);
  const Shape& shape = from.view.shape;
  TORCHDALI_CHECK(shape.ndim() == 3 && from.packed && from.gpu < 0 &&
                      from.view.dtype == DType::kUInt8 && (shape[2] == 1 || shape[2] == 3),
                  "an image of Pillow is made of a uint8 tensor [H, W, C] of 1 or 3 channels");
  const int64_t pixels = shape[0] * shape[1];
  const int channels = static_cast<int>(shape[2]);
  // Pillow exports memory to be read. That of an image which was made for this may be written.
  auto* to = static_cast<uint8_t*>(const_cast<void*>(memory_of(schema, array, pixels, channels)));
  const auto* pixel_bytes = from.view.as<const uint8_t>();
  const nb::gil_scoped_release release;
  if (channels == 1) std::memcpy(to, pixel_bytes, static_cast<size_t>(pixels));
  else kernels::make_words(to, pixel_bytes, pixels);
}

}  // namespace torchdali
