#include "scenarios/runner/replicas.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "runtime/base/text.h"
#include "traces/checks/check_def.h"
#include "traces/checks/definitions.h"
#include "traces/checks/wording.h"

namespace shardlab::scenarios {
namespace {

// The copies of one box of one array that are equal to the last bit.
struct Version {
  std::vector<int> processes, devices;
  const Part* part = nullptr;
};

struct Drift {
  std::string array;
  TensorType type;
  std::vector<Version> versions;  // the most frequent first
};

bool is_equal(const Buffer& a, const Buffer& b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0; }

void add(std::vector<Version>& versions, int process, const Part& part) {
  auto same = std::find_if(versions.begin(), versions.end(), [&](const Version& each) { return is_equal(*each.part->data, *part.data); });
  if (same == versions.end()) same = versions.insert(versions.end(), Version{{}, {}, &part});
  if (same->processes.empty() || same->processes.back() != process) same->processes.push_back(process);
  if (part.device >= 0) same->devices.push_back(part.device);
}

std::vector<Drift> drifts_of(const std::string& name, const std::vector<std::pair<int, const BoundArray*>>& holders) {
  const BoundArray& first = *holders.front().second;
  std::vector<std::pair<Box, std::vector<Version>>> boxes;
  for (const auto& [process, array] : holders) {
    if (!array->committed || array->type != first.type || array->shards != first.shards) continue;
    for (const Part& part : array->parts) {
      auto found = std::find_if(boxes.begin(), boxes.end(), [&](const auto& each) { return each.first == part.box; });
      if (found == boxes.end()) found = boxes.insert(boxes.end(), {part.box, {}});
      add(found->second, process, part);
    }
  }
  std::vector<Drift> drifts;
  for (auto& [box, versions] : boxes) {
    if (versions.size() < 2) continue;
    std::stable_sort(versions.begin(), versions.end(),
                     [](const Version& a, const Version& b) { return a.processes.size() > b.processes.size(); });
    drifts.push_back({name, first.type, std::move(versions)});
  }
  return drifts;
}

std::string element_text(const Part& part, DType dtype, std::int64_t index) {
  return visit_dtype(dtype, [&]<typename T>(T) -> std::string {
    if constexpr (Cplx<T>)
      return fmt::format("{}+{}j", part.data->as<T>()[index].real(), part.data->as<T>()[index].imag());
    else
      return shortest(element_from<double>(part.data->as<T>()[index]));
  });
}

// The first element that differs: its number in the part, and both values.
std::tuple<std::int64_t, std::string, std::string> first_difference(const Version& a, const Version& b, DType dtype) {
  std::size_t item = std::size_t(size_of(dtype)), count = a.part->data->size() / item;
  for (std::size_t i = 0; i < count; ++i)
    if (std::memcmp(a.part->data->data() + i * item, b.part->data->data() + i * item, item) != 0)
      return {std::int64_t(i), element_text(*a.part, dtype, std::int64_t(i)), element_text(*b.part, dtype, std::int64_t(i))};
  return {-1, "", ""};
}

// Its row-major place in the whole array.
std::int64_t flat_index(const Box& box, const Shape& shape, std::int64_t index) {
  Shape part = shape_of(box);
  std::int64_t flat = 0, stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    flat += (box[d].start + index % part[d]) * stride;
    index /= part[d];
    stride *= shape[d];
  }
  return flat;
}

std::vector<int> guilty_of(const Drift& drift, bool& tie) {
  tie = drift.versions[0].processes.size() == drift.versions[1].processes.size();
  std::vector<int> guilty;
  for (std::size_t i = tie ? 0 : 1; i < drift.versions.size(); ++i)
    guilty.insert(guilty.end(), drift.versions[i].processes.begin(), drift.versions[i].processes.end());
  std::sort(guilty.begin(), guilty.end());
  guilty.erase(std::unique(guilty.begin(), guilty.end()), guilty.end());
  return guilty;
}

int bound_at(const Document& document, const std::string& name) {
  for (std::size_t i = document.program.size(); i-- > 0;) {
    const auto& names = document.program[i].let;
    if (std::find(names.begin(), names.end(), name) != names.end()) return int(i);
  }
  return -1;
}

Diagnosis diagnosis_of(const Document& document, const std::vector<const Drift*>& drifts, std::vector<int> guilty, bool tie) {
  // The array that was made first is the cause of the others.
  const Drift* first = *std::min_element(drifts.begin(), drifts.end(), [&](const Drift* a, const Drift* b) {
    return bound_at(document, a->array) < bound_at(document, b->array);
  });
  const Version &reference = first->versions[0], &other = first->versions[1];
  auto [index, wrong, right] = first_difference(other, reference, first->type.dtype);
  std::int64_t flat = flat_index(other.part->box, first->type.shape, index);
  Diagnosis diagnosis{.code = std::string(kInputDivergence.code),
                      .severity = std::string(kInputDivergence.severity),
                      .explain =
                          "Several devices hold this part of the array, so all copies must be equal to the last bit, and at the end of "
                          "the run they were not. What computed with the wrong copy is wrong too, without any other sign. Memory or a "
                          "link may be faulty, or the copies were made from values that differ."};
  diagnosis.processes = std::move(guilty);
  diagnosis.tie = tie;
  auto on = [](const Version& version) {
    return version.devices.empty() ? processes_text(version.processes)
                                   : fmt::format("{} (device {})", processes_text(version.processes), fmt::join(version.devices, ", "));
  };
  diagnosis.message = fmt::format("the replicas of {} drift: element {} is {} on {} and {} on {}", first->array, flat, wrong, on(other),
                                  right, on(reference));
  std::vector<std::string> names;
  for (const Drift* each : drifts)
    if (std::find(names.begin(), names.end(), each->array) == names.end()) names.push_back(each->array);
  diagnosis.details = {{"what", fmt::format("replicas of {}", fmt::join(names, ", "))},
                       {"first index", std::to_string(flat)},
                       {fmt::format("value on {}", processes_text(other.processes)), wrong},
                       {fmt::format("value on {}", processes_text(reference.processes)), right}};
  int statement = bound_at(document, first->array);
  std::string where = statement < 0 ? "" : document.program[std::size_t(statement)].pointer;
  for (const Version* version : {&other, &reference})
    for (int p : version->processes)
      diagnosis.participants.push_back({.process = p, .op = first->array, .where = where, .statement = statement, .state = "left"});
  return diagnosis;
}

}  // namespace

