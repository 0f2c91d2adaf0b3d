// SPDX-License-Identifier: Apache-2.0
// Sorts each column, merges sorted columns with their neighbors, twice as many in each step, and
// takes the middle of two sorted lists. The networks are Batcher's odd-even merges; what the median
// does not depend on is left out.
#include "kernels/morphology/median_program.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace torchdali::kernels {
namespace {

// A row that a step computes, or an input, as it is seen from another column.
struct Value {
  int id = 0, shift = 0;
};
using Values = std::vector<Value>;

class Network {
 public:
  explicit Network(int inputs) : inputs_(inputs) {}

  // The ids of a pair's results are inputs + 2 * index, and one more.
  struct Pair {
    Value a, b;
  };

  std::pair<Value, Value> exchange(Value a, Value b) {
    // The results are seen from the same column as the nearer operand.
    const int shift = std::min(a.shift, b.shift);
    a.shift -= shift;
    b.shift -= shift;
    const int id = inputs_ + 2 * static_cast<int>(pairs_.size());
    pairs_.push_back({a, b});
    return {{id, shift}, {id + 1, shift}};
  }
  Value smaller(Value a, Value b) { return exchange(a, b).first; }
  Value larger(Value a, Value b) { return exchange(a, b).second; }

  // Of sorted lists.
  Values merged(const Values& a, const Values& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    if (a.size() == 1 && b.size() == 1) {
      const auto [low, high] = exchange(a[0], b[0]);
      return {low, high};
    }
    const Values even = merged(every_other(a, 0), every_other(b, 0));
    const Values odd = merged(every_other(a, 1), every_other(b, 1));
    Values result = {even[0]};
    size_t i = 0;
    for (; i < odd.size() && i + 1 < even.size(); ++i) {
      const auto [low, high] = exchange(odd[i], even[i + 1]);
      result.push_back(low);
      result.push_back(high);
    }
    if (i < odd.size()) result.push_back(odd[i]);
    else if (i + 1 < even.size()) result.push_back(even[i + 1]);
    return result;
  }
  Values sorted(const Values& values) {
    if (values.size() < 2) return values;
    const auto half = values.begin() + static_cast<int64_t>(values.size() / 2);
    return merged(sorted({values.begin(), half}), sorted({half, values.end()}));
  }
  // Element `rank` of the merged lists, which are sorted.
  Value ranked(const Values& a, const Values& b, size_t rank) {
    // The smallest number that has rank + 1 elements of both lists not after it.
    std::vector<Value> bounds;
    for (size_t of_a = 0; of_a <= a.size() && of_a <= rank + 1; ++of_a) {
      const size_t of_b = rank + 1 - of_a;
      if (of_b > b.size()) continue;
      if (of_a == 0) bounds.push_back(b[of_b - 1]);
      else if (of_b == 0) bounds.push_back(a[of_a - 1]);
      else bounds.push_back(larger(a[of_a - 1], b[of_b - 1]));
    }
    Value result = bounds[0];
    for (size_t i = 1; i < bounds.size(); ++i) result = smaller(result, bounds[i]);
    return result;
  }

  // The steps that `results` depend on, and the slots of rows.
  MedianProgram program(const Values& results, int64_t window_y, int64_t window_x) const;

