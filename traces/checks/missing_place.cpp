#include "traces/checks/missing_place.h"

#include <algorithm>
#include <vector>

namespace shardlab {
namespace {

// In order of issue: what concerns the other one too, without what lies in a channel.
std::vector<const CallEvidence*> calls_with(const Positions& positions, int process, int other, bool matched) {
  std::vector<const CallEvidence*> calls;
  for (const CallEvidence& call : positions.at(process).calls)
    if (call.matched == matched && !call.sent && positions.includes(call, other)) calls.push_back(&call);
  return calls;
}

bool one_line(const CallEvidence& a, const CallEvidence& b) { return a.where == b.where && a.statement == b.statement; }

}  // namespace

MissingPlace missing_place(const Positions& positions, int has, int lacks, int length) {
  std::vector<const CallEvidence*> a = calls_with(positions, has, lacks, true), b = calls_with(positions, lacks, has, true);
  const std::vector<const CallEvidence*> open = calls_with(positions, has, lacks, false);
  const auto block = std::size_t(std::max(length, 1));
  if (open.size() < block) return {};
  // The last matched calls of both are the same ones.
  const std::size_t n = std::min(a.size(), b.size());
  a.erase(a.begin(), a.end() - std::ptrdiff_t(n));
  b.erase(b.begin(), b.end() - std::ptrdiff_t(n));
  a.insert(a.end(), open.begin(), open.begin() + std::ptrdiff_t(block));
  // Without [at, at + block) the calls of the one must be those of the other: the block may be moved over a call like the one behind it.
  int agreed = 0, most = 0;
  std::size_t best = n;
  for (std::size_t at = n; at-- > 0 && key_of(*a[at]) == key_of(*a[at + block]);) {
    agreed += int(one_line(*a[at + block], *b[at])) - int(one_line(*a[at], *b[at]));
    if (agreed <= most) continue;
    most = agreed;
    best = at;
  }
  return best == n ? MissingPlace{} : MissingPlace{a[best], b[best]};
}

}  // namespace shardlab
