#include "traces/checks/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "traces/checks/choices.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

using Steps = std::vector<StepEvidence>;

bool same(const StepEvidence& a, const StepEvidence& b) { return a.kind == b.kind && a.what == b.what && a.fingerprint == b.fingerprint; }
bool is_observed(const Steps& steps, std::size_t i) { return i < steps.size() && steps[i].kind == StepEvidence::Kind::kObserved; }

// The first pair of launches of their own that differ, from the earliest place that both still remember. An index beyond the end: that
// process had ended its steps.
std::optional<std::pair<std::size_t, std::size_t>> first_difference(const Steps& a, const Steps& b) {
  if (a.empty() && b.empty()) return std::nullopt;
  std::int64_t from = std::max(a.empty() ? 0 : a.front().after, b.empty() ? 0 : b.front().after);
  // A full memory may begin anywhere between two calls.
  bool whole = (a.empty() || a.front().after == 0) && (b.empty() || b.front().after == 0);
  auto begin = [&](const Steps& steps) {
    std::size_t i = 0;
    while (i < steps.size() && (whole ? steps[i].after < from : steps[i].after <= from)) ++i;
    return i;
  };
  std::size_t i = begin(a), j = begin(b);
  while (true) {
    while (is_observed(a, i) || (i < a.size() && a[i].kind == StepEvidence::Kind::kRead)) ++i;
    while (is_observed(b, j) || (j < b.size() && b[j].kind == StepEvidence::Kind::kRead)) ++j;
    if (i == a.size() && j == b.size()) return std::nullopt;
    if (i == a.size() || j == b.size() || a[i].after != b[j].after || !same(a[i], b[j])) return std::pair(i, j);
    ++i, ++j;
  }
}

Participant participant_of(int process, const StepEvidence& step) {
  Participant side{.process = process, .kind = "local", .op = step.what, .where = step.where, .statement = step.statement};
  side.state = "differs here first";
  return side;
}

std::int64_t matched_together(const Positions& positions, int p) {
  const ProcessEvidence& process = positions.at(p);
  return process.issued - std::int64_t(positions.tail(p).size());
}

}  // namespace

void add_origin(const Positions& positions, int guilty, int other, Diagnosis& diagnosis) {
  const Steps &a = positions.at(guilty).steps, &b = positions.at(other).steps;
  if (auto difference = first_difference(a, b)) {
    auto [i, j] = *difference;
    std::string mine = i < a.size() ? a[i].what + where_text(a[i].where) : "nothing more";
    std::string theirs = j < b.size() ? b[j].what + where_text(b[j].where) : "nothing more";
    diagnosis.details.emplace_back("first difference", fmt::format("process {} runs {}, process {} runs {}", guilty, mine, other, theirs));
    if (i < a.size()) diagnosis.participants.push_back(participant_of(guilty, a[i]));
    if (j < b.size()) diagnosis.participants.push_back(participant_of(other, b[j]));
  }
  std::int64_t agreed = matched_together(positions, guilty);
  for (const StepEvidence& step : a) {
    if (step.kind != StepEvidence::Kind::kObserved || step.after < agreed || is_choice(step)) continue;
    bool differs = std::none_of(b.begin(), b.end(), [&](const StepEvidence& each) { return each.where == step.where && same(each, step); });
    if (differs)
      diagnosis.details.emplace_back("decided by",
                                     fmt::format("{} = {} on process {}{}", step.what, step.value, guilty, where_text(step.where)));
  }
}

}  // namespace shardlab
