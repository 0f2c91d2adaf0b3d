// SPDX-License-Identifier: Apache-2.0
// A store in memory, and a folder for a cache of it, for test programs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "expect.h"
#include "io/storage/caching_store.h"
#include "io/storage/retrying_store.h"

inline std::string content(size_t size, int seed) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 31 + i / 251) ^ seed);
  return text;
}

// Objects in memory. Counts requests.
class FakeStore final : public torchdali::io::Transport {
 public:
  torchdali::io::RemoteObject stat(const std::string& url) override {
    ++stats;
    const std::lock_guard lock(mutex);
    const auto found = objects.find(url);
    if (found == objects.end()) throw torchdali::io::RemoteError("there is none", false);
    return {static_cast<int64_t>(found->second.size()), etag(url)};
  }
  torchdali::io::RemotePart get(const std::string& url, int64_t offset, int64_t count) override {
    const int number = gets++;
    if (latency.count() > 0) std::this_thread::sleep_for(latency);
    const std::lock_guard lock(mutex);
    ranges.emplace_back(offset, count);
    const std::string& text = objects.at(url);
    const auto size = static_cast<int64_t>(text.size());
    std::string bytes = text.substr(static_cast<size_t>(offset), static_cast<size_t>(count));
    if (fault) fault(number, bytes);
    auto data = std::make_shared<std::byte[]>(bytes.size());
    std::memcpy(data.get(), bytes.data(), bytes.size());
    return {{size, etag(url)}, {std::move(data), static_cast<int64_t>(bytes.size())}};
  }
  std::vector<std::string> list(const std::string&) override { return {"b", "a"}; }
  void sleep(std::chrono::milliseconds) override { ++sleeps; }

  std::string etag(const std::string& url) const { return tags.contains(url) ? tags.at(url) : "1"; }

  std::mutex mutex;
  std::map<std::string, std::string> objects, tags;
  std::function<void(int, std::string&)> fault;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::chrono::milliseconds latency{0};
  std::atomic<int> gets = 0, stats = 0, sleeps = 0;
};

inline const std::string kUrl = "s3://bucket/a";

struct Scene {
  Scene() {
    std::string pattern = (std::filesystem::temp_directory_path() / "remote_XXXXXX").string();
    EXPECT(::mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
  }
  ~Scene() { std::filesystem::remove_all(folder); }
  std::shared_ptr<torchdali::io::CachingStore> cached(int64_t quota = 1 << 30) {
    cache = std::make_shared<torchdali::io::DiskCache>(folder.string(), quota);
    return std::make_shared<torchdali::io::CachingStore>(
        std::make_shared<torchdali::io::RetryingStore>(transport, 3), cache);
  }
  std::filesystem::path entry() const {
    std::error_code error;
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(folder / "objects", error))
      if (file.path().parent_path().filename().string().size() == 2) return file.path();
    return {};
  }
  std::filesystem::path folder;
  std::shared_ptr<FakeStore> transport = std::make_shared<FakeStore>();
  std::shared_ptr<torchdali::io::DiskCache> cache;
};

inline std::string text_of(const torchdali::io::SharedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data.get()), static_cast<size_t>(bytes.size)};
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const torchdali::Error& e) {
    return e.message();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
