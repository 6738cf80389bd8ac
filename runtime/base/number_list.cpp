#include "runtime/base/number_list.h"

#include <fmt/ranges.h>

#include <cstdint>

namespace shardlab {
namespace {

constexpr std::size_t kWholeMax = 64;  // numbers that are told one by one
constexpr std::size_t kRunMin = 3;     // of what is shortened
constexpr std::size_t kRangeMin = 5;   // in messages

// The end of the run that begins at `first`: numbers at one distance.
std::size_t run_end(std::span<const int> numbers, std::size_t first) {
  std::size_t end = first + 1;
  if (end == numbers.size()) return end;
  std::int64_t step = std::int64_t(numbers[end]) - numbers[first];
  while (end < numbers.size() && std::int64_t(numbers[end]) - numbers[end - 1] == step) ++end;
  return end;
}

// By how much `next` is `before` moved on, or nothing where it is not.
bool is_moved(const std::vector<int>& before, const std::vector<int>& next, std::int64_t by) {
  if (before.size() != next.size() || next.empty()) return false;
  for (std::size_t i = 0; i < next.size(); ++i)
    if (std::int64_t(next[i]) - before[i] != by) return false;
  return true;
}

}  // namespace

std::string list_text(std::span<const int> numbers) {
  if (numbers.size() <= kWholeMax) return fmt::format("[{}]", fmt::join(numbers, ","));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = run_end(numbers, i);
    if (end - i < kRunMin) {
      texts.push_back(std::to_string(numbers[i++]));
      continue;
    }
    int step = numbers[i + 1] - numbers[i];
    texts.push_back(step == 1 ? fmt::format("{}..{}", numbers[i], numbers[end - 1])
                              : fmt::format("{}..{} by {}", numbers[i], numbers[end - 1], step));
    i = end;
  }
  return fmt::format("[{}]", fmt::join(texts, ","));
}

std::string lists_text(const std::vector<std::vector<int>>& lists) {
  std::size_t numbers = 0;
  for (const auto& list : lists) numbers += list.size();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lists.size();) {
    texts.push_back(list_text(lists[i]));
    std::size_t end = i + 1;
    if (numbers > kWholeMax && end < lists.size() && !lists[i].empty() && !lists[end].empty()) {
      std::int64_t by = std::int64_t(lists[end][0]) - lists[i][0];
      while (end < lists.size() && is_moved(lists[end - 1], lists[end], by)) ++end;
      if (end - i >= kRunMin) {
        texts.back() += fmt::format(" and {} more, each {} further", end - i - 1, by);
        i = end;
        continue;
      }
    }
    ++i;
  }
  return fmt::format("[{}]", fmt::join(texts, ","));
}

std::string ranges_text(std::span<const int> ascending) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (end - i < kRangeMin) {
      texts.push_back(std::to_string(ascending[i++]));
      continue;
    }
    texts.push_back(fmt::format("{}-{}", ascending[i], ascending[end - 1]));
    i = end;
  }
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) text += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
  return text;
}

}  // namespace shardlab
