#include "traces/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "runtime/base/text.h"
#include "traces/checks/wording.h"
#include "traces/report_data.h"
#include "traces/report_json.h"
#include "traces/schema.h"

namespace shardlab::traces {
namespace {

using Json = nlohmann::ordered_json;

constexpr ReportFormatDef kText{"text", "For a terminal: the verdict, both sides, the processes' ends, sums, the slowest.",
                                write_report_text};
constexpr ReportFormatDef kJson{"json", "The same as one JSON object.", write_report_json};
constexpr ReportFormatDef kHtml{"html", "The same as one page that loads nothing from elsewhere.", write_report_html};
constexpr ReportFormatDef kSarif{"sarif",
                                 "SARIF 2.1.0: the diagnoses, and what came otherwise than planned, with source lines, for editors and CI.",
                                 write_report_sarif};
constexpr ReportFormatDef kJunit{
    "junit", "JUnit: a testcase for each diagnosis, failed where it is an error, and for each thing that came otherwise than planned.",
    write_report_junit};
constexpr const ReportFormatDef* kFormats[] = {&kText, &kJson, &kHtml, &kSarif, &kJunit};

void write_sums(const std::vector<CollectiveSum>& sums, std::ostream& out) {
  fmt::print(out, "  {:<20} {:<10} {:>8} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "kind", "axes", "count", "bytes", "wire bytes", "moved",
             "total", "slowest");
  for (const auto& sum : sums)
    fmt::print(out, "  {:<20} {:<10} {:>8} {:>11} {:>11} {:>11} {:>11} {:>11}{}\n", sum.kind, sum.axes, sum.count, bytes_text(sum.bytes),
               bytes_text(sum.wire_bytes), bytes_text(sum.moved_bytes), duration_text(sum.total_ns), duration_text(sum.slowest_ns),
               sum.unfinished ? fmt::format("  {} never ended", sum.unfinished) : "");
}

Json sums_to_json(const std::vector<CollectiveSum>& sums) {
  Json list = Json::array();
  for (const auto& sum : sums)
    list.push_back({{"kind", sum.kind},
                    {"axes", sum.axes},
                    {"count", sum.count},
                    {"bytes", sum.bytes},
                    {"wire_bytes", sum.wire_bytes},
                    {"moved_bytes", sum.moved_bytes},
                    {"total_ns", sum.total_ns},
                    {"slowest_ns", sum.slowest_ns},
                    {"unfinished", sum.unfinished}});
  return list;
}

Json diagnosis_to_json(const ReportData& data, std::size_t index) {
  Json json = diagnosis_to_report(data.diagnoses[index]);
  for (std::size_t s = 0; s < data.callers[index].size(); ++s) {
    Json& side = json["participants"][s];
    if (!data.callers[index][s].empty()) side["callers"] = Json::array();
    for (const FrameRow& caller : data.callers[index][s]) {
      side["callers"].push_back({{"function", caller.function}});
      if (!caller.file.empty()) side["callers"].back().update({{"file", caller.file}, {"line", caller.line}});
    }
  }
  return json;
}

std::string_view status_of(const ReportData& data) {
  const bool is_told = std::any_of(data.diagnoses.begin(), data.diagnoses.end(), [](const auto& each) { return each.severity == "error"; });
  return is_told ? "diagnosed" : data.diagnosed ? "error" : data.notices.empty() ? "passed" : "inconclusive";
}

Json process_to_json(const ProcessRow& process) {
  Json json = {{"process", process.process},     {"pid", process.pid},
               {"host", process.host},           {"state", enum_name("process_state", int(process.state))},
               {"exit_code", process.exit_code}, {"signal", process.signal}};
  if (!process.place.empty()) json["where"] = process.place;
  if (!process.error.empty()) json["error"] = process.error;
  return json;
}

}  // namespace

std::span<const ReportFormatDef* const> all_report_formats() { return kFormats; }

void write_report(TraceReader& reader, std::string_view format, std::ostream& out) {
  std::vector<std::string_view> names;
  for (const auto* definition : kFormats) {
    names.push_back(definition->name);
    if (definition->name != format) continue;
    const ReportData data = collect_report(reader);
    std::ostringstream text;
    definition->write(data, text);
    out << data.places.in(text.str());
    return;
  }
  throw_user_error("there is no report format '{}'{}; known: {}", format, did_you_mean(format, names), fmt::join(names, ", "));
}

void write_report_text(const ReportData& data, std::ostream& out) {
  // An error's text begins with the verdict's sentence.
  bool said = false;
  for (const auto& diagnosis : data.diagnoses) said |= diagnosis.severity == "error";
  if (!said) fmt::print(out, "{}\n", data.verdict);
  for (const auto& diagnosis : data.diagnoses) {
    fmt::print(out, "{}\n", text_of(diagnosis));
    if (!diagnosis.fields.empty()) fmt::print(out, "  differs in: {}\n", fmt::join(diagnosis.fields, ", "));
    if (!diagnosis.explain.empty()) fmt::print(out, "  {}\n", diagnosis.explain);
  }
  if (!data.deviations.empty()) fmt::print(out, "\nOtherwise than planned\n");
  for (const auto& deviation : data.deviations) fmt::print(out, "  {}: warning: {}\n", data.site_of(deviation).text(), deviation.message);
  if (!data.notices.empty()) fmt::print(out, "\nNotices\n");
  for (const auto& notice : data.notices) fmt::print(out, "  {}\n", notice);
  fmt::print(out, "\nRun\n  {}\n  {} processes, {} devices, {} programs, {} launches, {} arrays, {}\n", data.command_line,
             data.processes.size(), data.devices, data.programs, data.launches, data.arrays, duration_text(data.duration_ns));
  fmt::print(out, "\nProcesses\n");
  for (const auto& process : data.processes)
    fmt::print(out, "  {:>4}  pid {:<8} {}\n", process.process, process.pid, end_text(data, process));
  if (!data.epochs.empty()) fmt::print(out, "\nEpochs\n");
  for (const auto& epoch : data.epochs) fmt::print(out, "  {}\n", epoch_text(data, epoch));
  fmt::print(out, "\nCollectives: {}, {} on wires{}\n", data.collectives, bytes_text(data.wire_bytes),
             data.unmatched ? fmt::format(", {} not matched", data.unmatched) : "");
  if (!data.sums.empty()) write_sums(data.sums, out);
  if (!data.transfers.empty()) {
    fmt::print(out, "\nTransfers (not part of the wire bytes)\n");
    write_sums(data.transfers, out);
  }
  if (!data.slowest.empty()) fmt::print(out, "\nSlowest\n");
  for (const auto& slow : data.slowest)
    fmt::print(out, "  {:>11}  {} #{} of {} at {}, {}{}{}\n", duration_text(slow.duration_ns), slow.kind, slow.seq, slow.op, slow.place,
               bytes_text(slow.bytes), slow.times > 1 ? fmt::format(", of {} times", slow.times) : "",
               slow.spread_ns > 0
                   ? fmt::format("; process {} came last, {} after the first", slow.last_process, duration_text(slow.spread_ns))
                   : "");
}

void write_report_json(const ReportData& data, std::ostream& out) {
  Json json = {{"trace", data.path},
               {"title", data.title},
               {"command_line", data.command_line},
               {"shardlab_version", data.version},
               {"status", status_of(data)},
               {"verdict", data.verdict},
               {"duration_ms", double(data.duration_ns) / 1e6},
               {"devices", data.devices},
               {"programs", data.programs},
               {"launches", data.launches},
               {"arrays", data.arrays},
               {"processes", Json::array()},
               {"diagnoses", Json::array()}};
  for (const auto& process : data.processes) json["processes"].push_back(process_to_json(process));
  for (const auto& epoch : data.epochs)
    json["epochs"].push_back({{"epoch", epoch.epoch},
                              {"after_ms", double(epoch.first_ns - data.epochs.front().first_ns) / 1e6},
                              {"live", epoch.live},
                              {"gone", epoch.gone},
                              {"came", epoch.came}});
  for (std::size_t i = 0; i < data.diagnoses.size(); ++i) json["diagnoses"].push_back(diagnosis_to_json(data, i));
  json["otherwise_than_planned"] = Json::array();
  for (const auto& deviation : data.deviations) {
    Json each = {
        {"program", deviation.name}, {"message", deviation.message}, {"planned", deviation.planned}, {"recorded", deviation.recorded}};
    if (deviation.call >= 0) each["call"] = deviation.call;
    if (deviation.result >= 0) each["result"] = deviation.result;
    if (const SiteRow& site = data.site_of(deviation); site.known()) each["where"] = site.text();
    json["otherwise_than_planned"].push_back(std::move(each));
  }
  json["collectives"] = {{"count", data.collectives},
                         {"wire_bytes", data.wire_bytes},
                         {"unmatched", data.unmatched},
                         {"unfinished", data.unfinished},
                         {"by_kind_and_axes", sums_to_json(data.sums)},
                         {"slowest", Json::array()}};
  for (const auto& slow : data.slowest)
    json["collectives"]["slowest"].push_back({{"id", slow.id},
                                              {"kind", slow.kind},
                                              {"axes", slow.axes},
                                              {"op", slow.op},
                                              {"where", slow.place},
                                              {"seq", slow.seq},
                                              {"bytes", slow.bytes},
                                              {"times", slow.times},
                                              {"duration_ns", slow.duration_ns},
                                              {"last_process", slow.last_process},
                                              {"spread_ns", slow.spread_ns}});
  json["transfers"] = sums_to_json(data.transfers);
  json["notices"] = data.notices;
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace shardlab::traces
