// Puts what single processes saw and hold together into one report.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "scenarios/runner/report.h"

namespace shardlab::scenarios {
namespace {

// Distinct boxes cut the array evenly: together they are whole when their elements are as many as the array's.
BufferRef assemble(const TensorType& type, const std::vector<const BoundArray*>& copies) {
  std::vector<const Part*> parts;
  std::int64_t elements = 0;
  for (const BoundArray* copy : copies)
    for (const Part& part : copy->parts) {
      if (std::any_of(parts.begin(), parts.end(), [&](const Part* known) { return known->box == part.box; })) continue;
      parts.push_back(&part);
      elements += element_count(part.box);
    }
  if (elements != type.elements()) return nullptr;
  if (parts.size() == 1) return parts[0]->data;
  auto whole_buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  Box all = whole(type.shape);
  for (const Part* part : parts) copy_box(part->data->data(), part->box, whole_buffer->data(), all, part->box, size_of(type.dtype));
  return whole_buffer;
}

// `holders`: per process that binds the name, in order. An uncommitted array is as the first of them has it; of a placed one all copies
// that lie alike are parts of one value.
ArrayReport array_report(const std::vector<std::pair<int, const BoundArray*>>& holders, std::size_t processes) {
  const BoundArray& first = *holders.front().second;
  ArrayReport report{first.name, first.type, first.spec, first.shards, {}, nullptr};
  std::vector<const BoundArray*> copies;
  for (const auto& [process, array] : holders)
    if (array == &first || (first.committed && array->type == first.type && array->shards == first.shards)) copies.push_back(array);
  report.whole = assemble(first.type, copies);
  if (holders.size() < processes)
    for (const auto& [process, array] : holders) report.bound_on.push_back(process);
  return report;
}

void gather_arrays(Report& report, std::size_t processes, const std::vector<ProcessOutcome>& outcomes) {
  std::map<std::string, std::vector<std::pair<int, const BoundArray*>>> by_name;
  for (const ProcessOutcome& outcome : outcomes)
    for (const BoundArray& array : outcome.arrays) by_name[array.name].emplace_back(outcome.process, &array);
  for (const auto& [name, holders] : by_name) report.arrays.push_back(array_report(holders, processes));
}

// The names that a statement binds.
std::string bound_by(const Document& document, int statement) {
  if (statement < 0 || std::size_t(statement) >= document.program.size()) return "";
  const auto& names = document.program[std::size_t(statement)].let;
  return names.empty() ? "" : names[0];
}

void gather_collectives(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes) {
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::int64_t, int, std::int64_t>> known;
  std::map<std::vector<std::vector<int>>, std::int64_t> ranks;
  for (const ProcessOutcome& outcome : outcomes) {
    report.moved_bytes += outcome.moved_bytes;
    for (const SeenCollective& seen : outcome.collectives) {
      if (!known.insert({seen.device_set, seen.fingerprint, seen.launch_seq, seen.index, seen.run}).second) continue;
      CollectiveReport one{0, seen};
      if (seen.is_transfer) {
        one.seen.array = bound_by(document, seen.statement);
        report.transfers.push_back(std::move(one));
        continue;
      }
      one.seq = ranks[seen.groups]++;
      report.wire_bytes += seen.wire_bytes;
      report.collectives.push_back(std::move(one));
    }
  }
}

}  // namespace

double ArrayReport::flat(std::int64_t index) const {
  return visit_dtype(type.dtype, [&]<typename T>(T) -> double {
    if constexpr (Cplx<T>)
      return double(whole->as<typename T::value_type>()[index]);
    else
      return element_from<double>(whole->as<T>()[index]);
  });
}

double ArrayReport::sum() const {
  double total = 0;
  for (std::int64_t i = 0; i < flat_size(); ++i) total += flat(i);
  return total;
}

double ArrayReport::abs_sum() const {
  double total = 0;
  for (std::int64_t i = 0; i < flat_size(); ++i) total += std::abs(flat(i));
  return total;
}

const ArrayReport* Report::array(std::string_view array_name) const {
  for (const ArrayReport& each : arrays)
    if (each.name == array_name) return &each;
  return nullptr;
}

void gather(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes) {
  // Of a structure one process of each kind tells.
  gather_arrays(report, document.cluster.structure ? outcomes.size() : std::size_t(document.cluster.processes), outcomes);
  gather_collectives(report, document, outcomes);
}

}  // namespace shardlab::scenarios
