#include <fmt/format.h>

#include "traces/checks/definitions.h"
#include "traces/checks/mismatch.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  for (const Disagreement& disagreement : disagreements_of(positions, {Relation::kOrder})) {
    Diagnosis diagnosis = diagnosis_of(positions, disagreement);
    TwoSides two = two_sides(disagreement);
    if (disagreement.tie) {
      diagnosis.message =
          fmt::format("{} {} where {} {}: the same calls in another order", subject(two.guilty->processes, "run"),
                      call_at(evidence, *two.guilty->call), subject(two.others, "run"), call_at(evidence, *two.other->call));
    } else {
      diagnosis.message =
          fmt::format("{} {} before {}, where {} {} first", subject(two.guilty->guilty, "run"), call_at(evidence, *two.guilty->call),
                      call_text(evidence, *two.other->call), subject(two.others, "run"), call_at(evidence, *two.other->call));
    }
    diagnosis.details.emplace_back("calls out of order", std::to_string(two.guilty->alignment.length));
    found.push_back(std::move(diagnosis));
  }
  return found;
}

}  // namespace

const CheckDef kOrderMismatch{
    .code = "order-mismatch",
    .severity = "error",
    .summary = "the processes issue the same calls in another order",
    .explain =
        "Every process that owns a device of a launch must issue the same launches in the same order. Here the processes issue the same "
        "calls, but in different orders: each waits in its own first call for the other, so none can ever go on. Usual causes are "
        "iteration over an unordered container, branches on process_index(), and threads that issue work side by side. Make the order "
        "the same on all processes.",
    .run = run,
};

}  // namespace shardlab
