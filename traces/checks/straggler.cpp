#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

constexpr std::int64_t kToldNs = 100'000'000;  // what a process must cost the others in all
constexpr std::int64_t kShare = 4;             // and that it is at least so large a part (1/kShare) of all that anybody cost

std::vector<Diagnosis> run(const Evidence& evidence) {
  std::int64_t all_ns = 0;
  for (const ProcessEvidence& process : evidence.processes) all_ns += process.late.ns;
  std::vector<Diagnosis> found;
  for (const ProcessEvidence& process : evidence.processes) {
    const LatenessEvidence& late = process.late;
    if (late.ns < kToldNs || late.ns * kShare < all_ns) continue;
    Diagnosis diagnosis{.processes = {process.process}};
    auto side = [&](int p, const char* state) {
      return Participant{.process = p, .op = late.op, .where = late.where, .statement = late.statement, .state = state};
    };
    diagnosis.participants.push_back(side(process.process, "came last"));
    for (int p : late.waiting) diagnosis.participants.push_back(side(p, "waited"));
    diagnosis.message = fmt::format("{} waited {:.3f} s for process {} in all, {:.3f} s of it in {}{}", processes_text(late.waiting),
                                    double(late.ns) / 1e9, process.process, double(late.longest_ns) / 1e9, late.op, where_text(late.where));
    diagnosis.details.emplace_back("waited_ms", fmt::format("{:.3f}", double(late.ns) / 1e6));
    diagnosis.details.emplace_back("longest_ms", fmt::format("{:.3f}", double(late.longest_ns) / 1e6));
    diagnosis.details.emplace_back("calls", std::to_string(late.calls));
    if (late.planned_ns > 0)
      diagnosis.details.emplace_back("planned_ms", fmt::format("{:.3f}, not counted", double(late.planned_ns) / 1e6));
    found.push_back(std::move(diagnosis));
  }
  return found;
}

// What was waited for a process's data although it had come to the calls in time: its link, or its executor, is slow.
std::vector<Diagnosis> slow_links(const Positions& positions) {
  struct Link {
    std::vector<int> waiting;
    std::int64_t ns = 0;
    const StepEvidence* longest = nullptr;
  };
  std::map<int, Link> links;
  for (int p : positions.processes())
    for (const StepEvidence& step : positions.at(p).waited) {
      int peer = int(step.after);
      if (!std::binary_search(positions.processes().begin(), positions.processes().end(), peer)) continue;
      std::int64_t ns = std::atoll(step.value.c_str()) - positions.at(peer).late.ns - positions.at(peer).late.planned_ns;
      if (ns <= 0) continue;
      Link& link = links[peer];
      link.waiting.push_back(p);
      if (ns <= link.ns) continue;
      link.ns = ns;
      link.longest = &step;
    }
  std::vector<Diagnosis> found;
  for (const auto& [peer, link] : links) {
    // All the others wait for it, and it for none as long: else they wait for each other.
    std::int64_t waits_itself = 0;
    for (const StepEvidence& step : positions.at(peer).waited)
      waits_itself = std::max<std::int64_t>(waits_itself, std::atoll(step.value.c_str()));
    bool all_wait = link.waiting.size() + 1 == positions.processes().size();
    if (!all_wait || link.ns < kToldNs || link.ns < 2 * waits_itself) continue;
    const StepEvidence& step = *link.longest;
    auto side = [&](int p, const char* state) {
      return Participant{.process = p, .op = step.what, .where = step.where, .statement = step.statement, .state = state};
    };
    Diagnosis diagnosis{.processes = {peer}, .participants = {side(peer, "sent late")}, .fields = {"link"}};
    for (int p : link.waiting) diagnosis.participants.push_back(side(p, "waited"));
    diagnosis.message =
        fmt::format("{} waited up to {:.3f} s for data of process {}, which had come to the calls in time: its link is slow{}",
                    processes_text(link.waiting), double(link.ns) / 1e9, peer, where_text(step.where));
    diagnosis.details.emplace_back("waited_ms", fmt::format("{:.3f}", double(link.ns) / 1e6));
    found.push_back(std::move(diagnosis));
  }
  return found;
}

std::vector<Diagnosis> run_all(const Evidence& evidence) {
  std::vector<Diagnosis> found = run(evidence);
  for (Diagnosis& each : slow_links(Positions(evidence))) found.push_back(std::move(each));
  return found;
}

}  // namespace

const CheckDef kStraggler{
    .code = "straggler",
    .severity = "info",
    .summary = "who waited how long for whom: one process came later to the calls than all others",
    .explain =
        "Nothing is wrong with this run but its speed: in some calls all processes were there but one, and waited until it came. What is "
        "told is the time from when the last but one came, summed over the run, and the call where it was longest; planning and compiling "
        "first calls does not count. Look at what that "
        "process does alone before the call: reading data, logging, a slower machine, other work on its cores. Where it came in time and "
        "its data did not, `fields` says `link`. It never ends a run.",
    .run = run_all,
};

}  // namespace shardlab
