#include "gui/models/call_sequence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace shardlab::gui {
namespace {

constexpr int kMissingProgram = -2;

using Place = std::pair<std::vector<int>, std::int64_t>;  // devices, rank on them

struct Call {
  Ns first = kOpen;
  std::map<int, int> launch_of;  // process -> index into launches
};

bool spans(const TraceData& trace, const Launch& launch) {
  return launch.program >= 0 && trace.programs[std::size_t(launch.program)].processes.size() > 1;
}

std::map<Place, Call> calls_of(const TraceData& trace) {
  const bool any = std::any_of(trace.launches.begin(), trace.launches.end(), [&](const Launch& l) { return spans(trace, l); });
  std::map<Place, Call> calls;
  for (std::size_t i = 0; i < trace.launches.size(); ++i) {
    const Launch& launch = trace.launches[i];
    if (launch.program < 0 || (any && !spans(trace, launch))) continue;
    Call& call = calls[{trace.programs[std::size_t(launch.program)].devices, launch.seq}];
    call.first = std::min(call.first, launch.issued);
    call.launch_of.try_emplace(launch.process, int(i));
  }
  return calls;
}

// By time, but never against the order on one device set, which the map keeps.
std::vector<std::pair<const Place*, const Call*>> by_time(const std::map<Place, Call>& calls) {
  std::vector<std::pair<const Place*, const Call*>> ordered;
  std::map<const Call*, Ns> times;
  Ns latest = 0;
  for (const auto& [place, call] : calls) {
    const bool same_devices = !ordered.empty() && ordered.back().first->first == place.first;
    times[&call] = latest = same_devices ? std::max(latest, call.first) : call.first;
    ordered.emplace_back(&place, &call);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) { return times.at(a.second) < times.at(b.second); });
  return ordered;
}

// What most of them run; kMissingProgram where two are equally many.
int majority(const std::map<int, std::vector<int>>& processes_by_program) {
  std::size_t most = 0, second = 0;
  int program = kMissingProgram;
  for (const auto& [candidate, processes] : processes_by_program) {
    if (processes.size() > most) {
      second = most;
      most = processes.size();
      program = candidate;
    } else {
      second = std::max(second, processes.size());
    }
  }
  return most == second ? kMissingProgram : program;
}

// Whether there is an order of the columns in which every process has issued its calls.
bool have_one_order(const std::map<int, std::vector<SequenceCell>>& cells_of, std::size_t columns) {
  std::vector<std::vector<int>> next(columns);
  std::vector<int> before(columns, 0);
  bool by_columns = true;
  for (const auto& [process, cells] : cells_of) {
    std::vector<std::pair<int, int>> issued;  // a process's launches lie in the order of issue
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (cells[c].launch >= 0) issued.emplace_back(cells[c].launch, int(c));
    by_columns &= std::is_sorted(issued.begin(), issued.end());
    std::sort(issued.begin(), issued.end());
    for (std::size_t i = 1; i < issued.size(); ++i) {
      next[std::size_t(issued[i - 1].second)].push_back(issued[i].second);
      ++before[std::size_t(issued[i].second)];
    }
  }
  if (by_columns) return true;
  std::vector<int> ready;
  for (std::size_t c = 0; c < columns; ++c)
    if (before[c] == 0) ready.push_back(int(c));
  std::size_t placed = 0;
  for (; placed < ready.size(); ++placed)
    for (const int after : next[std::size_t(ready[placed])])
      if (--before[std::size_t(after)] == 0) ready.push_back(after);
  return placed == columns;
}

}  // namespace

