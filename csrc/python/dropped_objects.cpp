// SPDX-License-Identifier: Apache-2.0
#include "python/dropped_objects.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace torchdali {
namespace {

struct Dropped {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> any = false;
};

Dropped& dropped() {
  static auto* const instance =
      new Dropped;  // never destroyed: threads may outlive the interpreter
  return *instance;
}

}  // namespace

std::shared_ptr<void> keep_data(nb::handle object) {
  return {object.inc_ref().ptr(), [](void* p) {
            Dropped& d = dropped();
            const std::lock_guard lock(d.mutex);
            d.objects.push_back(static_cast<PyObject*>(p));
            d.any.store(true, std::memory_order_relaxed);
          }};
}

void release_dropped() {
  Dropped& d = dropped();
  if (!d.any.load(std::memory_order_relaxed)) return;
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(d.mutex);
    objects = std::exchange(d.objects, {});
    d.any.store(false, std::memory_order_relaxed);
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

}  // namespace torchdali
