#include "traces/checks/alignment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "traces/checks/wording.h"

namespace shardlab {
namespace {

constexpr std::size_t kItemsMax = 256;  // of a track that are aligned

// What an alignment earns or pays.
constexpr double kEqual = 1.0;          // the same call
constexpr double kBegun = 0.7;          // the same, begun by the one and waited in by the other
constexpr double kSameLine = 0.4;       // another program of the same line and op: a consequence
constexpr double kSameOp = -0.5;        // another program of the same op
constexpr double kOtherOp = -1.2;       // another op
constexpr double kLocalForCall = -0.5;  // the same op, on devices of its own
constexpr double kNever = -1e6;
constexpr double kGap = -1.0, kGapMore = -0.3;  // a block that one side has alone: its first call, and each further one
constexpr double kPermuted = -0.9;
constexpr double kUnequalEnds = -0.15;   // one track goes on where the other was cut
constexpr double kBareEnd = -0.8;        // a block at the very end, which nothing that follows supports
constexpr double kAgainstOrder = -0.05;  // a block at whose place the other track is at one before it: most programs go down the page
constexpr double kStepEqual = 0.3, kStepAlike = 0.1, kStepOther = -0.3, kStepGap = -0.1;

double pair_score(const TrackItem& a, const TrackItem& b) {
  if (!a.step && !b.step) {
    if (a.key == b.key) return kEqual;
    if (!a.text.empty() && a.text == b.text) return kBegun;
    if (a.op != b.op) return kOtherOp;
    return a.where == b.where && !a.where.empty() ? kSameLine : kSameOp;
  }
  if (a.step && b.step) {
    if (a.step->kind != b.step->kind || a.op != b.op) return kStepOther;
    if (a.step->kind == StepEvidence::Kind::kRead) return a.where == b.where ? kStepEqual : kStepOther;
    return a.where == b.where && a.key == b.key ? kStepEqual : kStepAlike;
  }
  const StepEvidence* step = a.step ? a.step : b.step;
  return step->kind == StepEvidence::Kind::kLocal && a.op == b.op ? kLocalForCall : kNever;
}

// Whether a place lies before another one of the same file or scenario: "toy.cpp:31", "statement 4 (/program/4)".
bool is_before(std::string_view a, std::string_view b) {
  auto number_at = [](std::string_view where) { return where.starts_with("statement ") ? std::size_t(10) : where.rfind(':') + 1; };
  std::size_t at = number_at(a);
  if (at == 0 || at != number_at(b) || a.substr(0, at) != b.substr(0, at)) return false;
  auto number = [&](std::string_view where) {
    long value = -1;
    std::from_chars(where.data() + at, where.data() + where.size(), value);
    return value;
  };
  return number(a) >= 0 && number(a) < number(b);
}

double gap_score(const TrackItem& item, bool more) { return item.step ? kStepGap : more ? kGapMore : kGap; }

// Scores of aligning the rests of both tracks, by where they begin and what the step before was.
class Table {
 public:
  enum State { kPair, kLacks, kAdds };  // the last step paired two items, left out one of the reference, put in one of the tail

  Table(const Track& tail, const Track& reference)
      : a_(tail),
        b_(reference),
        m_(std::min(tail.items.size(), kItemsMax)),
        n_(std::min(reference.items.size(), kItemsMax)),
        tail_apart_(ends_apart(tail, reference)),
        reference_apart_(ends_apart(reference, tail)) {
    mark_common_steps(tail, reference, a_common_);
    mark_common_steps(reference, tail, b_common_);
    scores_.resize((m_ + 1) * (n_ + 1));
    for (std::size_t i = m_ + 1; i-- > 0;)
      for (std::size_t j = n_ + 1; j-- > 0;)
        for (State state : {kPair, kLacks, kAdds}) scores_[i * (n_ + 1) + j][state] = best(i, j, state).score;
  }

  struct Step {
    double score = 0;
    State state = kPair;
    bool end = false;
  };
  // The best way on from there.
  Step best(std::size_t i, std::size_t j, State state) const {
    Step step = at_end(i, j, state);
    auto offer = [&](double score, State next) {
      if (score > step.score) step = {score, next, false};
    };
    if (i < m_ && j < n_ && may_pair(i, j)) offer(pair_score(a_.items[i], b_.items[j]) + score(i + 1, j + 1, kPair), kPair);
    // A step between the calls of a block does not divide it.
    auto against_order = [&](const TrackItem& other, const TrackItem& alone, State block) {
      return state != block && !alone.step && is_before(other.where, alone.where) ? kAgainstOrder : 0.0;
    };
    bool both = i < m_ && j < n_;
    if (j < n_)
      offer(gap_score(b_.items[j], state == kLacks) + (both ? against_order(a_.items[i], b_.items[j], kLacks) : 0) +
                score(i, j + 1, b_.items[j].step ? state : kLacks),
            kLacks);
    if (i < m_)
      offer(gap_score(a_.items[i], state == kAdds) + (both ? against_order(b_.items[j], a_.items[i], kAdds) : 0) +
                score(i + 1, j, a_.items[i].step ? state : kAdds),
            kAdds);
    return step;
  }
  double score(std::size_t i, std::size_t j, State state) const { return scores_[i * (n_ + 1) + j][state]; }
  const TrackItem& tail(std::size_t i) const { return a_.items[i]; }
  const TrackItem& reference(std::size_t j) const { return b_.items[j]; }
  std::size_t tail_size() const { return m_; }
  std::size_t reference_size() const { return n_; }
  bool tail_apart() const { return tail_apart_; }

