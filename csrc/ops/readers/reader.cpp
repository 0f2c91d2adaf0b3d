// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "io/storage/mapping.h"
#include "io/storage/remote_store.h"

namespace torchdali {
namespace {

constexpr int64_t kMaxSamplesAhead = 1 << 16;  // each takes a little memory before it is read
// Of remote files: half of what is held in memory, so that ranges are long and several are read
// while others are used; and if samples are large, or their sizes unknown, requests for each
// thread.
constexpr int64_t kRemoteBytesAhead = int64_t{128} << 20;
constexpr int64_t kRequestsAhead = 4;

}  // namespace

SchemaBuilder& reader_args(SchemaBuilder& schema) {
  return schema.source()
      .random()
      .arg("num_shards", 1,
           "Number of parts that the data set is divided into. Shard i has samples "
           "floor(i * size / num_shards) to floor((i + 1) * size / num_shards) - 1.")
      .arg("shard_id", 0, "The shard to start with, 0 to `num_shards` - 1.")
      .arg("stick_to_shard", false,
           "Stay with shard `shard_id`. Otherwise each epoch continues with the next shard.")
      .arg("pad_last_batch", false,
           "Fill up each epoch to whole batches, and to as many as the largest shard has, by "
           "repeating its last sample. Otherwise a batch may have the end of one epoch and the "
           "beginning of the next.")
      .arg("random_shuffle", false,
           "Make a new permutation of the shard's samples in each epoch. All permutations are "
           "possible, whatever `initial_fill` is. To make shards similar, the data set is mixed "
           "once before it is divided, in the same way for every seed; the shards are DALI's.")
      .arg("shuffle_after_epoch", false,
           "Make a new permutation of the whole data set in each epoch, the same on all ranks, and "
           "divide that into shards; the reader takes shard `shard_id` of it. Excludes "
           "`random_shuffle` and `stick_to_shard`.")
      .optional_arg("shuffle_after_epoch_seed", ArgType::kInt,
                    "Seed of `shuffle_after_epoch`, the same on all ranks; a constant by default. "
                    "`seed` has no effect on these permutations.")
      .arg("initial_fill", 1024,
           "Size of DALI's shuffle buffer. No effect: a permutation of the whole shard is at least "
           "as random and needs no buffer.")
      .arg("lazy_init", false,
           "Find the samples when they are first needed, not when the pipeline is built.")
      .arg("read_ahead", false,
           "Always read ahead. By default, data is read ahead if it is remote, and while threads "
           "wait for storage, not while it is in the system's page cache.")
      .arg("prefetch_queue_depth", 1,
           "Number of batches that are read ahead, in addition to those that are scheduled, into "
           "at most 256 MB of memory, and at most 65536 samples. More batches help if storage is "
           "slow but serves many requests at a time. Of remote files (URLs), as many samples are "
           "read ahead as keep the connections busy, if that is more.")
      .arg(
          "dont_use_mmap", false,
          "Do not map files into memory. By default, containers, and files of which regions are "
          "read, are mapped unless reading waits for a disk. Truncating a mapped file is an error, "
          "as it is otherwise, and does not end the process.")
      .arg("skip_cached_images", false,
           "No effect: it belongs to the image cache of DALI's GPU decoder, which torchdali does "
           "not have.")
      .arg("tensor_init_bytes", 1048576, "No effect: each sample is allocated at its size.");
}

Reader::Reader(const OpSpec& spec, size_t open_files, io::OpenInput open_file)
    : buckets_(spec),
      least_samples_ahead_(
          std::min(std::min(spec.get<int64_t>("prefetch_queue_depth"), kMaxSamplesAhead) *
                       spec.max_batch_size,
                   kMaxSamplesAhead)),
      samples_ahead_(least_samples_ahead_),
      maps_(open_files > 0 && !spec.get<bool>("dont_use_mmap")),
      files_(std::make_shared<io::OpenFiles>(open_files, open_file)),
      ahead_(
          {.always = spec.get<bool>("read_ahead"), .max_remote_threads = io::remote_concurrency()},
          files_) {
  const auto check_at_least = [&spec](const char* arg, int64_t least) {
    TORCHDALI_CHECK(spec.get<int64_t>(arg) >= least, "`", arg, "` is ", spec.get<int64_t>(arg),
                    ", expected ", least, " or more");
  };
  check_at_least("prefetch_queue_depth", 1);
  check_at_least("initial_fill", 1);
  check_at_least("tensor_init_bytes", 0);
  TORCHDALI_CHECK(!(spec.get<bool>("shuffle_after_epoch") && spec.get<bool>("random_shuffle")),
                  "`shuffle_after_epoch` and `random_shuffle` exclude each other",
                  to_fix("give one of them; `random_shuffle` makes a new full permutation of the "
                         "shard in each epoch"));
  options_ = {.shard_id = spec.get<int>("shard_id"),
              .num_shards = spec.get<int>("num_shards"),
              .batch_size = spec.max_batch_size,
              .stick_to_shard = spec.get<bool>("stick_to_shard"),
              .pad_last_batch = spec.get<bool>("pad_last_batch"),
              .seed = spec.seed};
  if (spec.get<bool>("random_shuffle")) options_.shuffle = Shuffle::kShard;
  if (spec.get<bool>("shuffle_after_epoch")) {
    options_.shuffle = Shuffle::kWholeEpoch;
    // Not the seed of the pipeline: scripts give each rank its own, and ranks must agree on how
    // samples are distributed.
    options_.seed = spec.has("shuffle_after_epoch_seed")
                        ? static_cast<uint64_t>(spec.get<int64_t>("shuffle_after_epoch_seed"))
                        : 0;
  }
}

void Reader::set_batches_ahead(int count) {
  samples_ahead_ =
      std::clamp(int64_t{count} * options_.batch_size, least_samples_ahead_, kMaxSamplesAhead);
}

void Reader::prepare() {
  std::call_once(prepared_, [this] {
    options_.size = find_samples();
    options_.buckets = buckets_.own([this](const std::string& by) { return find_lengths(by); });
    order_ = std::make_unique<const EpochOrder>(options_);
  });
}

std::unique_ptr<SourceBatch> Reader::next_batch(int max_size) {
  prepare();
  TORCHDALI_CHECK(!needs_plan_, "the checkpoint was made by a PipelineLoader",
                  to_fix("resume with one"));
  const int size = plan_ ? plan_->batch_at(position_, max_size) : max_size;
  if (size == 0) return nullptr;
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    const std::optional<int64_t> index = index_at(position_ + i);
    TORCHDALI_ASSERT(index.has_value(), "a batch reaches past the end of its plan");
    indices.push_back(*index);
  }
  auto batch = make_batch(indices);
  if (plan_)
    for (int i = 0; i < size; ++i) batch->sample_ids.push_back(plan_->sample_id(position_ + i));
  batch->indices = std::move(indices);
  batch->size = size;
  position_ += size;
  batch->end = position_;
  announce_reads(position_ - size);
  return batch;
}

