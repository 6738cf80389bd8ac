#include "traces/checks/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "traces/checks/choices.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

using Steps = std::vector<const StepEvidence*>;

bool same(const StepEvidence& a, const StepEvidence& b) { return a.kind == b.kind && a.what == b.what && a.fingerprint == b.fingerprint; }

// The launches of a process's own, and how many calls it had issued when the last one was agreed on.
struct Own {
  const ProcessEvidence* process = nullptr;
  Steps before, since;  // that call
  std::int64_t agreed = 0;
  bool ended = false;
  bool is_at_dispute(const StepEvidence& step) const { return step.after == agreed; }  // and not past its next call
};

Own own_steps(const Positions& positions, int p) {
  const ProcessEvidence& process = positions.at(p);
  Own own{.process = &process, .agreed = process.issued - std::int64_t(positions.tail(p).size()), .ended = positions.ended(p)};
  for (const StepEvidence& step : process.steps)
    if (step.kind == StepEvidence::Kind::kLocal) (step.after < own.agreed ? own.before : own.since).push_back(&step);
  return own;
}

// A stretch [begin, end) of both in which they differ; after it they go on alike, or have no more steps.
struct Stretch {
  std::size_t a = 0, a_end = 0, b = 0, b_end = 0;
  bool empty() const { return a == a_end && b == b_end; }
};

// What is left between the steps of a longest common subsequence.
std::vector<Stretch> differing(const Steps& a, const Steps& b) {
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] = same(*a[i], *b[j]) ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::vector<Stretch> found;
  Stretch now;
  while (now.a_end < a.size() || now.b_end < b.size()) {
    std::size_t i = now.a_end, j = now.b_end;
    if (i < a.size() && j < b.size() && same(*a[i], *b[j])) {
      if (!now.empty()) found.push_back(now);
      now = {i + 1, i + 1, j + 1, j + 1};
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      ++now.a_end;
    } else {
      ++now.b_end;
    }
  }
  if (!now.empty()) found.push_back(now);
  return found;
}

// A process that remembers as much as it may has forgotten what was earlier, and may remember a part of what lies between two calls.
bool is_full(const Own& own) { return own.process->steps.size() >= kStepsRemembered; }

// What only one of the two remembers whole is left out.
void leave_out_what_one_forgot(Own& a, Own& b) {
  for (const Own* full : {&a, &b}) {
    if (!is_full(*full)) continue;
    const std::int64_t from = full->process->steps.front().after;
    for (Own* own : {&a, &b}) std::erase_if(own->before, [&](const StepEvidence* step) { return step->after <= from; });
  }
}

class Origin {
 public:
  Origin(const Positions& positions, int guilty, int other, Dispute dispute)
      : a_(own_steps(positions, guilty)), b_(own_steps(positions, other)), dispute_(dispute) {
    leave_out_what_one_forgot(a_, b_);
    if (dispute == Dispute::kOperands)  // both have come to one place: what lies before it is known whole
      for (Own* own : {&a_, &b_}) std::erase_if(own->since, [&](const StepEvidence* step) { return !own->is_at_dispute(*step); });
    before_ = differing(a_.before, b_.before);
    since_ = differing(a_.since, b_.since);
    for (const Stretch& each : before_) {
      for (std::size_t i = each.a; i < each.a_end; ++i) used_to_a_.insert(line_of(*a_.before[i]));
      for (std::size_t j = each.b; j < each.b_end; ++j) used_to_b_.insert(line_of(*b_.before[j]));
    }
    std::erase_if(since_, [&](const Stretch& each) { return !is_on_the_way(each) || is_usual(each); });
  }

  // The first that leads to the disagreement.
  std::optional<Stretch> leading() const {
    if (since_.empty()) return std::nullopt;
    if (dispute_ == Dispute::kOperands) return since_.front();
    auto found = std::find_if(since_.begin(), since_.end(), [&](const Stretch& each) { return holds_the_call(each); });
    return found == since_.end() ? std::nullopt : std::optional(*found);
  }

  void tell(Diagnosis& diagnosis) const {
    if (auto stretch = leading()) {
      diagnosis.details.emplace_back("first difference", text_of(sides(*stretch, a_.since, b_.since)));
      add_sides(sides(*stretch, a_.since, b_.since), "differs here first", diagnosis);
    } else if (!since_.empty()) {
      diagnosis.details.emplace_back("own work",
                                     text_of(sides(since_.front(), a_.since, b_.since)) +
                                         "; after it both go on alike, so it is no cause unless the program decided by its values");
    } else if (!before_.empty()) {
      const Sides steps = sides(before_.front(), a_.before, b_.before);
      diagnosis.details.emplace_back("own work",
                                     text_of(steps) + "; both agreed on calls after it, so it is no cause unless its values are used here");
      if (dispute_ == Dispute::kOperands) add_sides(steps, "differed here before", diagnosis);
    }
  }

