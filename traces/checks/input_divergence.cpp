#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "traces/checks/choices.h"
#include "traces/checks/definitions.h"
#include "traces/checks/origin.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

struct Version {
  std::vector<int> processes;
  const CallEvidence* call = nullptr;
};

// What the processes at each open call bring to it, by content.
std::map<CallKey, std::map<std::uint64_t, Version>> versions(const Positions& positions) {
  std::map<CallKey, std::map<std::uint64_t, Version>> by_call;
  for (int p : positions.processes()) {
    const CallEvidence* head = positions.head(p);
    if (!head || head->value_hash == 0) continue;
    Version& version = by_call[key_of(*head)][head->value_hash];
    version.processes.push_back(p);
    if (!version.call) version.call = head;
  }
  return by_call;
}

std::optional<std::size_t> first_difference(const CallEvidence& a, const CallEvidence& b) {
  for (std::size_t i = 0; i < std::min(a.value_head.size(), b.value_head.size()); ++i)
    if (a.value_head[i] != b.value_head[i]) return i;
  return std::nullopt;
}

// An element as it is told: by its index, or where there are several operands by theirs, which it begins with.
struct Element {
  std::string place, value;
};
Element element_at(const CallEvidence& call, std::size_t index) {
  const std::string& text = call.value_head[index];
  std::size_t at = text.find(": ");
  if (at == std::string::npos) return {fmt::format("element {}", index), text};
  return {text.substr(0, at), text.substr(at + 2)};
}

Diagnosis of_versions(const Positions& positions, const std::map<std::uint64_t, Version>& by_value) {
  std::vector<const Version*> sorted;
  for (const auto& [hash, version] : by_value) sorted.push_back(&version);
  std::sort(sorted.begin(), sorted.end(), [](const Version* a, const Version* b) {
    return a->processes.size() != b->processes.size() ? a->processes.size() > b->processes.size() : a->processes[0] < b->processes[0];
  });
  const Version &reference = *sorted[0], &other = *sorted[1];
  Diagnosis diagnosis;
  diagnosis.tie = other.processes.size() == reference.processes.size();
  for (const Version* each : sorted)
    if (each != &reference || diagnosis.tie)
      diagnosis.processes.insert(diagnosis.processes.end(), each->processes.begin(), each->processes.end());
  std::sort(diagnosis.processes.begin(), diagnosis.processes.end());
  std::vector<int> all = positions.participants(*reference.call);
  std::erase_if(all, [&](int p) { return !std::binary_search(positions.processes().begin(), positions.processes().end(), p); });
  diagnosis.participants = sides(positions, diagnosis.processes, all);
  std::optional<std::size_t> index = first_difference(*other.call, *reference.call);
  std::string difference =
      index ? fmt::format(": {} is {} on {} and {} on {}", element_at(*other.call, *index).place, element_at(*other.call, *index).value,
                          processes_text(other.processes), element_at(*reference.call, *index).value, processes_text(reference.processes))
            : fmt::format(" beyond the first {} elements: {} against {}", reference.call->value_head.size(),
                          processes_text(other.processes), processes_text(reference.processes));
  diagnosis.message =
      fmt::format("the processes bring different values to {}{}", call_at(positions.evidence(), *reference.call), difference);
  diagnosis.details.emplace_back("what", reference.call->op);
  add_origin(positions, other.processes.front(), reference.processes.front(), Dispute::kOperands, diagnosis);
  if (index) {
    const bool is_one = element_at(*other.call, *index).place == fmt::format("element {}", *index);
    diagnosis.details.emplace_back("first index", is_one ? std::to_string(*index) : element_at(*other.call, *index).place);
    for (const Version* each : {&other, &reference})
      diagnosis.details.emplace_back(fmt::format("value on {}", processes_text(each->processes)), element_at(*each->call, *index).value);
  }
  return diagnosis;
}

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  for (const auto& [key, by_value] : versions(positions))
    if (by_value.size() > 1) found.push_back(of_versions(positions, by_value));
  if (found.empty()) return diverged_choices(positions);
  return found;
}

}  // namespace

const CheckDef kInputDivergence{
    .code = "input-divergence",
    .severity = "error",
    .summary = "values that must agree over processes do not: `what`, first index, both values",
    .explain =
        "Every process brings this value whole, and each of its devices takes its part of its own process's copy; so the copies must be "
        "equal, or the array would be pieced together from different values without any sign of it. Usual causes are random numbers with "
        "a seed of the process's own, data read in another order, and values that depend on process_index(). Make the value on one process "
        "and broadcast it, or build the array from parts that differ on purpose with make_array_from_process_local_data. Where a loop or a "
        "branch inside jit goes by such a value, the processes part ways in the middle of a launch: its predicate is named, with both "
        "values.",
    .run = run,
};

}  // namespace shardlab