// Samples of the returned batch, from `begin` on, and of the following ones. Of remote files, many
// are announced together, so that neighbors become one request.
void Reader::announce_reads(int64_t begin) {
  if (!ahead_.active()) return;
  announced_ = std::max(announced_, begin);
  const auto until = [this](int64_t end) {
    for (; announced_ < end; ++announced_) {
      const std::optional<int64_t> index = index_at(announced_);
      if (!index) return;
      will_read(announced_, *index);
    }
  };
  until(position_ + samples_ahead_);
  const int64_t remote = remote_samples_ahead();
  if (announced_ < position_ + remote - remote / 4) until(position_ + remote);
  ahead_.announce(std::exchange(upcoming_, {}));
}

int64_t Reader::remote_samples_ahead() const {
  if (remote_requests_ == 0) return 0;
  const int64_t least = kRequestsAhead * io::remote_concurrency();
  const int64_t mean = remote_bytes_ / remote_requests_;
  if (mean == 0) return least;  // sizes are not known
  return std::clamp(kRemoteBytesAhead / mean, std::min(least, kMaxSamplesAhead), kMaxSamplesAhead);
}

void Reader::will_read(int64_t position, int64_t index) {
  io::ReadRequest next = request(index);
  if (next.path.empty()) return;
  if (io::is_remote(next.path)) {
    ++remote_requests_;
    remote_bytes_ += std::max<int64_t>(next.size, 0);
  }
  upcoming_.push_back({position, std::move(next)});
}

