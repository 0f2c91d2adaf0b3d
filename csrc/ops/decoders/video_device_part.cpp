// SPDX-License-Identifier: Apache-2.0
// decoders.video_device_part: the GPU part of decoding videos. What its decoder cannot do after
// all, FFmpeg does in the thread that queues the work.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "gpu/launch.h"
#include "gpu/nvdec/nvdec.h"
#include "gpu/operator.h"
#include "ops/decoders/device_video.h"

namespace torchdali {
namespace {

using io::video::EncodedPacket;

// The clip of one sample.
struct Work {
  int sample = 0;  // index in the batch
  SampleView description = {};
  void* out = nullptr;
  DeviceClip clip = {};
  std::vector<std::pair<int64_t, int64_t>> places = {};  // of frames in the output, sorted
};

struct Works final : BatchState {
  std::vector<Work> all;
};

gpu::PictureTask placed(gpu::PictureTask task, const Work& work, int64_t i) {
  const DeviceVideo& about = work.clip.about;
  const int64_t bytes = about.height * about.width * about.channels * itemsize(about.dtype);
  task.out = static_cast<std::byte*>(work.out) + i * bytes;
  return task;
}

// The tasks for a picture of the video, which is this frame.
void add_tasks(const Work& work, int64_t frame, kernels::Picture picture,
               std::vector<gpu::PictureTask>& tasks) {
  (void)io::video::set_colors(work.clip.clip.facts, picture);
  const gpu::PictureTask task = gpu::picture_task(picture, work.clip.about.rules);
  auto place =
      std::lower_bound(work.places.begin(), work.places.end(), std::pair(frame, int64_t{0}));
  for (; place != work.places.end() && place->first == frame; ++place)
    tasks.push_back(placed(task, work, place->second));
}

// Packets that are decoded together: those that the frames of a clip need from one start on. Clips
// of the same file share them, as sequences that follow one another do.
struct Run {
  struct Packet {
    size_t work;
    const EncodedPacket* packet;
  };
  std::vector<size_t> works;
  std::map<int64_t, Packet> packets;  // by number
};

std::vector<Run> find_runs(std::span<const Work> works) {
  std::vector<Run> runs;
  std::map<std::pair<uint64_t, int64_t>, size_t> found;  // by video and first packet
  for (size_t w = 0; w < works.size(); ++w) {
    const io::video::EncodedClip& clip = works[w].clip.clip;
    size_t run = 0;
    for (const EncodedPacket& packet : clip.packets) {
      if (packet.start) {
        run = found.emplace(std::pair(clip.video, packet.number), runs.size()).first->second;
        if (run == runs.size()) runs.emplace_back();
        runs[run].works.push_back(w);
      }
      const auto [at, added] = runs[run].packets.emplace(packet.number, Run::Packet{w, &packet});
      if (!added && packet.frame >= 0) at->second = {w, &packet};
    }
  }
  return runs;
}

// The run for the GPU's decoder.
gpu::nvdec::Clip clip_of(const Run& run, std::span<const Work> works) {
  const io::video::EncodedClip& first = works[run.works[0]].clip.clip;
  std::span<const uint8_t> header = first.facts.extradata();
  // Of AV1, the sequence header follows four bytes of "av1C".
  constexpr size_t kAv1Box = 4;
  if (std::string_view(first.facts->codec) == "av1" && !header.empty() && (header[0] & 0x80) != 0)
    header = header.subspan(std::min(kAv1Box, header.size()));
  gpu::nvdec::Clip clip{.kind = {*gpu::nvdec::codec_of(first.facts->codec), bits_of(first.facts)},
                        .width = first.facts->width,
                        .height = first.facts->height,
                        .header = header,
                        .header_in_stream = first.header_in_stream,
                        .packets = {},
                        .wanted = {}};
  for (const auto& [number, from] : run.packets) {
    const std::span<const uint8_t> bytes = works[from.work].clip.clip.bytes;
    clip.packets.push_back(bytes.subspan(static_cast<size_t>(from.packet->offset),
                                         static_cast<size_t>(from.packet->size)));
    clip.wanted.push_back(from.packet->frame >= 0);
  }
  return clip;
}

void launch_tasks(const gpu::Device& device, std::span<const gpu::PictureTask> tasks) {
  int64_t most = 0;
  for (const gpu::PictureTask& task : tasks) most = std::max(most, task.size);
  const gpu::KernelLaunch launch{.kernel = gpu::kernel_id<gpu::PictureKernel>(),
                                 .tasks = std::as_bytes(tasks),
                                 .max_size = most};
  queue_kernels(device, {&launch, 1}, {});
}

// The same picture in memory of the GPU that `storage` keeps.
kernels::Picture upload(const gpu::Device& device, kernels::Picture picture, Storage& storage) {
  std::vector<std::byte> bytes;
  std::array<size_t, 3> starts{};
  const int64_t sample = picture.bits > 8 ? 2 : 1;
  const bool subsampled = picture.model == kernels::PictureModel::kYuv;
  for (size_t k = 0; k < 3; ++k) {
    if (picture.planes[k] == nullptr) continue;
    const bool chroma = k > 0 && subsampled;
    const int shift_x = chroma ? picture.chroma_shift_x : 0;
    const int shift_y = chroma ? picture.chroma_shift_y : 0;
    const int64_t rows = ((picture.height - 1) >> shift_y) + 1;
    int64_t row = (((picture.width - 1) >> shift_x) + 1) * sample;
    if (chroma && picture.interleaved_chroma) row *= 2;
    if (picture.model == kernels::PictureModel::kRgbPacked) row *= picture.pixel_samples;
    starts[k] = (bytes.size() + 15) / 16 * 16;
    bytes.resize(starts[k] + static_cast<size_t>(rows * row));
    for (int64_t y = 0; y < rows; ++y)
      std::memcpy(bytes.data() + starts[k] + y * row, picture.planes[k] + y * picture.strides[k],
                  static_cast<size_t>(row));
    picture.strides[k] = row;
  }
  storage = device.upload(bytes);
  for (size_t k = 0; k < 3; ++k)
    if (picture.planes[k] != nullptr)
      picture.planes[k] = static_cast<const uint8_t*>(storage.data()) + starts[k];
  return picture;
}

class VideoDevicePart final : public gpu::GpuOperator, public CountsReasons {
 public:
  explicit VideoDevicePart(const OpSpec& spec) : required_(is_nvdec_required(spec)) {
    std::string why;
    const gpu::cuvid::Api* api = gpu::nvdec::find_library(&why);
    TORCHDALI_CHECK_KIND(kRuntime, api != nullptr, "NVDEC was not found: ", why);
    nvdec_ = std::make_unique<gpu::nvdec::NvDec>(*api);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& description = ctx.input(1);
    const DeviceVideo about = read_device_video(description);
    const Shape shape{about.frames, about.height, about.width, about.channels};
    if (about.kind == DeviceVideo::Kind::kPixels) {
      ctx.share_input(
          0, 0,
          {.data = ctx.input(0).data, .dtype = about.dtype, .shape = shape, .layout = "FHWC"});
      return;
    }
    const SampleView& out = ctx.output(0, about.dtype, shape, "FHWC");
    ctx.batch_state<Works>().all.push_back(
        {.sample = ctx.index_in_batch(), .description = description, .out = out.data});
  }
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<Works>();
  }
  void launch(BatchContext& ctx, BatchState& state) const override;
  std::map<std::string, int64_t> counts() const override { return counts_.read(); }

