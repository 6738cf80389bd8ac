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

std::vector<OutlineStep> steps_of(std::string_view outline, int operands) {
  using Kind = OutlineStep::Kind;
  std::vector<OutlineStep> steps;
  int values = operands;
  for (std::string_view text : parts_of(outline, ' ')) {
    OutlineStep step;
    const int there = values;
    const std::size_t equals = text.find('=');
    if (text == "~") {
      step.kind = Kind::kCarried;
    } else if (equals != std::string_view::npos) {
      step.kind = Kind::kLoopEnd;
    } else if (text.starts_with('-')) {
      step.kind = Kind::kMeetLater;
      text.remove_prefix(1);
    }
    step.made = step.kind == Kind::kLoopEnd ? number_in(text.substr(0, equals)) : values++;
    if (step.kind == Kind::kLoopEnd) text.remove_prefix(equals + 1);
    if (step.kind != Kind::kCarried)
      for (std::string_view value : parts_of(text, ',')) step.from.push_back(number_in(value));
    for (int value : step.from) SL_CHECK(value >= 0 && value < there, "an outline uses value {} of {}", value, there);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace shardlab::spmd