 private:
  static Values every_other(const Values& values, size_t first) {
    Values result;
    for (size_t i = first; i < values.size(); i += 2) result.push_back(values[i]);
    return result;
  }
  int inputs_;
  std::vector<Pair> pairs_;
};

MedianProgram Network::program(const Values& results, int64_t window_y, int64_t window_x) const {
  MedianProgram program{.window_y = window_y, .window_x = window_x, .steps = {}};
  const int count = static_cast<int>(pairs_.size());
  // Columns that are needed of each row after those of the tile, or -1; the step that reads it
  // last.
  std::vector<int> columns(static_cast<size_t>(inputs_ + 2 * count), -1);
  std::vector<int> last_use(columns.size(), -1);
  for (const Value& result : results) columns[static_cast<size_t>(result.id)] = result.shift;
  for (int p = count - 1; p >= 0; --p) {
    const size_t id = static_cast<size_t>(inputs_) + 2 * static_cast<size_t>(p);
    const int needed = std::max(columns[id], columns[id + 1]);
    if (needed < 0) continue;
    for (const Value& from : {pairs_[static_cast<size_t>(p)].a, pairs_[static_cast<size_t>(p)].b}) {
      const auto at = static_cast<size_t>(from.id);
      columns[at] = std::max(columns[at], needed + from.shift);
      last_use[at] = std::max(last_use[at], p);
    }
  }

  std::vector<int> slots(columns.size(), -1), free;
  for (int i = 0; i < inputs_; ++i) slots[static_cast<size_t>(i)] = i;
  for (size_t r = 0; r < results.size(); ++r)
    slots[static_cast<size_t>(results[r].id)] = program.first_result() + static_cast<int>(r);
  program.num_slots = program.first_intermediate();
  const auto slot_of = [&](size_t id) {
    if (columns[id] < 0) return -1;
    if (slots[id] >= 0) return slots[id];
    if (free.empty()) return slots[id] = program.num_slots++;
    slots[id] = free.back();
    free.pop_back();
    return slots[id];
  };
  for (int p = 0; p < count; ++p) {
    const size_t id = static_cast<size_t>(inputs_) + 2 * static_cast<size_t>(p);
    if (columns[id] < 0 && columns[id + 1] < 0) continue;
    const auto& [a, b] = pairs_[static_cast<size_t>(p)];
    const auto row = [&](const Value& value) {
      return MedianRow{slots[static_cast<size_t>(value.id)], value.shift};
    };
    MedianStep step{.a = row(a), .b = row(b)};
    // Results never replace operands of the same step.
    step.smaller = slot_of(id);
    step.larger = slot_of(id + 1);
    step.columns = std::max(columns[id], columns[id + 1]);
    program.steps.push_back(step);
    for (const int used : {a.id, b.id})
      if (last_use[static_cast<size_t>(used)] == p &&
          slots[static_cast<size_t>(used)] >= program.first_intermediate() &&
          (used != b.id || a.id != b.id))
        free.push_back(slots[static_cast<size_t>(used)]);
  }
  return program;
}

Values shifted(Values values, int shift) {
  for (Value& value : values) value.shift += shift;
  return values;
}

// Sorted lists of a number of adjacent columns, made when needed.
class Columns {
 public:
  Columns(Network& network, Values column) : network_(network) { lists_[1] = std::move(column); }
  const Values& operator()(int count) {
    const auto found = lists_.find(count);
    if (found != lists_.end()) return found->second;
    int first = 1;
    while (2 * first < count) first *= 2;
    Values result = network_.merged((*this)(first), shifted((*this)(count - first), first));
    return lists_[count] = std::move(result);
  }

 private:
  Network& network_;
  std::map<int, Values> lists_;
};

// The last two lists hold `first` columns and the rest of them.
MedianProgram make(int64_t window_y, int64_t window_x, int first) {
  const int height = static_cast<int>(window_y), width = static_cast<int>(window_x);
  Network network(height + 1);
  Values common;
  for (int y = 1; y < height; ++y) common.push_back({y, 0});
  common = network.sorted(common);
  Values results;
  const size_t rank = static_cast<size_t>(height * width / 2);
  for (const int other : {0, height}) {
    Columns columns(network, network.merged(common, {{other, 0}}));
    const Values left = columns(first);
    const Values right = first == width ? Values() : shifted(columns(width - first), first);
    results.push_back(network.ranked(left, right, rank));
  }
  return network.program(results, window_y, window_x);
}

int64_t cost(const MedianProgram& program) {
  int64_t sum = 0;
  for (const MedianStep& step : program.steps)
    sum += 3 + (step.smaller >= 0 ? 1 : 0) + (step.larger >= 0 ? 1 : 0);
  return sum;
}

}  // namespace

const MedianProgram& median_program(int64_t window_y, int64_t window_x) {
  static std::mutex mutex;
  static std::map<std::pair<int64_t, int64_t>, std::unique_ptr<const MedianProgram>> programs;
  const std::lock_guard lock(mutex);
  auto& kept = programs[{window_y, window_x}];
  if (kept == nullptr) {
    const int width = static_cast<int>(window_x);
    MedianProgram best = make(window_y, window_x, std::max(1, width / 2));
    for (int first = std::max(1, width / 2) + 1; first <= std::max(1, width - 1); ++first) {
      MedianProgram other = make(window_y, window_x, first);
      if (cost(other) < cost(best)) best = std::move(other);
    }
    kept = std::make_unique<const MedianProgram>(std::move(best));
  }
  return *kept;
}

}  // namespace torchdali::kernels
