#include "gui/models/step_counter.h"

#include <algorithm>

namespace shardlab::gui {

StepCounter::StepCounter(std::vector<std::pair<Ns, std::int64_t>> changes) {
  std::sort(changes.begin(), changes.end());
  std::int64_t value = 0;
  for (const auto& [time, change] : changes) {
    value += change;
    if (!times_.empty() && times_.back() == time) {
      values_.back() = value;
    } else {
      times_.push_back(time);
      values_.push_back(value);
    }
  }
  finish();
}

StepCounter StepCounter::most_of(const std::vector<const StepCounter*>& counters) {
  struct Change {
    Ns time;
    std::size_t counter;
    std::int64_t value;
  };
  std::vector<Change> changes;
  for (std::size_t c = 0; c < counters.size(); ++c)
    for (std::size_t i = 0; i < counters[c]->size(); ++i) changes.push_back({counters[c]->times_[i], c, counters[c]->values_[i]});
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  // The leaves are what each counter is now, and every inner node is the most of its two below.
  std::vector<std::int64_t> tree(2 * counters.size(), 0);
  StepCounter result;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::size_t node = counters.size() + changes[i].counter;
    tree[node] = changes[i].value;
    for (node /= 2; node >= 1; node /= 2) tree[node] = std::max(tree[2 * node], tree[2 * node + 1]);
    if (i + 1 < changes.size() && changes[i + 1].time == changes[i].time) continue;
    if (!result.values_.empty() && result.values_.back() == tree[1]) continue;
    result.times_.push_back(changes[i].time);
    result.values_.push_back(tree[1]);
  }
  result.finish();
  return result;
}

void StepCounter::finish() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (i % kBlock == 0) blocks_.push_back(values_[i]);
    blocks_.back() = std::max(blocks_.back(), values_[i]);
    if (values_[i] > most_.value) most_ = {times_[i], values_[i]};
  }
}

std::int64_t StepCounter::at(Ns time) const {
  const auto after = std::upper_bound(times_.begin(), times_.end(), time);
  return after == times_.begin() ? 0 : values_[std::size_t(after - times_.begin()) - 1];
}

StepCounter::Moment StepCounter::most_in(Ns begin, Ns end) const {
  Moment most{begin, at(begin)};
  auto i = std::size_t(std::upper_bound(times_.begin(), times_.end(), begin) - times_.begin());
  const auto last = std::size_t(std::lower_bound(times_.begin(), times_.end(), end) - times_.begin());
  while (i < last) {
    if (i % kBlock == 0 && i + kBlock <= last && blocks_[i / kBlock] <= most.value) {
      i += kBlock;
      continue;
    }
    if (values_[i] > most.value) most = {times_[i], values_[i]};
    ++i;
  }
  return most;
}

}  // namespace shardlab::gui