CallSequence make_call_sequence(const TraceData& trace) {
  const auto calls = calls_of(trace);
  const auto ordered = by_time(calls);
  CallSequence sequence;
  std::map<int, std::vector<SequenceCell>> cells_of;
  for (const auto& process : trace.processes) cells_of[process.index];
  for (const auto& [place, call] : ordered) {
    std::set<int> owners;
    for (const int device : place->first)
      if (const Device* row = trace.device(device)) owners.insert(row->process);
    std::map<int, std::vector<int>> by_program;
    for (const int process : owners) {
      const auto launch = call->launch_of.find(process);
      by_program[launch == call->launch_of.end() ? kMissingProgram : trace.launches[std::size_t(launch->second)].program].push_back(
          process);
    }
    SequenceColumn column{.seq = place->second};
    std::map<int, std::vector<int>> issued = by_program;
    issued.erase(kMissingProgram);
    column.program = majority(issued);
    column.divergent = by_program.size() > 1;
    const bool tie = column.program == kMissingProgram;
    if (tie && !issued.empty()) column.program = issued.begin()->first;
    for (auto& [process, cells] : cells_of) {
      SequenceCell cell;
      if (owners.contains(process)) {
        const auto launch = call->launch_of.find(process);
        if (launch == call->launch_of.end()) {
          cell.match = CallMatch::kMissing;
        } else {
          cell.launch = launch->second;
          const bool equal = trace.launches[std::size_t(cell.launch)].program == column.program;
          cell.match = tie ? CallMatch::kTie : equal ? CallMatch::kEqual : CallMatch::kDiffers;
        }
      }
      cells.push_back(cell);
    }
    if (column.divergent && sequence.first_divergence < 0) sequence.first_divergence = int(sequence.columns.size());
    sequence.divergence_count += column.divergent;
    sequence.columns.push_back(column);
  }
  sequence.in_one_order = have_one_order(cells_of, sequence.columns.size());
  // Processes that did the same are one row.
  std::map<std::vector<std::pair<CallMatch, int>>, SequenceRow> rows;
  for (auto& [process, cells] : cells_of) {
    std::vector<std::pair<CallMatch, int>> key;
    for (const auto& cell : cells) key.emplace_back(cell.match, cell.launch < 0 ? -1 : trace.launches[std::size_t(cell.launch)].program);
    SequenceRow& row = rows[key];
    row.processes.push_back(process);
    if (row.cells.empty()) row.cells = std::move(cells);
  }
  for (auto& [key, row] : rows) sequence.rows.push_back(std::move(row));
  std::stable_sort(sequence.rows.begin(), sequence.rows.end(), [](const SequenceRow& a, const SequenceRow& b) {
    return a.processes.size() != b.processes.size() ? a.processes.size() > b.processes.size() : a.processes < b.processes;
  });
  std::map<int, std::vector<int>> columns_of;  // in which most run a program
  for (std::size_t c = 0; c < sequence.columns.size(); ++c) columns_of[sequence.columns[c].program].push_back(int(c));
  for (auto& row : sequence.rows)
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      SequenceCell& cell = row.cells[c];
      if (cell.match != CallMatch::kDiffers) continue;
      const int program = trace.launches[std::size_t(cell.launch)].program;
      // The nearest other column in which most run this.
      const auto& columns = columns_of[program];
      const auto after = std::upper_bound(columns.begin(), columns.end(), int(c));
      auto before = std::lower_bound(columns.begin(), columns.end(), int(c));
      if (after != columns.end()) cell.same_as = *after;
      if (before == columns.begin()) continue;
      --before;
      if (cell.same_as < 0 || int(c) - *before < cell.same_as - int(c)) cell.same_as = *before;
    }
  return sequence;
}

const char* same_words(const CallSequence& sequence) {
  return sequence.in_one_order ? "the same on all processes" : "the same on all processes, but in orders that do not fit together";
}

std::string program_name(const TraceData& trace, int program) {
  return program >= 0 && std::size_t(program) < trace.programs.size() ? trace.programs[std::size_t(program)].name : "(unknown)";
}

std::string describe(const TraceData& trace, const CallSequence& sequence, std::size_t row, std::size_t column) {
  const SequenceRow& who = sequence.rows[row];
  const SequenceCell& cell = who.cells[column];
  const std::string processes = fmt::format("process{} {}", who.processes.size() == 1 ? "" : "es", fmt::join(who.processes, ", "));
  const bool one = who.processes.size() == 1;
  if (cell.match == CallMatch::kOutside) return fmt::format("{} {} no device of this call", processes, one ? "owns" : "own");
  if (cell.match == CallMatch::kMissing) return fmt::format("{} never came to call {}", processes, sequence.columns[column].seq);
  const Launch& launch = trace.launches[std::size_t(cell.launch)];
  const Program& program = trace.programs[std::size_t(launch.program)];
  std::string text = fmt::format("{} {} {} at {}", processes, one ? "runs" : "run", program.name, trace.site_text(launch.site));
  std::vector<std::string> operands;
  for (const auto& value : program.operands)
    operands.push_back(fmt::format("{}[{}] {}", value.dtype, fmt::join(value.shape, ","), value.sharding));
  if (!operands.empty()) text += fmt::format(" on {}", fmt::join(operands, ", "));
  if (cell.match == CallMatch::kDiffers)
    text += cell.same_as >= 0 ? fmt::format("; most run that as call {}", sequence.columns[std::size_t(cell.same_as)].seq)
                              : fmt::format("; most run {} here", program_name(trace, sequence.columns[column].program));
  return text;
}

}  // namespace shardlab::gui
