// SPDX-License-Identifier: Apache-2.0
#include "io/storage/input_file.h"

#include <mutex>
#include <utility>

#include "core/error.h"
#include "io/storage/file.h"
#include "io/storage/remote_store.h"

namespace torchdali::io {
namespace {

constexpr std::string_view kFileScheme = "file://";

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

class RemoteFile final : public InputFile {
 public:
  RemoteFile(std::shared_ptr<RemoteStore> store, std::string url)
      : store_(std::move(store)), url_(std::move(url)) {}

  int64_t size_bytes() const override { return object().size; }
  std::string version() const override {
    return object().etag.empty() ? "" : str_cat(object().size, ' ', object().etag);
  }
  void read(void* to, int64_t count, int64_t offset) const override {
    if (count > 0) store_->read(url_, object(), to, count, offset);
  }
  int64_t read_rest(int64_t offset, const std::function<void*(int64_t)>& allocate) const override {
    if (offset > 0) return InputFile::read_rest(offset, allocate);
    return store_->read_whole(url_, allocate).size;
  }

 private:
  // Asked for when it is needed: a file that is read whole needs one request, not two.
  const RemoteObject& object() const {
    std::call_once(asked_, [this] { object_ = store_->stat(url_); });
    return object_;
  }

  std::shared_ptr<RemoteStore> store_;
  std::string url_;
  mutable std::once_flag asked_;
  mutable RemoteObject object_;
};

struct StoreOfProcess {
  std::mutex mutex;
  std::shared_ptr<RemoteStore> store;
};

StoreOfProcess& store_of_process() {
  static auto* instance = new StoreOfProcess;  // threads may read while the process exits
  return *instance;
}

}  // namespace

std::shared_ptr<RemoteStore> remote_store() {
  StoreOfProcess& process = store_of_process();
  const std::lock_guard lock(process.mutex);
  return process.store;
}

void set_remote_store(std::shared_ptr<RemoteStore> store) {
  StoreOfProcess& process = store_of_process();
  const std::lock_guard lock(process.mutex);
  process.store = std::move(store);
}

int64_t InputFile::read_rest(int64_t offset, const std::function<void*(int64_t)>& allocate) const {
  const int64_t count = size_bytes() - offset;
  TORCHDALI_CHECK_KIND(kFile, count >= 0, "the file has ", size_bytes(),
                       " bytes, expected more than ", offset);
  read(allocate(count), count, offset);
  return count;
}

bool is_remote(std::string_view path) {
  const size_t colon = path.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kRest = "0123456789+-.";
  for (size_t i = 0; i < colon; ++i)
    if (!has(kLetters, path[i]) && (i == 0 || !has(kRest, path[i]))) return false;
  return !path.starts_with(kFileScheme);
}

std::string_view local_path(std::string_view path) {
  if (path.starts_with(kFileScheme)) path.remove_prefix(kFileScheme.size());
  return path;
}

std::unique_ptr<const InputFile> open_input(const std::string& path) {
  if (!is_remote(path)) return std::make_unique<File>(std::string(local_path(path)));
  auto store = remote_store();
  TORCHDALI_CHECK_KIND(kFile, store != nullptr, "cannot open \"", path,
                       "\": this program has no access to remote files");
  return std::make_unique<RemoteFile>(std::move(store), path);
}

}  // namespace torchdali::io