 private:
  // Which steps of `track` the other one makes too, at the same line.
  static void mark_common_steps(const Track& track, const Track& other, std::vector<bool>& common) {
    std::set<std::pair<std::string_view, std::string_view>> lines;
    for (const TrackItem& item : other.items)
      if (item.step) lines.insert({item.op, item.where});
    for (const TrackItem& item : track.items) common.push_back(item.step && lines.contains({item.op, item.where}));
  }
  // A step that both make stands in the place of no call.
  bool may_pair(std::size_t i, std::size_t j) const {
    const bool is_step = a_.items[i].step != nullptr, other_is_step = b_.items[j].step != nullptr;
    return is_step == other_is_step || !(is_step ? a_common_[i] : b_common_[j]);
  }

  // The track ends in a read that the other one never comes to: what led to it is nothing that the other does later.
  static bool ends_apart(const Track& track, const Track& other) {
    if (track.items.empty() || !track.items.back().step || track.items.back().step->kind != StepEvidence::Kind::kRead) return false;
    const TrackItem& last = track.items.back();
    return std::none_of(other.items.begin(), other.items.end(),
                        [&](const TrackItem& item) { return item.step && item.op == last.op && item.where == last.where; });
  }

  Step at_end(std::size_t i, std::size_t j, State state) const {
    bool complete = !a_.cut && !b_.cut && m_ == a_.items.size() && n_ == b_.items.size();
    if (i == m_ && j == n_) return {state == kPair || complete ? 0.0 : kBareEnd, kPair, true};
    if (complete || (i < m_ && j < n_)) return {kNever, kPair, true};
    bool supported = state == kPair || (state == kLacks && reference_apart_) || (state == kAdds && tail_apart_);
    return {kUnequalEnds + (supported ? 0.0 : kBareEnd), kPair, true};
  }

  const Track& a_;
  const Track& b_;
  std::size_t m_, n_;
  bool tail_apart_, reference_apart_;
  std::vector<bool> a_common_, b_common_;
  std::vector<std::array<double, 3>> scores_;
};

std::vector<std::size_t> ends_of_calls(const Track& track, std::size_t size) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < size; ++i)
    if (!track.items[i].step) ends.push_back(i + 1);
  return ends;
}

// How the multisets of two growing prefixes compare.
template <typename Key>
class Balance {
 public:
  void add(const Key& key, int by) {
    int& count = counts_[key];
    unequal_ += count == 0;
    count += by;
    unequal_ -= count == 0;
  }
  bool even() const { return unequal_ == 0; }

 private:
  std::map<Key, int> counts_;
  int unequal_ = 0;
};

struct Permutation {
  double score = kNever;
  int length = 0;
};

// The steps between the calls of two growing prefixes: those that both have, in whatever order, and the others.
class CommonSteps {
 public:
  void add(const TrackItem& item, int by) {
    int& count = counts_[{item.key, item.op, item.where}];
    equal_ += (count < 0 && by > 0) || (count > 0 && by < 0);
    count += by;
    ++all_;
  }
  double score() const { return equal_ * kStepEqual + (all_ - 2 * equal_) * kStepGap; }

 private:
  std::map<std::tuple<CallKey, std::string_view, std::string_view>, int> counts_;
  int equal_ = 0, all_ = 0;
};

// The best permutation of the first calls. Calls that an earlier one of them changed are known by op and line, or by op alone.
Permutation best_permutation(const Table& table, const Track& tail, const Track& reference) {
  std::vector<std::size_t> a = ends_of_calls(tail, table.tail_size()), b = ends_of_calls(reference, table.reference_size());
  Balance<CallKey> keys;
  Balance<std::string_view> ops;
  std::map<CallKey, int> seen;
  int equal = 0;
  CommonSteps steps;
  Permutation best;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    const TrackItem &x = tail.items[a[k] - 1], &y = reference.items[b[k] - 1];
    for (std::size_t i = k > 0 ? a[k - 1] : 0; i + 1 < a[k]; ++i) steps.add(tail.items[i], 1);
    for (std::size_t i = k > 0 ? b[k - 1] : 0; i + 1 < b[k]; ++i) steps.add(reference.items[i], -1);
    keys.add(x.key, 1);
    keys.add(y.key, -1);
    ops.add(x.op, 1);
    ops.add(y.op, -1);
    equal += seen[x.key]++ < 0;
    equal += seen[y.key]-- > 0;
    if (k == 0 || !ops.even()) continue;
    // By ops alone, the first two must differ: two calls of one op that differ otherwise are a replacement.
    if (!keys.even() && tail.items[a[0] - 1].op == reference.items[b[0] - 1].op) continue;
    double score = kPermuted + equal * kEqual + (double(k + 1) - equal) * kSameLine + steps.score() + table.score(a[k], b[k], Table::kPair);
    if (score > best.score) best = {score, int(k + 1)};
  }
  return best;
}

