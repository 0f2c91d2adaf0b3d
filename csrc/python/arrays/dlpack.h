// SPDX-License-Identifier: Apache-2.0
// The structures of DLPack (github.com/dmlc/dlpack, include/dlpack/dlpack.h, version 1.3), by which
// array libraries exchange memory. Their layout is a stable interface of C.
#pragma once

#include <cstdint>

namespace torchdali::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBool = 6 };

struct Device {
  int32_t type;
  int32_t index;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; may be null before version 1.2: packed
  uint64_t byte_offset;
};

// Of versions before 1. The deleter frees the structure, too.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  uint32_t major, minor;
};

struct VersionedTensor {
  Version version;
  void* context;
  void (*deleter)(VersionedTensor*);
  uint64_t flags;
  Tensor tensor;
};

// Functions of a library for its own Python objects: `__dlpack_c_exchange_api__` of their class.
// They return 0, or set a Python exception.
struct ExchangeTable {
  Version version;
  const ExchangeTable* previous;  // the same for an older major version
  int (*allocate)(Tensor* prototype, VersionedTensor** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*export_object)(void* object, VersionedTensor** out);
  int (*import_object)(VersionedTensor* tensor, void** out);  // takes over the tensor
  int (*view_object)(void* object, Tensor* out);  // valid while the object is not modified
  int (*current_stream)(int32_t device_type, int32_t device_index, void** out);
};

}  // namespace torchdali::dlpack
