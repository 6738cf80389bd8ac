#include "traces/checks/disagreement.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardlab {
namespace {

constexpr std::size_t kAlignMax = 2048;  // calls of a tail that are aligned: more than a look-ahead gives

// Do `a` from `i` and `b` from `j` agree as far as both go? `least` calls must be there to compare.
bool agree(const std::vector<CallKey>& a, std::size_t i, const std::vector<CallKey>& b, std::size_t j, std::size_t least) {
  std::size_t n = std::min(a.size() - i, b.size() - j);
  if (n < least) return false;
  return std::equal(a.begin() + std::ptrdiff_t(i), a.begin() + std::ptrdiff_t(i + n), b.begin() + std::ptrdiff_t(j));
}

// The shortest permuted prefix after which both agree, or 0.
std::size_t permuted_prefix(const std::vector<CallKey>& a, const std::vector<CallKey>& b) {
  std::map<CallKey, int> balance;
  std::size_t unbalanced = 0;
  auto change = [&](const CallKey& key, int by) {
    int& count = balance[key];
    if (count == 0) ++unbalanced;
    count += by;
    if (count == 0) --unbalanced;
  };
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    change(a[k], 1);
    change(b[k], -1);
    if (unbalanced == 0 && k > 0 && agree(a, k + 1, b, k + 1, 0)) return k + 1;
  }
  return 0;
}

// The fewest calls at the front of `longer` without which it agrees with `shorter`, or 0.
std::size_t inserted_prefix(const std::vector<CallKey>& longer, const std::vector<CallKey>& shorter) {
  for (std::size_t k = 1; k < longer.size(); ++k)
    if (agree(longer, k, shorter, 0, 1)) return k;
  return 0;
}

std::vector<CallKey> common_calls(const Positions& positions, int p, int q) {
  std::vector<CallKey> keys;
  for (const CallEvidence* call : positions.tail(p)) {
    if (keys.size() == kAlignMax) break;
    if (positions.includes(*call, q)) keys.push_back(key_of(*call));
  }
  return keys;
}

// The pair of processes, one of each side, that contradict each other and have said most.
struct Witnesses {
  int a = -1, b = -1;
};
Witnesses witnesses(const Positions& positions, const Side& a, const Side& b) {
  Witnesses best;
  std::size_t most = 0;
  for (int p : a.processes)
    for (int q : b.processes) {
      if (!positions.contradict(p, q)) continue;
      std::size_t said = std::min(positions.tail(p).size(), positions.tail(q).size());
      if (best.a < 0 || said > most) {
        best = {p, q};
        most = said;
      }
    }
  return best;
}

// Who of a side can speak on a dispute with the other: a call that is only misplaced or missing concerns those alone who take part
// in both; a call in the place of another concerns all who made either.
std::vector<int> voices(const Positions& positions, const Side& side, const Side& other, Relation relation) {
  if (relation == Relation::kProgram) return side.processes;
  std::vector<int> concerned;
  for (int p : side.processes)
    if (positions.includes(*other.call, p)) concerned.push_back(p);
  return concerned;
}

Alignment seen_from_the_other_side(Alignment alignment) {
  if (alignment.relation == Relation::kSkipped) return {Relation::kExtra, alignment.length};
  if (alignment.relation == Relation::kExtra) return {Relation::kSkipped, alignment.length};
  return alignment;
}

void align_with_reference(const Positions& positions, Disagreement& found) {
  Side& reference = found.sides[found.reference];
  for (Side& side : found.sides) {
    if (&side == &reference) continue;
    Witnesses pair = witnesses(positions, side, reference);
    if (pair.a < 0) continue;  // they contradict a third side only
    side.alignment = align(common_calls(positions, pair.a, pair.b), common_calls(positions, pair.b, pair.a));
  }
}

void blame(const Positions& positions, Disagreement& found) {
  auto largest = std::max_element(found.sides.begin(), found.sides.end(),
                                  [](const Side& a, const Side& b) { return a.processes.size() < b.processes.size(); });
  found.reference = std::size_t(largest - found.sides.begin());
  align_with_reference(positions, found);
  Side& reference = found.sides[found.reference];
  auto accuse_reference = [&](const Side& by, std::vector<int> whom) {
    if (reference.guilty.empty()) reference.alignment = seen_from_the_other_side(by.alignment);
    for (int p : whom)
      if (std::find(reference.guilty.begin(), reference.guilty.end(), p) == reference.guilty.end()) reference.guilty.push_back(p);
  };
  for (Side& side : found.sides) {
    if (&side == &reference) continue;
    Relation relation = side.alignment.relation;
    std::vector<int> mine = voices(positions, side, reference, relation), theirs = voices(positions, reference, side, relation);
    bool shifted = relation == Relation::kSkipped || relation == Relation::kExtra;
    // Even, but one's calls are the other's without some: it is the one that is missing there.
    bool lacking_is_known = mine.size() == theirs.size() && shifted && found.sides.size() == 2;
    if (mine.size() < theirs.size() || (lacking_is_known && relation == Relation::kSkipped)) {
      side.guilty = mine;
    } else if (mine.size() > theirs.size() || lacking_is_known) {
      accuse_reference(side, theirs);
    } else {
      found.tie = true;
      side.guilty = mine;
      accuse_reference(side, theirs);
    }
  }
}

}  // namespace

