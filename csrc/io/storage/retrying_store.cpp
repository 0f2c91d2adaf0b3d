// SPDX-License-Identifier: Apache-2.0
#include "io/storage/retrying_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "core/error.h"

namespace torchdali::io {
namespace {

using Clock = std::chrono::steady_clock;

// The wait before a retry doubles, from kFirstWait to kLongestWait. It is a random part of that, so
// that readers that failed together do not come back together.
constexpr double kFirstWait = 0.1, kLongestWait = 20;

std::chrono::milliseconds wait_before(int retry) {
  thread_local std::minstd_rand random(std::random_device{}());
  const double longest =
      std::min(kLongestWait, kFirstWait * static_cast<double>(1 << std::min(retry, 20)));
  std::uniform_real_distribution<double> share(0.5, 1);
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * longest * share(random)));
}

std::string bytes_text(int64_t offset, int64_t count) {
  return str_cat(", bytes ", offset, " to ", offset + count - 1);
}

// The whole object cannot be read as one: parts of two versions would be mixed.
void check_unchanged(const std::string& url, const RemoteObject& before, const RemoteObject& now) {
  const bool same = (now.size < 0 || before.size < 0 || now.size == before.size) &&
                    (now.etag.empty() || before.etag.empty() || now.etag == before.etag);
  const auto text = [](const RemoteObject& o) {
    return str_cat(o.size, " bytes", o.etag.empty() ? "" : ", version ", o.etag);
  };
  TORCHDALI_CHECK_KIND(kFile, same, "\"", url, "\" has changed while it was used: it had ",
                       text(before), ", and now has ", text(now),
                       to_fix("build the pipeline again; to change data that is in use, write it "
                              "under a new name"));
}

}  // namespace

void RetryingStore::with_retries(std::string_view what, const std::string& url,
                                 const std::string& part, const std::function<void()>& attempt) {
  const Clock::time_point start = Clock::now();
  for (int tries = 1;; ++tries) {
    try {
      attempt();
      return;
    } catch (const RemoteError& e) {
      if (!e.transient() || tries > retries_) {
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        Error error(ErrorKind::kFile,
                    str_cat("cannot ", what, " \"", url, '"', part, ": ", e.message(),
                            tries == 1 ? ""
                                       : str_cat(" (", tries, " attempts in ",
                                                 static_cast<int64_t>(seconds * 10) / 10.0, " s)")),
                    e.fix());
        error.set_cause(e.cause());
        throw error;
      }
    }
    transport_->sleep(wait_before(tries - 1));
  }
}

RemoteObject RetryingStore::stat(const std::string& url) {
  RemoteObject object;
  with_retries("look at", url, "", [&] { object = transport_->stat(url); });
  TORCHDALI_CHECK_KIND(kFile, object.size >= 0, "the size of \"", url, "\" is not known",
                       to_fix("use a store that reports sizes"));
  return object;
}

RemotePart RetryingStore::get(const std::string& url, const RemoteObject* object, int64_t offset,
                              int64_t count) {
  RemotePart part;
  // An object whose size is not known is read whole.
  with_retries("read", url, object == nullptr ? "" : bytes_text(offset, count), [&] {
    part = transport_->get(url, offset, count);
    const RemoteObject& now = part.object;
    if (object != nullptr) check_unchanged(url, *object, now);
    // Bodies that end early are not always noticed by the libraries.
    const int64_t size = now.size >= 0 || object == nullptr ? now.size : object->size;
    const int64_t expected =
        size < 0 ? count : std::min(count, std::max<int64_t>(size - offset, 0));
    const bool whole = part.bytes.size == expected || (size < 0 && part.bytes.size < count);
    if (!whole)
      throw RemoteError(str_cat("the store sent ", part.bytes.size, " bytes, expected ", expected),
                        true);
  });
  return part;
}

SharedBytes RetryingStore::read(const std::string& url, const RemoteObject& object, int64_t offset,
                                int64_t count) {
  TORCHDALI_CHECK_KIND(kFile, offset >= 0 && count >= 0 && count <= object.size - offset,
                       "cannot read \"", url, '"', bytes_text(offset, count), ": it has ",
                       object.size, " bytes");
  if (count == 0) return {std::make_shared<std::byte[]>(0), 0};
  if (count <= kMaxRequest) return get(url, &object, offset, count).bytes;
  auto data = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(count));
  for (int64_t done = 0; done < count;) {
    const int64_t size = std::min(count - done, kMaxRequest);
    const SharedBytes bytes = get(url, &object, offset + done, size).bytes;
    std::memcpy(data.get() + done, bytes.data.get(), static_cast<size_t>(size));
    done += size;
  }
  return {std::move(data), count};
}

RemotePart RetryingStore::read_whole(const std::string& url, uint64_t /*known*/) {
  RemotePart first = get(url, nullptr, 0, kMaxRequest);
  RemoteObject& object = first.object;
  if (object.size < 0) {
    if (first.bytes.size < kMaxRequest) object.size = first.bytes.size;
    else object = stat(url);
  }
  if (object.size <= first.bytes.size) return first;
  auto data = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(object.size));
  const int64_t got = first.bytes.size;
  std::memcpy(data.get(), first.bytes.data.get(), static_cast<size_t>(got));
  first.bytes = {};
  for (int64_t done = got; done < object.size;) {
    const int64_t size = std::min(object.size - done, kMaxRequest);
    const SharedBytes bytes = get(url, &object, done, size).bytes;
    std::memcpy(data.get() + done, bytes.data.get(), static_cast<size_t>(size));
    done += size;
  }
  first.bytes = {std::move(data), object.size};
  return first;
}

std::vector<std::string> RetryingStore::list(const std::string& folder) {
  std::vector<std::string> urls;
  with_retries("list", folder, "", [&] { urls = transport_->list(folder); });
  std::sort(urls.begin(), urls.end());
  return urls;
}

}  // namespace torchdali::io
