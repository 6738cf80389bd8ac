#include "traces/report_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "runtime/base/where.h"
#include "traces/checks/wording.h"
#include "traces/schema.h"

namespace shardlab::traces {
namespace {

bool ended_badly(const ProcessRow& process) {
  return process.signal != 0 || process.exit_code != 0 || process.state == ProcessState::kKilled ||
         process.state == ProcessState::kRaised || process.state == ProcessState::kExited;
}

std::string axes_text(std::string_view json) { return fmt::format("{}", fmt::join(parse_text_list(json), ",")); }

SlowCollective slow_collective(const CollectiveRow& row, std::int64_t times, const TraceReader& reader) {
  SlowCollective slow{.id = row.id,
                      .kind = std::string(row.what.kind),
                      .axes = axes_text(row.what.axes),
                      .op = std::string(row.what.op),
                      .place = reader.site(row.what.site).text(),
                      .seq = row.seq,
                      .bytes = row.what.bytes,
                      .times = times,
                      .duration_ns = row.last_ns - row.first_ns};
  Ns first = kNoTime, last = kNoTime;
  for (const auto& member : row.members) {
    if (member.start_ns == kNoTime) continue;
    first = first == kNoTime ? member.start_ns : std::min(first, member.start_ns);
    if (member.start_ns > last) last = member.start_ns, slow.last_process = member.process;
  }
  slow.spread_ns = last - first;
  return slow;
}

void add_collectives(TraceReader& reader, ReportData& data) {
  std::map<std::pair<std::string, std::string>, CollectiveSum> sums;
  const auto rows = reader.collectives();
  std::map<std::tuple<std::string_view, std::string_view, Id, std::int64_t>, std::pair<const CollectiveRow*, std::int64_t>> places;
  for (const auto& row : rows) {
    const bool transfer = row.what.kind == "transfer";
    std::string axes = axes_text(row.what.axes);
    auto& sum = sums[{std::string(row.what.kind), axes}];
    sum.kind = row.what.kind;
    sum.axes = std::move(axes);
    ++sum.count;
    sum.bytes += row.what.bytes;
    sum.wire_bytes += row.what.wire_bytes;
    for (const auto& member : row.members) sum.moved_bytes += member.moved_bytes;
    data.unmatched += row.state != MatchState::kMatched;
    if (!transfer) ++data.collectives, data.wire_bytes += row.what.wire_bytes;
    if (row.last_ns == kNoTime || row.first_ns == kNoTime) {
      ++sum.unfinished;
      ++data.unfinished;
      continue;
    }
    sum.total_ns += row.last_ns - row.first_ns;
    sum.slowest_ns = std::max(sum.slowest_ns, row.last_ns - row.first_ns);
    if (transfer) continue;
    auto& [slowest, times] = places.try_emplace({row.what.kind, row.what.op, row.what.site, row.what.bytes}, &row, 0).first->second;
    if (row.last_ns - row.first_ns > slowest->last_ns - slowest->first_ns) slowest = &row;
    ++times;
  }
  for (auto& [key, sum] : sums) (sum.kind == "transfer" ? data.transfers : data.sums).push_back(std::move(sum));
  std::stable_sort(data.sums.begin(), data.sums.end(), [](const auto& a, const auto& b) { return a.wire_bytes > b.wire_bytes; });

  std::vector<std::pair<const CollectiveRow*, std::int64_t>> finished;
  for (const auto& [place, slowest] : places) finished.push_back(slowest);
  const auto kept = finished.begin() + std::ptrdiff_t(std::min(kSlowestMax, finished.size()));
  std::partial_sort(finished.begin(), kept, finished.end(), [](const auto& left, const auto& right) {
    const CollectiveRow &a = *left.first, &b = *right.first;
    return std::pair(b.last_ns - b.first_ns, a.id) < std::pair(a.last_ns - a.first_ns, b.id);
  });
  for (auto it = finished.begin(); it != kept; ++it) data.slowest.push_back(slow_collective(*it->first, it->second, reader));
}

std::string verdict_of(const ReportData& data) {
  for (const auto& diagnosis : data.diagnoses)
    if (diagnosis.severity == "error") return fmt::format("{}: {}", diagnosis.code, diagnosis.message);
  std::vector<std::pair<std::string, std::vector<int>>> ends;  // how, and who
  for (const auto& process : data.processes) {
    if (!ended_badly(process)) continue;
    std::string end = end_text(process);
    auto same = std::find_if(ends.begin(), ends.end(), [&](const auto& each) { return each.first == end; });
    if (same == ends.end()) same = ends.insert(ends.end(), {std::move(end), {}});
    same->second.push_back(process.process);
  }
  std::string told;
  for (const auto& [end, who] : ends) told += fmt::format("{}{} {}", told.empty() ? "" : "; ", processes_text(who), end);
  if (!told.empty()) return fmt::format("No diagnosis was recorded, but {}.", told);
  std::string agree = data.unmatched > 0    ? fmt::format("{} of them are not matched on all processes", data.unmatched)
                      : data.unfinished > 0 ? fmt::format("{} of them never ended", data.unfinished)
                                            : "all of them match";
  std::string remarks;
  for (const auto& diagnosis : data.diagnoses)
    if (remarks.find(diagnosis.code) == std::string::npos) remarks += (remarks.empty() ? "" : ", ") + diagnosis.code;
  const std::string ran =
      fmt::format("{} process{} ran {} collective{}, and {}{}.", data.processes.size(), data.processes.size() == 1 ? "" : "es",
                  data.collectives, data.collectives == 1 ? "" : "s", agree, remarks.empty() ? "" : "; worth knowing: " + remarks);
  if (!data.notices.empty() && data.processes.empty()) return "Nothing can be read of the trace, see the notices.";
  if (!data.notices.empty()) return fmt::format("The trace is incomplete, see the notices. What is left has no error: {}", ran);
  return fmt::format("{}: {}", remarks.empty() ? "No diagnosis" : "No error", ran);
}

}  // namespace

std::string end_text(const ProcessRow& process) {
  std::string text = enum_name("process_state", int(process.state));
  if (process.signal != 0) {
    const std::string name = signal_name(process.signal);
    text = fmt::format("killed by signal {}{}", process.signal, name.empty() ? "" : " (" + name + ")");
  } else if (process.exit_code != 0) {
    text += fmt::format(", exit code {}", process.exit_code);
  }
  if (!process.place.empty()) text += " at " + process.place;
  if (!process.error.empty()) text += ": " + process.error.substr(0, process.error.find('\n'));
  return text;
}

std::string end_text(const ReportData& data, ProcessRow process) {
  const auto first =
      std::find_if(data.processes.begin(), data.processes.end(), [&](const auto& each) { return each.error == process.error; });
  const bool is_again = !process.error.empty() && first != data.processes.end() && first->process != process.process;
  std::string of_diagnosis;
  for (const Diagnosis& diagnosis : data.diagnoses)
    if (std::string_view(process.error).starts_with(fmt::format("{}: {}", diagnosis.code, diagnosis.message)))
      of_diagnosis = diagnosis.code;
  if (!of_diagnosis.empty())
    process.error = fmt::format("told of the {}", of_diagnosis);
  else if (is_again)
    process.error = fmt::format("the same as process {}", first->process);
  return end_text(process);
}

std::vector<std::pair<std::string, std::string>> details_told(const Diagnosis& diagnosis) {
  const bool knows_callers =
      std::any_of(diagnosis.participants.begin(), diagnosis.participants.end(), [](const auto& side) { return !side.callers.empty(); });
  std::vector<std::pair<std::string, std::string>> told;
  for (auto [name, value] : diagnosis.details) {
    if (name == "look_ahead") continue;
    if (knows_callers && name.starts_with("call chain on ")) {
      value = value.substr(0, value.find(", called in "));
      if (value.find(", in ") == std::string::npos) continue;  // the call itself
    }
    told.emplace_back(std::move(name), std::move(value));
  }
  return told;
}

std::string epoch_text(const ReportData& data, const EpochRow& epoch) {
  std::vector<int> again, lost, came;
  std::set_intersection(epoch.gone.begin(), epoch.gone.end(), epoch.came.begin(), epoch.came.end(), std::back_inserter(again));
  std::set_difference(epoch.gone.begin(), epoch.gone.end(), again.begin(), again.end(), std::back_inserter(lost));
  std::set_difference(epoch.came.begin(), epoch.came.end(), again.begin(), again.end(), std::back_inserter(came));
  std::string text = fmt::format("epoch {} after {}: {}", epoch.epoch, duration_text(epoch.first_ns - data.epochs.front().first_ns),
                                 processes_text(epoch.live));
  auto tell = [&](const std::vector<int>& who, std::string_view one, std::string_view many) {
    if (!who.empty()) text += fmt::format("; {} {}", processes_text(who), who.size() == 1 ? one : many);
  };
  tell(lost, "is gone", "are gone");
  tell(came, "came", "came");
  tell(again, "was started again", "were started again");
  return text;
}

std::string duration_text(Ns ns) {
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", double(ns) / 1e3);
  if (ns < 10'000'000'000) return fmt::format("{:.2f} ms", double(ns) / 1e6);
  return fmt::format("{:.2f} s", double(ns) / 1e9);
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = double(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string ReportData::file_of(std::string_view place) const {
  for (const auto& site : sites)
    if (site.known() && site.text() == place) return std::string(site.file);
  // A line where nothing was launched, as of an error: the one file of that name.
  const std::string_view name = place.substr(0, place.rfind(':'));
  std::string_view file;
  for (const auto& site : sites) {
    if (!site.known() || site.line <= 0 || site.file == file) continue;
    if (std::string_view(site.file).substr(site.file.rfind('/') + 1) != name) continue;
    if (!file.empty()) return std::string(name);
    file = site.file;
  }
  return std::string(file.empty() ? name : file);
}

const SiteRow& ReportData::site_of(const Deviation& deviation) const {
  static const SiteRow kUnknown;
  return deviation.site > 0 && std::size_t(deviation.site) < sites.size() ? sites[std::size_t(deviation.site)] : kUnknown;
}

ReportData collect_report(TraceReader& reader) {
  ReportData data{.path = reader.path(),
                  .title = reader.meta("title"),
                  .command_line = reader.meta("command_line"),
                  .version = reader.meta("shardlab_version"),
                  .scenario = reader.meta("scenario"),
                  .places = read_statement_places(reader)};
  data.duration_ns = std::max<Ns>(0, reader.meta_integer("last_ns") - reader.meta_integer("first_ns"));
  data.devices = std::int64_t(reader.devices().size());
  data.arrays = std::int64_t(reader.arrays().size());
  data.programs = std::int64_t(reader.programs().size());
  data.launches = std::int64_t(reader.launches().size());
  data.processes = reader.processes();
  data.epochs = read_epochs(reader.path());
  data.diagnoses = reader.diagnoses();
  data.callers = add_callers(reader, data.diagnoses);
  data.evidence = reader.evidence();
  add_collectives(reader, data);
  data.deviations = deviations_from_plan(reader);
  data.notices = reader.notices();
  data.sites = reader.sites();
  for (const auto& diagnosis : data.diagnoses) data.diagnosed |= diagnosis.severity == "error";
  for (const auto& process : data.processes) data.diagnosed |= ended_badly(process);
  data.verdict = verdict_of(data);
  return data;
}

}  // namespace shardlab::traces
