// SPDX-License-Identifier: Apache-2.0
#include "io/records/progress.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

bool wanted() {
  const char* value = std::getenv("TORCHDALI_PROGRESS");  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr || std::string_view(value) != "0";
}

std::string gigabytes(int64_t bytes) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", static_cast<double>(bytes) / 1e9);
  return text.data();
}

void write_error(const std::string& text) {
  // Nothing can be done if it fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress(std::string what, int64_t files, int64_t bytes)
    : what_(std::move(what)),
      files_(files),
      bytes_(bytes),
      enabled_(wanted()),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      due_(start_ + std::chrono::seconds(terminal_ ? 1 : 10)) {}

Progress::~Progress() {
  if (shown_ && terminal_) write_error("\n");
}

void Progress::add_bytes(int64_t count) {
  const std::lock_guard lock(mutex_);
  done_bytes_ += count;
  show_if_due();
}

void Progress::add_file() {
  const std::lock_guard lock(mutex_);
  ++done_files_;
  show_if_due();
}

void Progress::show_if_due() {
  const auto now = Clock::now();
  if (!enabled_ || now < due_) return;
  due_ = now + std::chrono::milliseconds(terminal_ ? 200 : 10000);
  const std::string line = text(std::chrono::duration<double>(now - start_).count());
  write_error(terminal_ ? "\r" + line + "\033[K" : line + "\n");  // erases to the end of the line
  shown_ = true;
}

std::string Progress::text(double seconds) const {
  std::string line = str_cat("torchdali: ", what_, ": ", done_files_, " of ", files_);
  if (bytes_ == 0) return line;  // they are not counted
  line += str_cat(", ", gigabytes(done_bytes_), " of ", gigabytes(bytes_), " GB");
  if (done_bytes_ > 0 && done_bytes_ < bytes_) {
    const double left =
        seconds * static_cast<double>(bytes_ - done_bytes_) / static_cast<double>(done_bytes_);
    line += str_cat(", ", std::lround(left), " s left");
  }
  return line;
}

}  // namespace torchdali::io
