#include "traces/checks/disagreement.h"

#include <algorithm>
#include <iterator>
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

// Several sides that have nothing against each other lack the one call of another side: those who make it and those who do not are two
// parties, however the latter stand. Returns whether that is so.
bool blame_as_parties(const Positions& positions, Disagreement& found) {
  if (found.sides.size() < 3) return false;
  for (Side& maker : found.sides) {
    std::size_t lacking = 0;
    bool is_so = true;
    for (Side& side : found.sides) {
      if (&side == &maker) continue;
      Witnesses pair = witnesses(positions, side, maker);
      is_so = is_so && pair.a >= 0 && std::all_of(found.sides.begin(), found.sides.end(), [&](const Side& other) {
                return &other == &maker || &other == &side || witnesses(positions, side, other).a < 0;
              });
      if (!is_so) break;
      side.alignment = align(track(positions, pair.a, pair.b), track(positions, pair.b, pair.a));
      is_so = side.alignment.relation == Relation::kSkipped;
      lacking += voices(positions, side, maker, Relation::kSkipped).size();
    }
    if (!is_so) continue;
    found.reference = std::size_t(&maker - found.sides.data());
    if (lacking > maker.processes.size()) {
      maker.alignment = {Relation::kExtra, found.sides[found.reference == 0 ? 1 : 0].alignment.length};
      maker.guilty = maker.processes;
    } else {
      for (Side& side : found.sides)
        if (&side != &maker) side.guilty = voices(positions, side, maker, Relation::kSkipped);
    }
    return true;
  }
  return false;
}

void blame(const Positions& positions, Disagreement& found) {
  if (blame_as_parties(positions, found)) return;
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

// Those of `processes` that the call needs.
std::vector<int> needed(const Positions& positions, const std::vector<int>& processes, const CallEvidence& call) {
  std::vector<int> result;
  std::copy_if(processes.begin(), processes.end(), std::back_inserter(result), [&](int p) { return positions.includes(call, p); });
  return result;
}

// Which numbers are linked, directly or by way of others.
class Links {
 public:
  void join(const std::vector<int>& numbers) {
    for (int n : numbers) above_[root(n)] = root(numbers.front());
  }
  // Each ascending, by their lowest.
  std::vector<std::vector<int>> classes() {
    std::map<int, std::size_t> index;
    std::vector<std::vector<int>> result;
    for (auto [n, _] : std::map<int, int>(above_)) {
      auto [found, is_new] = index.try_emplace(root(n), result.size());
      if (is_new) result.emplace_back();
      result[found->second].push_back(n);
    }
    return result;
  }

 private:
  int root(int n) {
    int& above = above_.try_emplace(n, n).first->second;
    return above == n ? n : above = root(above);
  }
  std::map<int, int> above_;
};

Disagreement of_sides(const std::vector<Side>& heads, const std::set<int>& which) {
  Disagreement disagreement;
  for (int head : which) disagreement.sides.push_back(heads[std::size_t(head)]);
  std::sort(disagreement.sides.begin(), disagreement.sides.end(),
            [](const Side& a, const Side& b) { return a.processes.front() < b.processes.front(); });
  return disagreement;
}

// Whether those of one head stand there because they left out calls of the others, each of another call: a cause for each of these.
bool came_by_themselves(const Positions& positions, const std::vector<Side>& heads, const std::vector<std::set<int>>& pairs) {
  std::map<int, int> seen;
  for (const std::set<int>& pair : pairs)
    for (int head : pair) ++seen[head];
  return std::all_of(pairs.begin(), pairs.end(), [&](const std::set<int>& pair) {
    if (pair.size() != 2) return false;
    int shared = *pair.begin(), own = *pair.rbegin();
    if (seen[shared] < seen[own]) std::swap(shared, own);
    Witnesses two = witnesses(positions, heads[std::size_t(shared)], heads[std::size_t(own)]);
    return seen[own] == 1 && align(track(positions, two.a, two.b), track(positions, two.b, two.a)).relation == Relation::kSkipped;
  });
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
  std::map<CallKey, std::vector<int>> at_head;
  for (int p : positions.processes())
    if (const CallEvidence* head = positions.head(p)) at_head[key_of(*head)].push_back(p);
  std::vector<Side> heads;
  for (const auto& [key, processes] : at_head)
    heads.push_back({.key = key, .processes = processes, .call = positions.head(processes.front())});
  std::erase_if(heads, [&](const Side& side) { return positions.is_message(*side.call); });
  // Of two heads, those at the one whom the other needs contradict those at the other whom the one needs.
  Links of_heads, of_processes;
  std::map<int, int> head_of;
  for (std::size_t a = 0; a < heads.size(); ++a)
    for (std::size_t b = a + 1; b < heads.size(); ++b) {
      std::vector<int> opposed = needed(positions, heads[a].processes, *heads[b].call);
      std::vector<int> others = needed(positions, heads[b].processes, *heads[a].call);
      if (opposed.empty() || others.empty()) continue;
      for (int p : opposed) head_of[p] = int(a);
      for (int p : others) head_of[p] = int(b);
      opposed.insert(opposed.end(), others.begin(), others.end());
      of_processes.join(opposed);
      of_heads.join({int(a), int(b)});
    }
  // By linked heads, the heads of each of their classes of linked processes.
  std::map<int, std::vector<std::set<int>>> parts;
  std::map<int, int> first_of;
  for (const std::vector<int>& linked : of_heads.classes())
    for (int head : linked) first_of[head] = linked.front();
  for (const std::vector<int>& linked : of_processes.classes()) {
    std::set<int> which;
    for (int p : linked) which.insert(head_of[p]);
    parts[first_of[*which.begin()]].push_back(std::move(which));
  }
  std::vector<Disagreement> found;
  for (const auto& [_, classes] : parts) {
    if (classes.size() > 1 && came_by_themselves(positions, heads, classes)) {
      for (const std::set<int>& which : classes) found.push_back(of_sides(heads, which));
      continue;
    }
    std::set<int> all;
    for (const std::set<int>& which : classes) all.insert(which.begin(), which.end());
    found.push_back(of_sides(heads, all));
  }
  std::sort(found.begin(), found.end(), [](const Disagreement& a, const Disagreement& b) {
    return a.sides.front().processes.front() < b.sides.front().processes.front();
  });
  for (Disagreement& disagreement : found) blame(positions, disagreement);
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