 private:
  std::vector<std::string> decode(const gpu::Device& device, std::span<const Work> works) const;
  void decode_on_host(const gpu::Device& device, const Work& work) const;

  const bool required_;
  std::unique_ptr<gpu::nvdec::NvDec> nvdec_;  // stages are ordered: one thread at a time
  mutable ReasonCounts counts_;
};

// Returns why each of them was not decoded; empty: it was.
std::vector<std::string> VideoDevicePart::decode(const gpu::Device& device,
                                                 std::span<const Work> works) const {
  const std::vector<Run> runs = find_runs(works);
  std::vector<gpu::nvdec::Clip> clips;
  std::vector<std::vector<int64_t>> frames;  // of each run, by packet
  for (const Run& run : runs) {
    clips.push_back(clip_of(run, works));
    auto& of_run = frames.emplace_back();
    for (const auto& [number, from] : run.packets) of_run.push_back(from.packet->frame);
  }
  const auto failed =
      nvdec_->decode(clips, device,
                     [&](size_t run, size_t packet, const kernels::Picture& picture,
                         std::vector<gpu::PictureTask>& tasks) {
                       for (const size_t work : runs[run].works)
                         add_tasks(works[work], frames[run][packet], picture, tasks);
                     });
  std::vector<std::string> why(works.size());
  for (const auto& [run, cause] : failed)
    for (const size_t work : runs[run].works) why[work] = cause;
  return why;
}

void VideoDevicePart::decode_on_host(const gpu::Device& device, const Work& work) const {
  std::vector<gpu::PictureTask> tasks;
  decode_clip(work.clip.clip, "the video", [&](size_t packet, const kernels::Picture& picture) {
    Storage storage;
    tasks.clear();
    add_tasks(work, work.clip.clip.packets[packet].frame, upload(device, picture, storage), tasks);
    launch_tasks(device, tasks);
  });
}

void VideoDevicePart::launch(BatchContext& ctx, BatchState& state) const {
  std::vector<Work>& works = static_cast<Works&>(state).all;
  if (works.empty()) return;
  const gpu::Device& device = ctx.device();
  std::vector<gpu::PictureTask> colors;
  for (Work& work : works) {
    work.out = ctx.address(0, work.sample, work.out);
    work.clip = read_device_clip(work.description);
    const DeviceVideo& about = work.clip.about;
    const auto& frames = work.clip.frames;
    for (size_t i = 0; i < frames.size(); ++i) {
      if (frames[i] >= 0) work.places.emplace_back(frames[i], i);
      else
        colors.push_back(
            placed(gpu::color_task(static_cast<int>(about.width), static_cast<int>(about.height),
                                   about.fill, about.rules),
                   work, static_cast<int64_t>(i)));
    }
    std::sort(work.places.begin(), work.places.end());
  }
  if (!colors.empty()) launch_tasks(device, colors);
  const std::vector<std::string> why = decode(device, works);
  for (size_t w = 0; w < works.size(); ++w) {
    counts_.add(why[w].empty() ? "NVDEC" : "CPU: " + why[w]);
    if (why[w].empty()) continue;
    try {
      if (required_) raise_not_by_nvdec(why[w]);
      decode_on_host(device, works[w]);
    } catch (Error& e) {
      e.set_sample(works[w].sample);
      throw;
    }
  }
}

TORCHDALI_OPERATOR("decoders.video_device_part")
    .doc("The GPU part of decoding videos; see docs/design/video.md.")
    .input("data", "Frames from the host part, if it has decoded them.")
    .input("description", "What to do.")
    .output("video", "Frames, layout \"FHWC\".")
    .with(add_nvdec_arg)
    .hidden()
    .gpu<VideoDevicePart>()
    .host_input(1);

}  // namespace
}  // namespace torchdali