std::vector<Diagnosis> replica_drift(const Document& document, const std::vector<ProcessOutcome>& outcomes) {
  std::map<std::string, std::vector<std::pair<int, const BoundArray*>>> by_name;
  for (const ProcessOutcome& outcome : outcomes)
    for (const BoundArray& array : outcome.arrays) by_name[array.name].emplace_back(outcome.process, &array);
  std::vector<Drift> drifts;
  for (const auto& [name, holders] : by_name)
    for (Drift& each : drifts_of(name, holders)) drifts.push_back(std::move(each));
  std::map<std::pair<std::vector<int>, bool>, std::vector<const Drift*>> by_guilty;
  for (const Drift& each : drifts) {
    bool tie = false;
    std::vector<int> guilty = guilty_of(each, tie);
    by_guilty[{guilty, tie}].push_back(&each);
  }
  std::vector<Diagnosis> found;
  for (const auto& [key, each] : by_guilty) found.push_back(diagnosis_of(document, each, key.first, key.second));
  return found;
}

std::vector<std::string> undetectable_corruptions(const Document& document, const std::vector<ProcessOutcome>& outcomes,
                                                  const std::vector<Diagnosis>& drift) {
  std::vector<std::string> notes;
  for (const Fault& fault : document.faults) {
    if (fault.kind != FaultKind::kCorrupt) continue;
    for (int process : fault.processes) {
      const BoundArray* array = nullptr;
      for (const ProcessOutcome& outcome : outcomes)
        for (const BoundArray& each : outcome.arrays)
          if (outcome.process == process && each.name == fault.array) array = &each;
      if (array == nullptr) {
        notes.push_back(
            fmt::format("undetectable: {} is not bound at the end, so the copies of its corrupted shard cannot be compared", fault.array));
        continue;
      }
      int device = fault.device.value_or(process * document.cluster.devices);
      const Box* box = nullptr;
      for (const auto& [ordinal, each] : array->shards)
        if (ordinal == device) box = &each;
      auto holds = [&](const auto& shard) { return box != nullptr && shard.first != device && shard.second == *box; };
      if (std::none_of(array->shards.begin(), array->shards.end(), holds))
        notes.push_back(
            fmt::format("undetectable: the corrupted shard of {} on device {} has no replica, so nothing can be compared with it",
                        fault.array, device));
      else if (drift.empty())
        notes.push_back(
            fmt::format("undetectable: the copies of {} agree at the end, since it was bound again after the damage", fault.array));
    }
  }
  return notes;
}

}  // namespace shardlab::scenarios
