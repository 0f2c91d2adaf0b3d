// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvdec/nvdec.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/error.h"
#include "gpu/launch.h"

namespace torchdali::gpu::nvdec {
namespace {

// Clips that are decoded at once. GPUs have one to eight engines, and a decoder uses one of them.
constexpr size_t kAtOnce = 4;
constexpr size_t kMostIdle = 8;
// By how many pictures the parser delays those that are shown, so that the host does not wait for
// one that it has just queued.
constexpr unsigned kDelay = 2;

}  // namespace

// One clip that is being decoded.
class Session {
 public:
  Session(NvDec& owner, const Device& device, const MakeTasks& make_tasks, size_t number,
          const Clip& clip)
      : owner_(owner),
        api_(owner.api_),
        device_(device),
        make_tasks_(make_tasks),
        number_(number),
        clip_(clip),
        missing_(std::count(clip.wanted.begin(), clip.wanted.end(), true)),
        shown_(clip.wanted.size()) {
    why_ = owner_.obstacle_to(clip.kind, clip.width, clip.height);
    if (why_.empty()) open();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (parser_ != nullptr) api_.DestroyVideoParser(parser_);
    // One that has failed is not used again.
    if (decoder_ != nullptr && why_.empty()) owner_.give(std::move(decoder_));
  }

  size_t number() const { return number_; }
  const std::string& why() const { return why_; }
  bool done() const { return !why_.empty() || ended_; }
  // Parses the next packet. Raises what the kernels' launch raised.
  void step();

 private:
  template <class Fn>
  int guarded(Fn&& fn) {
    if (!why_.empty()) return 0;
    try {
      return fn();
    } catch (const Failure& failure) {
      why_ = failure.what;
    } catch (...) {  // not through the library
      error_ = std::current_exception();
      why_ = "an error";
    }
    return 0;
  }
  void open();
  void parse(cuvid::Packet packet);
  int on_sequence(const cuvid::Format& format);
  void on_display(const cuvid::DisplayInfo& picture);

