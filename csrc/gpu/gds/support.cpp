// SPDX-License-Identifier: Apache-2.0
#include "gpu/gds/support.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/error.h"

namespace torchdali::gpu::gds {
namespace {

std::vector<std::string> usual_names() {
  std::vector<std::string> names;
  const std::string packages = nvidia_packages();
  for (const char* folder : {"/cu13/lib", "/cufile/lib"}) {
    const std::string name = packages + folder + "/libcufile.so.0";
    if (::access(name.c_str(), F_OK) == 0) names.push_back(name);
  }
  names.emplace_back("libcufile.so.0");
  return names;
}

std::string fill(void* library, cufile::Api& api) {
#define TORCHDALI_CUFILE_LOAD(name, ...)                                                     \
  api.name = reinterpret_cast<cufile::Api::name##Function*>(dlsym(library, "cuFile" #name)); \
  if (api.name == nullptr) return "the library is too old: it has no cuFile" #name;
  TORCHDALI_CUFILE_FUNCTIONS(TORCHDALI_CUFILE_LOAD)
#undef TORCHDALI_CUFILE_LOAD
  return "";
}

// What was found out about libraries and file systems.
struct Known {
  std::mutex mutex;
  std::map<const cufile::Api*, std::string> drivers;
  std::map<std::pair<const cufile::Api*, uint64_t>, std::string> file_systems;
};
Known& known() {
  static Known& all = *new Known;
  return all;
}

}  // namespace

Use chosen_use() { return gpu::chosen_use("TORCHDALI_GDS"); }

const cufile::Api* find_library(std::string* why) {
  static auto& library = *new LibraryOnDemand<cufile::Api>(
      {.variable = "TORCHDALI_GDS_LIBRARY", .names = usual_names, .fill = fill});
  return library.find(why);
}

std::string open_driver(const cufile::Api& api) {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  const auto [found, is_new] = all.drivers.try_emplace(&api);
  if (!is_new) return found->second;
  // It is not closed again: other libraries in the process may use it.
  const cufile::Status status = api.DriverOpen();
  if (status.error != 0) found->second = describe("cuFileDriverOpen", status);
  return found->second;
}

int64_t chunk_bytes() {
  constexpr int64_t kDefault = int64_t{2} << 20, kLeast = 4096, kMost = int64_t{16} << 20;
  const std::string value = environment("DALI_GDS_CHUNK_SIZE");
  if (value.empty()) return kDefault;
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
  const std::string_view unit(end, static_cast<size_t>(value.data() + value.size() - end));
  const int64_t factor = unit.empty() ? 1 : unit == "k" ? 1 << 10 : unit == "M" ? 1 << 20 : 0;
  const bool good = error == std::errc() && factor > 0 && bytes > 0 && bytes <= kMost / factor;
  bytes = good ? bytes * factor : 0;
  TORCHDALI_CHECK_KIND(kValue, bytes >= kLeast && std::has_single_bit(static_cast<uint64_t>(bytes)),
                       "DALI_GDS_CHUNK_SIZE is \"", value,
                       "\", expected a power of two from 4096 to 16M, such as \"1024k\" or \"2M\"");
  return bytes;
}

std::string describe(const char* function, cufile::Status status) {
  std::string text = str_cat("error ", status.error, " of ", function);
  if (status.error == cufile::kCudaError) text += str_cat(" (CUDA: ", status.cuda_error, ")");
  return text;
}

std::string describe_read(int64_t result, int error_number) {
  if (result == -1) return str_cat("cuFileRead: ", std::generic_category().message(error_number));
  return str_cat("error ", -result, " of cuFileRead");
}

void note_file_system(uint64_t device, const std::string& why) {
  const cufile::Api* api = find_library();
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  all.file_systems.try_emplace({api, device}, why);
}

std::string known_obstacle(const std::string& path) {
  const cufile::Api* api = find_library();
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  const auto driver = all.drivers.find(api);
  if (driver != all.drivers.end() && !driver->second.empty()) return driver->second;
  if (all.file_systems.empty()) return "";
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return "";  // opening it is an error
  const auto found = all.file_systems.find({api, status.st_dev});
  return found == all.file_systems.end() ? "" : found->second;
}

}  // namespace torchdali::gpu::gds
