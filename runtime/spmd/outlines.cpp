#include "runtime/spmd/outlines.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/error.h"

namespace shardlab::spmd {
namespace {

struct NamedOutline {
  std::string_view op, steps;
};
constexpr NamedOutline kOutlines[] = {
#include "runtime/spmd/outlines.inc"
};
static_assert(std::is_sorted(std::begin(kOutlines), std::end(kOutlines), [](const auto& a, const auto& b) { return a.op < b.op; }));

int number_in(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  SL_CHECK(error == std::errc() && end == text.data() + text.size(), "'{}' is no value of an outline", text);
  return number;
}

// The parts of a text between separators.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

std::string_view outline_of(std::string_view op, bool of_integers) {
  const auto* found = std::lower_bound(std::begin(kOutlines), std::end(kOutlines), op,
                                       [](const NamedOutline& each, std::string_view name) { return each.op < name; });
  auto is_of_integers = [&](const NamedOutline& each) { return each.op.starts_with(op) && each.op.substr(op.size()) == " of integers"; };
  if (of_integers)  // stands behind that of floats, where there is one
    for (const auto* each = found; each != std::end(kOutlines) && each < found + 2; ++each)
      if (is_of_integers(*each)) return each->steps;
  return found != std::end(kOutlines) && found->op == op ? found->steps : std::string_view();
}

Outline read_outline(std::string_view text, int operands) {
  using Kind = OutlineStep::Kind;
  Outline outline;
  int values = operands, result = -1;
  if (const std::size_t mark = text.find(" >"); mark != std::string_view::npos) {
    result = number_in(text.substr(mark + 2));
    text = text.substr(0, mark);
  }
  for (std::string_view word : parts_of(text, ' ')) {
    OutlineStep step;
    const int there = values;
    const std::size_t equals = word.find('=');
    if (word == "~") {
      step.kind = Kind::kCarried;
    } else if (equals != std::string_view::npos) {
      step.kind = Kind::kLoopEnd;
    } else if (word.starts_with('-')) {
      step.kind = Kind::kMeetLater;
      word.remove_prefix(1);
    }
    step.made = step.kind == Kind::kLoopEnd ? number_in(word.substr(0, equals)) : values++;
    if (step.kind == Kind::kLoopEnd) word.remove_prefix(equals + 1);
    if (step.kind != Kind::kCarried)
      for (std::string_view value : parts_of(word, ',')) step.from.push_back(number_in(value));
    for (int value : step.from) SL_CHECK(value >= 0 && value < there, "an outline uses value {} of {}", value, there);
    outline.steps.push_back(std::move(step));
  }
  outline.result = result < 0 ? outline.steps.back().made : result;
  SL_CHECK(outline.result < values, "the result of an outline is value {} of {}", outline.result, values);
  return outline;
}

}  // namespace shardlab::spmd
