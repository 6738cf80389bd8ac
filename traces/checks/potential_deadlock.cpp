#include <fmt/format.h>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  for (const Alternative& alternative : evidence.alternatives) {
    Diagnosis diagnosis{.processes = alternative.processes, .tie = true};
    diagnosis.participants = sides(positions, alternative.processes, {});
    diagnosis.message =
        fmt::format("this run ended, but under {} it would not: {}: {}", alternative.under, alternative.code, alternative.message);
    diagnosis.details.emplace_back("under", alternative.under);
    diagnosis.details.emplace_back("verdict there", alternative.code);
    if (!alternative.details.empty()) diagnosis.details.emplace_back("schedule", alternative.details);
    found.push_back(std::move(diagnosis));
  }
  return found;
}

}  // namespace

const CheckDef kPotentialDeadlock{
    .code = "potential-deadlock",
    .severity = "warning",
    .summary = "this run ended, another legal schedule or send buffering would not",
    .explain =
        "Nothing went wrong this time, and that was luck. Either sends were over before anybody received them, which a transport need not "
        "offer (large messages, another network), or two threads of a process issue calls on the same devices and nothing fixes their "
        "order. Receive before sending on one side, or let one thread issue what others wait for.",
    .run = run,
};

}  // namespace shardlab
