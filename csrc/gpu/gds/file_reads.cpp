// SPDX-License-Identifier: Apache-2.0
#include "gpu/gds/file_reads.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"

namespace torchdali::gpu::gds {
namespace {

// Offsets and addresses that are multiples of it need no second copy by the library (NVIDIA's best
// practices for cuFile). Memory for buffers begins at a page of the GPU.
constexpr int64_t kAlignment = 4096, kPage = int64_t{64} << 10;
constexpr int kMaxThreads = 16;

int64_t down(int64_t n, int64_t unit) { return n / unit * unit; }
int64_t up(int64_t n, int64_t unit) { return down(n + unit - 1, unit); }

// A file while parts of it are read.
struct OpenFile {
  int descriptor;
  std::once_flag once = {};
  cufile::Handle handle = nullptr;
  std::mutex mutex = {};
  std::string why = {};  // what failed first
  bool of_file_system = false;
  std::atomic<bool> failed = false;

  explicit OpenFile(int number) : descriptor(number) {}
  void fail(const std::string& what, bool all_files = false) {
    const std::lock_guard lock(mutex);
    if (failed.exchange(true)) return;
    why = what;
    of_file_system = all_files;
  }
};

// A part of a file, widened to whole blocks.
struct OpenRange {
  OpenFile* file;
  FileRange wanted;
  int64_t begin, end;  // in the file
  int64_t at;          // in memory
};

struct Piece {
  const OpenRange* range;
  int64_t begin, end;  // in the file
};

void register_file(const cufile::Api& api, OpenFile& file) {
  cufile::Description description;
  description.descriptor = file.descriptor;
  const cufile::Status status = api.HandleRegister(&file.handle, &description);
  if (status.error == 0) return;
  file.handle = nullptr;
  const bool all_files = status.error == cufile::kUnsupported ||
                         status.error == cufile::kWrongFileType ||
                         status.error == cufile::kDisabled;
  file.fail(describe("cuFileHandleRegister", status), all_files);
}

void read_piece(const cufile::Api& api, const Piece& piece, std::byte* memory) {
  const OpenRange& range = *piece.range;
  OpenFile& file = *range.file;
  std::call_once(file.once, [&] { register_file(api, file); });
  // Bytes after the wanted ones may be beyond the end of the file.
  const int64_t needed = std::min(piece.end, range.wanted.offset + range.wanted.bytes);
  for (int64_t at = piece.begin; at < needed && !file.failed;) {
    const ssize_t got = api.Read(file.handle, memory, static_cast<size_t>(piece.end - at), at,
                                 range.at + at - range.begin);
    if (got < 0) file.fail(describe_read(got, errno));
    if (got == 0) file.fail("cuFileRead: the file ended");
    at += std::max<ssize_t>(got, 0);
  }
}

// Calls fn(i) for 0..count-1 on several threads, which work on the device.
void on_threads(const Device& device, int threads, size_t count,
                const std::function<void(size_t)>& fn) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto loop = [&] {
    try {
      const Device::Scope scope(device);
      for (size_t i = next++; i < count; i = next++) fn(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    const size_t wanted = std::min({count, static_cast<size_t>(threads), size_t{kMaxThreads}});
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < wanted) others.emplace_back(loop);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): fewer threads do it too
    }
    loop();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int64_t FileReads::bytes_for(const FileRange& range) {
  return up(range.offset + range.bytes, kAlignment) - down(range.offset, kAlignment);
}

void FileReads::reserve(Turn& turn, int64_t bytes, const Device& device) {
  if (turn.used) turn.used->synchronize();
  turn.used = nullptr;
  if (bytes <= turn.bytes) return;
  close(turn);
  const int64_t size = up(bytes + bytes / 4, kPage);  // so that it soon stays as it is
  turn.memory = device.allocate(MemoryKind::kDevice, static_cast<size_t>(size + kPage));
  const auto address = reinterpret_cast<intptr_t>(turn.memory.data());
  turn.data = static_cast<std::byte*>(turn.memory.data()) + (up(address, kPage) - address);
  turn.bytes = size;
  // Torch gives out memory that work which is still queued may use.
  device.synchronize();
  turn.registered = options_.registers &&
                    api_.BufRegister(turn.data, static_cast<size_t>(turn.bytes), 0).error == 0;
}

void FileReads::close(Turn& turn) {
  if (turn.registered) (void)api_.BufDeregister(turn.data);
  turn = {};
}

FileReads::~FileReads() {
  for (Turn& turn : turns_) {
    try {
      if (turn.used) turn.used->synchronize();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
      // The GPU has failed, and nothing runs on it any more.
    }
    close(turn);
  }
}

std::vector<DeviceBytes> FileReads::read(std::span<const FileRange> ranges, const Device& device) {
  std::deque<OpenFile> files;
  std::vector<OpenRange> open;
  open.reserve(ranges.size());
  std::vector<Piece> pieces;
  int64_t bytes = 0;
  for (const FileRange& wanted : ranges) {
    if (files.empty() || files.back().descriptor != wanted.descriptor)
      files.emplace_back(wanted.descriptor);
    const int64_t begin = down(wanted.offset, kAlignment), end = begin + bytes_for(wanted);
    open.push_back({&files.back(), wanted, begin, end, std::exchange(bytes, bytes + end - begin)});
    for (int64_t at = begin; at < end; at += options_.chunk_bytes)
      pieces.push_back({&open.back(), at, std::min(at + options_.chunk_bytes, end)});
  }
  turn_ = (turn_ + 1) % turns_.size();
  Turn& turn = turns_[turn_];
  reserve(turn, bytes, device);
  const auto finish = [&] {
    for (OpenFile& file : files)
      if (file.handle != nullptr) api_.HandleDeregister(file.handle);
  };
  try {
    on_threads(device, options_.threads, pieces.size(),
               [&](size_t i) { read_piece(api_, pieces[i], turn.data); });
  } catch (...) {
    finish();
    throw;
  }
  finish();
  std::vector<DeviceBytes> result;
  for (const OpenRange& range : open)
    result.push_back({.data = turn.data + range.at + (range.wanted.offset - range.begin),
                      .why = range.file->why,
                      .of_file_system = range.file->of_file_system});
  return result;
}

void FileReads::release_later(const Device& device) { turns_[turn_].used = device.mark(); }

}  // namespace torchdali::gpu::gds