std::vector<float> Reader::find_lengths(const std::string& by) {
  raise(ErrorKind::kValue, "`bucket_by` is \"", by, "\", and this reader has no such lengths",
        to_fix("the page of the reader has the lengths that it knows; DataLoader(bucket_by=) takes "
               "lengths from Python"));
}

io::ReadRequest Reader::request(int64_t /*index*/) const {
  raise(ErrorKind::kInternal, "the reader has no files");
}

void Reader::forget_reads() {
  ahead_.clear();
  announced_ = position_;
}

SampleBytes Reader::sample_bytes(const SampleContext& ctx, const io::ReadRequest& request) const {
  const auto& batch = ctx.source_batch<SourceBatch>();
  SampleBytes bytes;
  bytes.ahead_ = ahead_.take(batch.end - batch.size + ctx.index_in_batch());
  if (bytes.ahead_ && request.size >= 0 && request.size != bytes.ahead_.size()) bytes.ahead_ = {};
  if (bytes.ahead_) {
    bytes.size_ = bytes.ahead_.size();
    return bytes;
  }
  const io::WaitProbe probe;
  bytes.file_ = files_->open(request.path);
  bytes.waited_ = probe.waited();
  bytes.reports_ = &ahead_;
  bytes.offset_ = request.offset;
  bytes.size_ = request.size;
  // While reads wait for a disk, larger ones than those of page faults are better.
  const io::Mapping* mapping = maps_ && !ahead_.active() ? bytes.file_->mapping() : nullptr;
  // Otherwise a region of an array would be cut out of a copy of the whole file.
  if (mapping != nullptr && mapping->usable()) bytes.mapping_ = mapping;
  return bytes;
}

void SampleBytes::copy(void* to, int64_t count, int64_t offset) const {
  TORCHDALI_ASSERT(offset >= 0 && count >= 0 && (size_ < 0 || count <= size_ - offset),
                   "a part beyond the end of a sample");
  if (count == 0) return;
  if (ahead_) {
    TORCHDALI_ASSERT(count <= ahead_.size() - offset, "a part beyond the end of a sample");
    std::memcpy(to, ahead_.data() + offset, static_cast<size_t>(count));
    return;
  }
  if (mapping_ != nullptr && use_mapped(offset, count, [to](std::span<const uint8_t> bytes) {
        std::memcpy(to, bytes.data(), bytes.size());
      }))
    return;
  const io::WaitProbe probe;
  file_->read(to, count, offset_ + offset);
  reports_->report(waited_ || probe.waited());
}

int64_t SampleBytes::copy_all(const std::function<void*(int64_t)>& allocate) const {
  if (ahead_ || size_ >= 0) {
    copy(allocate(size_), size_);
    return size_;
  }
  const io::WaitProbe probe;
  const int64_t count = file_->read_rest(offset_, allocate);
  reports_->report(waited_ || probe.waited());
  return count;
}

void SampleBytes::view(SampleContext& ctx, const Use& use) const {
  if (ahead_) {
    use({reinterpret_cast<const uint8_t*>(ahead_.data()), static_cast<size_t>(ahead_.size())});
    return;
  }
  if (mapping_ != nullptr && use_mapped(0, size(), use)) return;
  std::span<uint8_t> memory;
  copy_all([&](int64_t count) {
    memory = ctx.scratch<uint8_t>(static_cast<size_t>(count));
    return memory.data();
  });
  use(memory);
}

void SampleBytes::parts(SampleContext& ctx, bool at_once, const UseParts& use) const {
  if (!at_once) {
    use({.size = size(), .memory = {}, .copy = [this](void* to, int64_t count, int64_t offset) {
           copy(to, count, offset);
         }});
    return;
  }
  view(ctx, [&use](std::span<const uint8_t> all) {
    use({.size = std::ssize(all),
         .memory = all,
         .copy = [all](void* to, int64_t count, int64_t offset) {
           TORCHDALI_ASSERT(offset >= 0 && count >= 0 && count <= std::ssize(all) - offset,
                            "a part beyond the end of a sample");
           if (count > 0) std::memcpy(to, all.data() + offset, static_cast<size_t>(count));
         }});
  });
}

// Returns false if the bytes are to be read.
bool SampleBytes::use_mapped(int64_t offset, int64_t count, const Use& use) const {
  const io::WaitProbe probe;
  const bool used = mapping_->read(offset_ + offset, count, use);
  if (used) reports_->report(waited_ || probe.waited());
  return used;
}