// The calls of the block that begins at (i, j).
int block_length(const Table& table, std::size_t i, std::size_t j, Table::State kind) {
  int length = 0;
  Table::State state = Table::kPair;
  while (true) {
    Table::Step step = table.best(i, j, state);
    if (step.end || step.state != kind) return std::max(length, 1);
    const TrackItem& item = kind == Table::kLacks ? table.reference(j) : table.tail(i);
    length += item.step == nullptr;
    (kind == Table::kLacks ? j : i) += 1;
    if (!item.step) state = kind;
  }
}

// Two tracks without a call in common leave open who lacks what. Where the tail begins with calls that nobody has made before and ends in a
// read that the reference never comes to, and the reference goes on with a call that both have made before, as in a loop, the tail has
// calls of its own: it prints under a condition. How many; 0: it is not so, or the tail may have left the loop.
int calls_of_its_own(const Table& table, const Track& tail, const Track& reference) {
  auto first_call = [](const Track& track) {
    return std::find_if(track.items.begin(), track.items.end(), [](const TrackItem& item) { return !item.step; });
  };
  auto mine = first_call(tail), theirs = first_call(reference);
  if (mine == tail.items.end() || theirs == reference.items.end() || !table.tail_apart()) return 0;
  if (mine->made_before || !theirs->made_before || mine->op == theirs->op || is_before(theirs->where, mine->where)) return 0;
  int length = 0;
  for (const TrackItem& item : tail.items) {
    auto is_same = [&](const TrackItem& other) { return !other.step && other.key == item.key && other.where == item.where; };
    if (item.step) continue;
    if (std::any_of(reference.items.begin(), reference.items.end(), is_same)) return 0;
    ++length;
  }
  return length;
}

}  // namespace

Alignment align(const Track& tail, const Track& reference) {
  Table table(tail, reference);
  if (int length = calls_of_its_own(table, tail, reference)) return {Relation::kExtra, length, nullptr};
  Permutation permutation = best_permutation(table, tail, reference);
  if (permutation.score > table.score(0, 0, Table::kPair)) return {Relation::kOrder, permutation.length, nullptr};
  std::size_t i = 0, j = 0;
  Table::State state = Table::kPair;
  while (true) {
    Table::Step step = table.best(i, j, state);
    if (step.end) return {};
    if (step.state == Table::kPair) {
      const TrackItem &a = table.tail(i), &b = table.reference(j);
      bool steps = a.step && b.step;
      if (!steps && !(a.key == b.key && !a.step && !b.step)) return {Relation::kProgram, 1, a.step};
      ++i, ++j;
    } else if (step.state == Table::kLacks) {
      if (!table.reference(j).step) return {Relation::kSkipped, block_length(table, i, j, Table::kLacks), nullptr};
      ++j;
      continue;  // a step leaves the state as it is
    } else {
      if (!table.tail(i).step) return {Relation::kExtra, block_length(table, i, j, Table::kAdds), nullptr};
      ++i;
      continue;
    }
    state = step.state;
  }
}

namespace {

TrackItem item_of(const Positions& positions, const CallEvidence& call) {
  const ProgramEvidence* program = positions.evidence().program(call);
  return {key_of(call), call.op, call.where, nullptr, program ? text_waiting_aside(*program) : std::string_view()};
}
TrackItem item_of(const StepEvidence& step) { return {{step.fingerprint, 0}, step.what, step.where, &step}; }

}  // namespace

Track track(const Positions& positions, int p, int q) {
  const ProcessEvidence& process = positions.at(p);
  const std::vector<const CallEvidence*>& calls = positions.tail(p);
  Track result;
  std::int64_t issued = process.issued - std::int64_t(calls.size());  // those before the tail
  std::size_t next = 0;
  while (next < process.steps.size() && process.steps[next].after < issued) ++next;
  // What was asked tells why, and not what was done.
  auto take_steps = [&] {
    for (; next < process.steps.size() && process.steps[next].after <= issued; ++next)
      if (process.steps[next].kind != StepEvidence::Kind::kObserved) result.items.push_back(item_of(process.steps[next]));
  };
  take_steps();
  bool has_call = false;
  for (const CallEvidence* call : calls) {
    if (positions.includes(*call, q)) {
      result.items.push_back(item_of(positions, *call));
      if (!std::exchange(has_call, true))
        result.items.back().made_before = std::any_of(process.calls.begin(), process.calls.end(), [&](const CallEvidence& earlier) {
          return earlier.matched && key_of(earlier) == key_of(*call);
        });
    }
    ++issued;
    take_steps();
  }
  const ProcessEvidence& other = positions.at(q);
  bool same_read = process.state == ProcessState::kReading && other.state == ProcessState::kReading && process.doing == other.doing &&
                   process.where == other.where;
  result.cut = !same_read && process.state != ProcessState::kLeft;
  return result;
}

}  // namespace shardlab
