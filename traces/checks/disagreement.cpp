#include "traces/checks/disagreement.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardlab {
namespace {

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

// Who of two sides that contradict each other is to blame.
void blame(const Positions& positions, Disagreement& found, Side& side, Side& reference) {
  Witnesses pair = witnesses(positions, side, reference);
  side.alignment = align(track(positions, pair.a, pair.b), track(positions, pair.b, pair.a));
  auto accuse_reference = [&](const std::vector<int>& whom) {
    if (reference.guilty.empty()) reference.alignment = seen_from_the_other_side(side.alignment);
    for (int p : whom)
      if (std::find(reference.guilty.begin(), reference.guilty.end(), p) == reference.guilty.end()) reference.guilty.push_back(p);
  };
  Relation relation = side.alignment.relation;
  std::vector<int> mine = voices(positions, side, reference, relation), theirs = voices(positions, reference, side, relation);
  bool shifted = relation == Relation::kSkipped || relation == Relation::kExtra;
  // Even, but one's calls are the other's without some: it is the one that is missing there.
  bool lacking_is_known = mine.size() == theirs.size() && shifted && found.sides.size() == 2;
  if (mine.size() < theirs.size() || (lacking_is_known && relation == Relation::kSkipped)) {
    side.guilty = mine;
  } else if (mine.size() > theirs.size() || lacking_is_known) {
    accuse_reference(theirs);
  } else {
    found.tie = true;
    side.guilty = mine;
    accuse_reference(theirs);
  }
}

void blame(const Positions& positions, Disagreement& found) {
  auto smaller = [](const Side* a, const Side* b) { return a->processes.size() < b->processes.size(); };
  auto contradict = [&](const Side& a, const Side& b) { return &a != &b && witnesses(positions, a, b).a >= 0; };
  std::vector<Side*> sides;
  for (Side& side : found.sides) sides.push_back(&side);
  Side* reference = *std::max_element(sides.begin(), sides.end(), smaller);
  found.reference = std::size_t(reference - found.sides.data());
  for (Side* side : sides)
    if (contradict(*side, *reference)) blame(positions, found, *side, *reference);
  // Those who contradict others than the reference: where these are guilty already, there is nothing more to explain.
  for (Side* side : sides) {
    if (side == reference || contradict(*side, *reference)) continue;
    std::vector<Side*> against;
    for (Side* other : sides)
      if (contradict(*side, *other)) against.push_back(other);
    if (std::any_of(against.begin(), against.end(), [](const Side* other) { return !other->guilty.empty(); })) continue;
    blame(positions, found, *side, **std::max_element(against.begin(), against.end(), smaller));
  }
}

}  // namespace

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