Alignment align(const std::vector<CallKey>& tail, const std::vector<CallKey>& reference) {
  std::size_t permuted = permuted_prefix(tail, reference);
  std::size_t skipped = inserted_prefix(reference, tail);
  std::size_t extra = inserted_prefix(tail, reference);
  bool replaced = !tail.empty() && !reference.empty() && agree(tail, 1, reference, 1, 1);
  // A loop's tail can be read in several ways. The lengths tell, where neither tail is cut short: a permutation and a replacement keep
  // them, a missing call does not.
  bool same_length = tail.size() == reference.size();
  if (permuted && same_length) return {Relation::kOrder, int(permuted)};
  if (replaced && same_length) return {Relation::kProgram, 1};
  if (skipped && reference.size() == tail.size() + skipped) return {Relation::kSkipped, int(skipped)};
  if (extra && tail.size() == reference.size() + extra) return {Relation::kExtra, int(extra)};
  if (permuted) return {Relation::kOrder, int(permuted)};
  if (skipped && (!extra || skipped <= extra)) return {Relation::kSkipped, int(skipped)};
  if (extra) return {Relation::kExtra, int(extra)};
  return {Relation::kProgram, 1};
}

std::vector<int> Disagreement::guilty() const {
  std::vector<int> processes;
  for (const Side& side : sides) processes.insert(processes.end(), side.guilty.begin(), side.guilty.end());
  std::sort(processes.begin(), processes.end());
  return processes;
}

std::vector<int> Disagreement::innocent() const {
  std::vector<int> accused = guilty(), processes;
  for (const Side& side : sides)
    for (int p : side.processes)
      if (!std::binary_search(accused.begin(), accused.end(), p)) processes.push_back(p);
  std::sort(processes.begin(), processes.end());
  return processes;
}

std::vector<Disagreement> disagreements(const Positions& positions) {
  const std::vector<int>& processes = positions.processes();
  std::map<CallKey, std::vector<int>> at_head;
  for (int p : processes)
    if (const CallEvidence* head = positions.head(p)) at_head[key_of(*head)].push_back(p);
  // Heads are linked when a process at one contradicts a process at the other; linked heads are one disagreement.
  std::map<CallKey, std::set<CallKey>> links;
  for (auto a = at_head.begin(); a != at_head.end(); ++a)
    for (auto b = std::next(a); b != at_head.end(); ++b) {
      bool contradict = std::any_of(a->second.begin(), a->second.end(), [&](int p) {
        return std::any_of(b->second.begin(), b->second.end(), [&](int q) { return positions.contradict(p, q); });
      });
      if (!contradict) continue;
      links[a->first].insert(b->first);
      links[b->first].insert(a->first);
    }
  std::vector<Disagreement> found;
  std::set<CallKey> seen;
  for (int p : processes) {
    const CallEvidence* head = positions.head(p);
    if (!head || !links.contains(key_of(*head)) || seen.contains(key_of(*head))) continue;
    Disagreement disagreement;
    std::vector<CallKey> open{key_of(*head)};
    seen.insert(open.front());
    while (!open.empty()) {
      CallKey key = open.back();
      open.pop_back();
      const std::vector<int>& members = at_head[key];
      disagreement.sides.push_back({.key = key, .processes = members, .call = positions.head(members.front())});
      for (const CallKey& next : links[key])
        if (seen.insert(next).second) open.push_back(next);
    }
    std::sort(disagreement.sides.begin(), disagreement.sides.end(),
              [](const Side& a, const Side& b) { return a.processes.front() < b.processes.front(); });
    blame(positions, disagreement);
    found.push_back(std::move(disagreement));
  }
  return found;
}

std::vector<Disagreement> disagreements_of(const Positions& positions, std::vector<Relation> relations) {
  auto wanted = [&](Relation relation) { return std::find(relations.begin(), relations.end(), relation) != relations.end(); };
  std::vector<Disagreement> found;
  for (Disagreement& disagreement : disagreements(positions)) {
    if (disagreement.tie) {
      Relation first = Relation::kExtra;
      for (const Side& side : disagreement.sides)
        if (!side.guilty.empty()) first = std::min(first, side.alignment.relation);
      if (!wanted(first)) continue;
    } else {
      bool any = false;
      for (Side& side : disagreement.sides) {
        if (!wanted(side.alignment.relation)) side.guilty.clear();
        any = any || !side.guilty.empty();
      }
      if (!any) continue;
    }
    found.push_back(std::move(disagreement));
  }
  return found;
}

}  // namespace shardlab