std::optional<int64_t> Reader::index_at(int64_t position) const {
  if (!plan_) return order_->at(position).index;
  if (position >= plan_->count) return std::nullopt;
  const int64_t size = order_->size();
  int64_t place = plan_->position(position);
  if (place >= size) place = plan_->repeat ? place % size : size - 1;
  const auto index_of = [&](int64_t i) {
    return plan_->shuffle ? epoch_permutation(i, size, plan_->seed, plan_->epoch) : i;
  };
  if (!plan_buckets_) return index_of(place);
  const UnsortedEpoch unsorted{.epoch = plan_->epoch,
                               .count = size,
                               .batch = plan_->bucket_batch,
                               .shuffle = plan_->shuffle,
                               .seed = plan_->seed};
  return plan_buckets_->at(unsorted, place, index_of);
}

bool Reader::set_epoch_plan(const EpochPlan& plan) {
  prepare();
  TORCHDALI_ASSERT(plan.bucket_batch >= 1, "batch of ", plan.bucket_batch);
  plan_buckets_ = buckets_.of(plan, [this](const std::string& by) { return find_lengths(by); });
  plan_ = plan;
  position_ = 0;
  needs_plan_ = false;
  forget_reads();
  return true;
}

SourceState Reader::state(int64_t position) {
  prepare();
  // The loader owns the plan and saves its position.
  if (plan_) {
    SourceState state = buckets_.facts();
    state.insert({{"planned", 1}, {"epoch_size", order_->size()}});
    return state;
  }
  const auto place = order_->place(position);
  SourceState state = facts();
  state["epoch"] = place.epoch;
  state["consumed"] = place.consumed;
  return state;
}

int64_t Reader::restore(const SourceState& state) {
  prepare();
  const bool planned = state.contains("planned");
  const auto stored = [&](const std::string& name) {
    const auto found = state.find(name);
    TORCHDALI_CHECK(found != state.end(), "the checkpoint lacks `", name, "`");
    return found->second;
  };
  for (const auto& [name, value] : facts())
    if (!planned || name == "epoch_size" || name == "bucket_window" || name == "bucket_lengths")
      TORCHDALI_CHECK(stored(name) == value, "`", name, "` is ", value,
                      ", in the checkpoint it is ", stored(name),
                      to_fix("resume with the same data set and arguments"));
  TORCHDALI_CHECK(options_.buckets || !state.contains("bucket_window"),
                  "the checkpoint was made with `bucket_by`", to_fix("resume with it"));
  needs_plan_ = planned;
  position_ = planned ? 0 : order_->position(stored("epoch"), stored("consumed"));
  forget_reads();
  return position_;
}

std::optional<ReaderMeta> Reader::meta() {
  prepare();
  // A reader that distributes all samples anew keeps its shard.
  const bool stays = options_.stick_to_shard || options_.shuffle == Shuffle::kWholeEpoch;
  return ReaderMeta{.epoch_size = order_->size(),
                    .epoch_size_padded = order_->padded_size(),
                    .number_of_shards = options_.num_shards,
                    .shard_id = options_.shard_id,
                    .pad_last_batch = options_.pad_last_batch,
                    .stick_to_shard = stays,
                    .shuffles = options_.shuffle != Shuffle::kNone,
                    .buckets = (plan_ ? plan_buckets_ : options_.buckets) != nullptr};
}

// The arguments that the order of samples depends on.
SourceState Reader::facts() const {
  SourceState facts = buckets_.facts();
  if (options_.buckets) facts["batch_size"] = options_.batch_size;
  facts.insert({{"epoch_size", order_->size()},
                {"shard_id", options_.shard_id},
                {"num_shards", options_.num_shards},
                {"stick_to_shard", options_.stick_to_shard},
                {"pad_last_batch", options_.pad_last_batch},
                {"random_shuffle", options_.shuffle == Shuffle::kShard},
                {"shuffle_after_epoch", options_.shuffle == Shuffle::kWholeEpoch},
                {"shuffle_seed",
                 options_.shuffle == Shuffle::kNone ? 0 : static_cast<int64_t>(options_.seed)}});
  return facts;
}

}  // namespace torchdali