 private:
  using Line = std::pair<std::string_view, std::string_view>;
  static Line line_of(const StepEvidence& step) { return {step.what, step.where}; }
  using Sides = std::pair<const StepEvidence*, const StepEvidence*>;  // null where one has none there
  static Sides sides(const Stretch& each, const Steps& a, const Steps& b) {
    return {each.a < each.a_end ? a[each.a] : nullptr, each.b < each.b_end ? b[each.b] : nullptr};
  }

  // It begins before the disputed call of one of them; and it is known that the other one does not do the same earlier or later.
  bool is_on_the_way(const Stretch& each) const {
    auto is_forgotten = [](const Own& own, std::size_t begin) {
      return begin == 0 && is_full(own) && own.process->steps.front().after >= own.agreed;
    };
    if (is_forgotten(a_, each.a) || is_forgotten(b_, each.b)) return false;
    if (dispute_ == Dispute::kOperands) return true;
    bool begins =
        (each.a < each.a_end && a_.is_at_dispute(*a_.since[each.a])) || (each.b < each.b_end && b_.is_at_dispute(*b_.since[each.b]));
    bool a_may_follow = each.a == each.a_end && each.a == a_.since.size() && !a_.ended;
    bool b_may_follow = each.b == each.b_end && each.b == b_.since.size() && !b_.ended;
    return begins && !a_may_follow && !b_may_follow;
  }

  // They have differed in the same lines before, and agreed on calls afterwards.
  bool is_usual(const Stretch& each) const {
    for (std::size_t i = each.a; i < each.a_end; ++i)
      if (!used_to_a_.contains(line_of(*a_.since[i]))) return false;
    for (std::size_t j = each.b; j < each.b_end; ++j)
      if (!used_to_b_.contains(line_of(*b_.since[j]))) return false;
    return true;
  }

  // One of them comes to the disputed call within the stretch, or it is where both were seen last.
  bool holds_the_call(const Stretch& each) const {
    auto comes_to_it = [](const Own& own, std::size_t begin, std::size_t end) {
      bool before = begin == 0 || own.is_at_dispute(*own.since[begin - 1]);
      return before && (end == own.since.size() || !own.is_at_dispute(*own.since[end]));
    };
    return comes_to_it(a_, each.a, each.a_end) || comes_to_it(b_, each.b, each.b_end);
  }

  std::string text_of(const Sides& steps) const {
    auto text = [](const StepEvidence* step) { return step ? step->what + where_text(step->where) : "nothing there"; };
    return fmt::format("process {} runs {}, process {} runs {}", a_.process->process, text(steps.first), b_.process->process,
                       text(steps.second));
  }

  void add_sides(const Sides& steps, const char* state, Diagnosis& diagnosis) const {
    auto add = [&](const Own& own, const StepEvidence* step) {
      if (!step) return;
      diagnosis.participants.push_back({.process = own.process->process,
                                        .kind = "local",
                                        .op = step->what,
                                        .where = step->where,
                                        .statement = step->statement,
                                        .state = state});
    };
    add(a_, steps.first);
    add(b_, steps.second);
  }

  Own a_, b_;
  Dispute dispute_;
  std::vector<Stretch> before_, since_;
  std::set<Line> used_to_a_, used_to_b_;
};

// What the guilty process has seen since the last call that was agreed on, and the other one never, or otherwise: at most so many lines,
// the last ones.
void add_observed(const Positions& positions, int guilty, int other, Diagnosis& diagnosis) {
  constexpr std::size_t kLinesTold = 4;
  const ProcessEvidence &a = positions.at(guilty), &b = positions.at(other);
  const std::int64_t agreed = a.issued - std::int64_t(positions.tail(guilty).size());
  std::vector<const StepEvidence*> seen;
  for (const StepEvidence& step : a.steps) {
    if (step.kind != StepEvidence::Kind::kObserved || step.after < agreed || is_choice(step)) continue;
    auto at_its_line = [&](const StepEvidence& each) { return each.where == step.where && each.what == step.what; };
    std::erase_if(seen, [&](const StepEvidence* each) { return at_its_line(*each); });
    if (std::none_of(b.steps.begin(), b.steps.end(), [&](const StepEvidence& each) { return at_its_line(each) && same(each, step); }))
      seen.push_back(&step);
  }
  if (seen.size() > kLinesTold) seen.erase(seen.begin(), seen.end() - kLinesTold);
  for (const StepEvidence* step : seen) {
    auto theirs = std::find_if(b.steps.rbegin(), b.steps.rend(), [&](const StepEvidence& each) {
      return each.kind == step->kind && each.where == step->where && each.what == step->what;
    });
    std::string text = fmt::format("{} = {} on process {}", step->what, step->value, guilty);
    if (theirs != b.steps.rend()) text += fmt::format(", {} on process {}", theirs->value, other);
    diagnosis.details.emplace_back(kMayHaveDecided, text + where_text(step->where));
  }
}

}  // namespace

void add_origin(const Positions& positions, int guilty, int other, Dispute dispute, Diagnosis& diagnosis) {
  Origin(positions, guilty, other, dispute).tell(diagnosis);
  add_observed(positions, guilty, other, diagnosis);
}

}  // namespace shardlab