  NvDec& owner_;
  const cuvid::Api& api_;
  const Device& device_;
  const MakeTasks& make_tasks_;
  const size_t number_;
  const Clip& clip_;
  cuvid::FormatEx header_;
  cuvid::Parser parser_ = nullptr;
  std::unique_ptr<Decoder> decoder_;
  std::vector<PictureTask> tasks_;
  std::vector<uint8_t> first_;  // the header and the first packet
  size_t next_ = 0;
  int64_t missing_;          // pictures that are wanted and have not come
  std::vector<bool> shown_;  // of each packet
  bool ended_ = false;
  std::string why_;  // it cannot be decoded; empty: it can
  std::exception_ptr error_;
};

void Session::open() {
  cuvid::ParserParams params{.codec = clip_.kind.codec, .display_delay = kDelay, .user = this};
  params.on_sequence = [](void* user, cuvid::Format* format) {
    auto& self = *static_cast<Session*>(user);
    return self.guarded([&] { return self.on_sequence(*format); });
  };
  params.on_decode = [](void* user, cuvid::PictureParams* picture) {
    auto& self = *static_cast<Session*>(user);
    return self.guarded([&] {
      if (self.decoder_ == nullptr || !self.decoder_->decode(*picture))
        throw Failure{"error of cuvidDecodePicture"};
      return 1;
    });
  };
  params.on_display = [](void* user, cuvid::DisplayInfo* picture) {
    auto& self = *static_cast<Session*>(user);
    return self.guarded([&] {
      if (picture != nullptr) self.on_display(*picture);
      return 1;
    });
  };
  if (!clip_.header.empty() && !clip_.header_in_stream) {
    if (clip_.header.size() > cuvid::kMaxHeader) {
      why_ = str_cat("a header of ", clip_.header.size(), " bytes");
      return;
    }
    header_.format.header_size = static_cast<unsigned>(clip_.header.size());
    std::copy(clip_.header.begin(), clip_.header.end(), header_.header);
    params.header = &header_;
  }
  const int error = api_.CreateVideoParser(&parser_, &params);
  if (error == cuvid::kSuccess) return;
  parser_ = nullptr;
  why_ = str_cat("error ", error, " of cuvidCreateVideoParser");
}

int Session::on_sequence(const cuvid::Format& format) {
  const int bits = format.luma_bits_minus_8 + 8;
  const int width = format.display.right - format.display.left;
  const int height = format.display.bottom - format.display.top;
  if (format.chroma != cuvid::kChroma420 || bits != clip_.kind.bits ||
      format.chroma_bits_minus_8 != format.luma_bits_minus_8)
    throw Failure{"a format that differs from that of the file"};
  if (width != clip_.width || height != clip_.height)
    throw Failure{
        str_cat("size ", width, "x", height, " in a video of ", clip_.width, "x", clip_.height)};
  const cuvid::Rectangle<int>& shown = format.display;
  if (shown.left < 0 || shown.top < 0 || shown.right > static_cast<int>(format.coded_width) ||
      shown.bottom > static_cast<int>(format.coded_height) || shown.left % 2 != 0 ||
      shown.top % 2 != 0)
    throw Failure{"a part of the picture that is not supported"};
  const std::string cause = owner_.obstacle_to(clip_.kind, static_cast<int>(format.coded_width),
                                               static_cast<int>(format.coded_height));
  if (!cause.empty()) throw Failure{cause};
  const unsigned surfaces = std::max<unsigned>(format.min_surfaces, 1) + kDelay;
  if (decoder_ == nullptr) decoder_ = owner_.take(clip_.kind, format, surfaces);
  decoder_->configure(format, surfaces);
  return static_cast<int>(surfaces);
}

void Session::on_display(const cuvid::DisplayInfo& picture) {
  // A time is the number of the packet, from 1 on.
  const auto packet = static_cast<size_t>(picture.timestamp - 1);
  if (picture.timestamp < 1 || packet >= clip_.packets.size())
    throw Failure{"a picture of no packet"};
  if (!clip_.wanted[packet] || decoder_ == nullptr) return;
  if (shown_[packet]) throw Failure{"two pictures of one packet"};
  shown_[packet] = true;
  --missing_;
  const kernels::Picture mapped = decoder_->map(picture, device_);
  tasks_.clear();
  make_tasks_(number_, packet, mapped, tasks_);
  int64_t most = 0;
  for (const PictureTask& task : tasks_) most = std::max(most, task.size);
  const KernelLaunch launch{.kernel = kernel_id<PictureKernel>(),
                            .tasks = std::as_bytes(std::span<const PictureTask>(tasks_)),
                            .max_size = most};
  queue_kernels(device_, {&launch, 1}, {});
  decoder_->release_later(device_);
}

void Session::parse(cuvid::Packet packet) {
  const int error = api_.ParseVideoData(parser_, &packet);
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (why_.empty() && error != cuvid::kSuccess)
    why_ = str_cat("error ", error, " of cuvidParseVideoData");
}

void Session::step() {
  if (next_ == clip_.packets.size() || missing_ == 0) {
    parse({.flags = cuvid::kEndOfStream});
    ended_ = true;
    if (why_.empty() && missing_ > 0) why_ = str_cat(missing_, " pictures did not come");
    return;
  }
  std::span<const uint8_t> bytes = clip_.packets[next_];
  if (next_ == 0 && clip_.header_in_stream && !clip_.header.empty()) {
    first_.assign(clip_.header.begin(), clip_.header.end());
    first_.insert(first_.end(), bytes.begin(), bytes.end());
    bytes = first_;
  }
  ++next_;
  parse({.flags = cuvid::kHasTimestamp | cuvid::kEndOfPicture,
         .size = bytes.size(),
         .data = bytes.data(),
         .timestamp = static_cast<long long>(next_)});
}

std::string NvDec::obstacle_to(const Kind& kind, int width, int height) {
  auto found = answers_.find(kind);
  if (found == answers_.end()) found = answers_.emplace(kind, ask(api_, kind)).first;
  return obstacle(found->second, kind, width, height);
}

// One that need not be made anew, else one whose memory a new one can take.
std::unique_ptr<Decoder> NvDec::take(const Kind& kind, const cuvid::Format& format,
                                     unsigned surfaces) {
  const auto pick = [&](auto&& good) -> std::unique_ptr<Decoder> {
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), good);
    if (found == idle_.rend()) return nullptr;
    std::unique_ptr<Decoder> decoder = std::move(*found);
    idle_.erase(std::next(found).base());
    return decoder;
  };
  if (auto found =
          pick([&](const auto& d) { return d->kind() == kind && d->fits(format, surfaces); }))
    return found;
  if (idle_.size() >= kMostIdle)
    if (auto found = pick([&](const auto& d) { return d->kind() == kind; })) return found;
  return std::make_unique<Decoder>(api_, kind);
}

void NvDec::give(std::unique_ptr<Decoder> decoder) {
  if (idle_.size() >= kMostIdle) idle_.erase(idle_.begin());
  idle_.push_back(std::move(decoder));
}

std::vector<FailedClip> NvDec::decode(std::span<const Clip> clips, const Device& device,
                                      const MakeTasks& make_tasks) {
  (void)device.mark();  // makes the GPU's context this thread's
  std::vector<FailedClip> failed;
  std::vector<std::unique_ptr<Session>> running;
  size_t next = 0;
  while (next < clips.size() || !running.empty()) {
    while (running.size() < kAtOnce && next < clips.size()) {
      running.push_back(std::make_unique<Session>(*this, device, make_tasks, next, clips[next]));
      ++next;
    }
    for (const auto& session : running)
      if (!session->done()) session->step();
    std::erase_if(running, [&](const auto& session) {
      if (!session->done()) return false;
      if (!session->why().empty()) failed.push_back({session->number(), session->why()});
      return true;
    });
  }
  return failed;
}

}  // namespace torchdali::gpu::nvdec
