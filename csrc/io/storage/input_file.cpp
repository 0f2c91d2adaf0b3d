// SPDX-License-Identifier: Apache-2.0
#include "io/storage/input_file.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "io/content_hash.h"
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
  RemoteFile(std::shared_ptr<RemoteStore> store, std::string url,
             std::shared_ptr<KnownVersions> known)
      : store_(std::move(store)), url_(std::move(url)), known_(std::move(known)) {}

  int64_t size_bytes() const override { return object().size; }
  std::string version() const override {
    const RemoteObject now = object();
    return now.etag.empty() ? "" : str_cat(now.size, ' ', now.etag);
  }
  void read(void* to, int64_t count, int64_t offset) const override {
    if (count == 0) return;
    const SharedBytes bytes = store_->read(url_, object(), offset, count);
    std::memcpy(to, bytes.data.get(), static_cast<size_t>(count));
  }
  int64_t read_rest(int64_t offset, const std::function<void*(int64_t)>& allocate) const override {
    const SharedBytes bytes = read_shared(offset, -1);
    void* to = allocate(bytes.size);
    if (bytes.size > 0) std::memcpy(to, bytes.data.get(), static_cast<size_t>(bytes.size));
    return bytes.size;
  }
  SharedBytes read_shared(int64_t offset, int64_t count) const override {
    if (count >= 0) return store_->read(url_, object(), offset, count);
    if (offset > 0) {
      const RemoteObject now = object();
      return store_->read(url_, now, offset, std::max<int64_t>(now.size - offset, 0));
    }
    if (known_ == nullptr || !store_->has_cache()) return store_->read_whole(url_, 0).bytes;
    RemotePart whole = store_->read_whole(url_, known_->of(url_));
    known_->set(url_, version_hash(whole.object));
    return std::move(whole.bytes);
  }

 private:
  // Asked for when it is needed: a file that is read whole needs one request, not two. Without the
  // mutex while it waits: a thread that is interrupted waits for no other.
  RemoteObject object() const {
    {
      const std::lock_guard lock(mutex_);
      if (object_) return *object_;
    }
    RemoteObject now = store_->stat(url_);
    const std::lock_guard lock(mutex_);
    if (!object_) object_ = std::move(now);
    return *object_;
  }

  const std::shared_ptr<RemoteStore> store_;
  const std::string url_;
  const std::shared_ptr<KnownVersions> known_;  // may be null
  mutable std::mutex mutex_;
  mutable std::optional<RemoteObject> object_;
};

}  // namespace

int64_t InputFile::read_rest(int64_t offset, const std::function<void*(int64_t)>& allocate) const {
  const int64_t count = size_bytes() - offset;
  TORCHDALI_CHECK_KIND(kFile, count >= 0, "the file has ", size_bytes(),
                       " bytes, expected more than ", offset);
  read(allocate(count), count, offset);
  return count;
}

SharedBytes InputFile::read_shared(int64_t offset, int64_t count) const {
  if (count < 0) count = size_bytes() - offset;
  TORCHDALI_CHECK_KIND(kFile, count >= 0, "the file has ", size_bytes(),
                       " bytes, expected more than ", offset);
  auto data = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(count));
  read(data.get(), count, offset);
  return {std::move(data), count};
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

std::unique_ptr<const InputFile> open_input(const std::string& path,
                                            std::shared_ptr<KnownVersions> known) {
  if (!is_remote(path)) return std::make_unique<File>(std::string(local_path(path)));
  auto store = remote_store();
  TORCHDALI_CHECK_KIND(kFile, store != nullptr, "cannot open \"", path,
                       "\": this program has no access to remote files");
  return std::make_unique<RemoteFile>(std::move(store), path, std::move(known));
}

uint64_t KnownVersions::of(const std::string& url) const {
  const uint64_t hash = content_hash(url);
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? 0 : found->second;
}

void KnownVersions::set(const std::string& url, uint64_t version) {
  const uint64_t hash = content_hash(url);
  const std::lock_guard lock(mutex_);
  by_hash_[hash] = version;
}

std::string read_text(const std::string& path) {
  std::string text;
  open_input(path)->read_rest(0, [&](int64_t size) {
    text.resize(static_cast<size_t>(size));
    return text.data();
  });
  return text;
}

}  // namespace torchdali::io
