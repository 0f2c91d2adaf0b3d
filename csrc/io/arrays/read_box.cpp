// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/read_box.h"

#include <cstring>
#include <vector>

#include "core/error.h"
#include "kernels/window/window.h"

namespace torchdali::io {
namespace {

struct BoxRun {
  int64_t at, count;  // in the file, in bytes
  char* to;
};

// Consecutive runs that one request reads.
class RunGroup {
 public:
  RunGroup(const ReadAt& read, const BoxReading& how) : read_(read), how_(how) {
    runs().clear();  // of a read that failed
  }

  void add(const BoxRun& run) {
    const auto room = static_cast<int64_t>(how_.block.size());
    if (!runs().empty() && (run.at + run.count - end_ > how_.request_bytes ||
                            run.at + run.count - runs().front().at > room))
      flush();
    runs().push_back(run);
    end_ = run.at + run.count;
  }
  void flush() {
    if (runs().empty()) return;
    const int64_t begin = runs().front().at;
    if (runs().size() == 1) {
      read_(runs().front().to, runs().front().count, begin);
    } else {
      read_(how_.block.data(), end_ - begin, begin);
      for (const BoxRun& run : runs())
        std::memcpy(run.to, how_.block.data() + (run.at - begin), static_cast<size_t>(run.count));
    }
    runs().clear();
  }

 private:
  // Kept by the thread, so that its memory is allocated once.
  static std::vector<BoxRun>& runs() {
    static thread_local std::vector<BoxRun> instance;
    return instance;
  }
  const ReadAt& read_;
  const BoxReading& how_;
  int64_t end_ = 0;
};

template <class Run>
void for_each_run(const ArrayBox& box, int64_t offset, const Run& run) {
  kernels::for_each_run(
      box.in, box.from, box.out, box.to, box.extent,
      [&](int64_t in_offset, int64_t out_offset, int64_t count) {
        run(BoxRun{.at = offset + in_offset * box.itemsize,
                   .count = count * box.itemsize,
                   .to = static_cast<char*>(box.memory) + out_offset * box.itemsize});
      });
}

}  // namespace

void read_box(const ReadAt& read, const BoxReading& how, int64_t offset, const ArrayBox& box) {
  RunGroup group(read, how);
  for_each_run(box, offset, [&group](const BoxRun& run) { group.add(run); });
  group.flush();
}

void copy_box(std::span<const uint8_t> file, int64_t offset, const ArrayBox& box) {
  for_each_run(box, offset, [file](const BoxRun& run) {
    TORCHDALI_ASSERT(run.at >= 0 && run.count <= std::ssize(file) - run.at,
                     "a part beyond the end of an array");
    std::memcpy(run.to, file.data() + run.at, static_cast<size_t>(run.count));
  });
}

}  // namespace torchdali::io
