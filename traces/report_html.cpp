// The report as one page: nothing is loaded, nothing runs.
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "runtime/base/number_list.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"
#include "traces/report_data.h"
#include "traces/sharding_svg.h"
#include "traces/source_lines.h"
#include "traces/svg.h"
#include "traces/wait_graph_svg.h"

namespace shardlab::traces {
namespace {

constexpr std::size_t kSidesShown = 6;
constexpr int kSourceContext = 2;

constexpr std::string_view kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1c2530;background:#fff;overflow-wrap:anywhere}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}h3{font-size:.95rem;margin:1rem 0 .4rem}
.verdict{padding:.8rem 1rem;border-left:.4rem solid #2e7d32;background:#eef7ee;font-size:1.1rem}
.verdict.bad{border-color:#b3261e;background:#fdecea}.verdict.unsure{border-color:#b26a00;background:#fff5e5}
.notice{padding:.4rem 1rem;border-left:.4rem solid #b26a00;background:#fff5e5}
.quiet{color:#5b6875}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:.8rem;margin:.6rem 0}
.side{border:1px solid #cfd6de;border-radius:.4rem;padding:.6rem .9rem;min-width:0}
.side.guilty{border-color:#b3261e}.tag{color:#b3261e;font-weight:600}
.source{margin:.5rem 0 0;padding:.3rem 0;background:#f4f6f8;overflow-x:auto;font:13px/1.45 ui-monospace,monospace;border-radius:.3rem}
.source span{display:block;padding:0 .6rem;white-space:pre;color:#5b6875}.source .here{background:#ffe3a8;color:#1c2530}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #e3e8ee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}th{white-space:nowrap;overflow-wrap:normal}
td.name,th.name{width:1%;white-space:nowrap;padding-right:1.5rem}
code{font:13px ui-monospace,monospace}
figure{margin:.6rem 0}svg text{font:12px system-ui,sans-serif}
.graph{width:100%;min-width:36rem;max-width:45rem}.graph .edge{fill:none;stroke:#b3261e;stroke-width:1.5}.graph .head{fill:#b3261e}
.graph .node{fill:#dbe7f5;stroke:#33506f}.graph .gone{fill:#f3d6d3;stroke:#b3261e}.graph text{fill:currentColor}
.graph .number{text-anchor:middle;fill:#1c2530;font-weight:600}.graph .start{text-anchor:start}.graph .middle{text-anchor:middle}
.graph .end{text-anchor:end}.sharding rect{stroke:#33506f}.sharding text{text-anchor:middle;fill:#1c2530}
@media(max-width:40rem){td.name{white-space:normal}}
@media(prefers-color-scheme:dark){body{background:#14181d;color:#dde3ea}.verdict{background:#16301a}.verdict.bad{background:#3a1715}
.verdict.unsure{background:#33260f}
.notice{background:#33260f}.side,th,td{border-color:#333b45}.side.guilty{border-color:#e5736b}.tag{color:#ef8e87}.quiet{color:#97a3b0}
.source{background:#1c222a}.source span{color:#97a3b0}.source .here{background:#5a4413;color:#fff}
.graph .edge{stroke:#e5736b}.graph .head{fill:#e5736b}}
)";

// Words between backquotes are code.
std::string with_code(std::string_view text) {
  std::string out;
  bool is_code = false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('`', at), text.size());
    out += escaped(text.substr(at, end - at));
    if (end < text.size()) out += is_code ? "</code>" : "<code>", is_code = !is_code;
    at = end + 1;
  }
  return is_code ? out + "</code>" : out;
}

void write_source(const ReportData& data, const Participant& side, std::ostream& out) {
  const std::string pointer = side.statement >= 0 ? pointer_of(side.where) : std::string();
  const std::size_t colon = side.where.rfind(':');
  const SourceLines source = !pointer.empty() ? read_statement_lines(data.scenario, pointer, kSourceContext)
                             : colon == std::string::npos
                                 ? SourceLines()
                                 : read_source_lines(data.file_of(side.where) + side.where.substr(colon), data.path, kSourceContext);
  if (source.lines.empty()) return;
  fmt::print(out, "<div class='source'>");
  for (int i = 0; i < int(source.lines.size()); ++i)
    fmt::print(out, "<span{}>{:4}  {}</span>", source.first + i == source.line ? " class='here'" : "", source.first + i,
               escaped(source.lines[std::size_t(i)]));
  fmt::print(out, "</div>\n");
}

void write_side(const ReportData& data, const Diagnosis& diagnosis, const SideTable& table, std::size_t index, std::ostream& out) {
  const FoldedSide& folded = table.sides[index];
  const bool guilty = std::find(diagnosis.processes.begin(), diagnosis.processes.end(), folded.side->process) != diagnosis.processes.end();
  const bool blamed = guilty && !diagnosis.tie && diagnosis.severity == "error";
  fmt::print(out, "<div class='side{}'><b>{}</b>{}<br>", guilty ? " guilty" : "", processes_text(folded.processes),
             blamed ? " <span class='tag'>✖ named by the verdict</span>" : "");
  for (const auto& [name, values] : table.differing)
    if (!values[index].empty()) fmt::print(out, "{}: <code>{}</code><br>", name, escaped(values[index]));
  write_source(data, *folded.side, out);
  fmt::print(out, "</div>\n");
}

// One beside the other with what differs, and what does not below.
void write_sides(const ReportData& data, const Diagnosis& diagnosis, std::ostream& out) {
  const SideTable table = side_table(diagnosis);
  fmt::print(out, "<div class='sides'>\n");
  for (std::size_t i = 0; i < table.sides.size(); ++i) {
    if (i == kSidesShown)
      fmt::print(out, "</div>\n<details><summary>{} more sides</summary><div class='sides'>\n", table.sides.size() - kSidesShown);
    write_side(data, diagnosis, table, i, out);
  }
  fmt::print(out, "</div>{}\n", table.sides.size() > kSidesShown ? "</details>" : "");
  std::string common;
  for (const auto& [name, value] : table.common)
    if (!value.empty()) common += fmt::format("{}{} <code>{}</code>", common.empty() ? "" : ", ", name, escaped(value));
  if (!common.empty()) fmt::print(out, "<p>The same on all sides: {}</p>\n", common);
}

// The operands of the two sides' calls of one op that lie differently, one beside the other.
void write_shardings(const Diagnosis& diagnosis, const Evidence& evidence, std::ostream& out) {
  Positions positions(evidence);
  std::vector<std::pair<std::string, const ProgramEvidence*>> told;  // who, and what they run
  for (const FoldedSide& side : side_table(diagnosis).sides) {
    const std::vector<int>& known = positions.processes();
    if (!std::binary_search(known.begin(), known.end(), side.side->process)) continue;
    const CallEvidence* head = positions.head(side.side->process);
    const ProgramEvidence* program = head ? evidence.program(*head) : nullptr;
    if (!program) continue;
    auto same = std::find_if(told.begin(), told.end(), [&](const auto& each) { return each.second == program; });
    if (same != told.end()) continue;
    told.emplace_back(processes_text(side.processes), program);
    if (told.size() == 2) break;
  }
  if (told.size() < 2 || told[0].second->name != told[1].second->name) return;
  const auto& [left, a] = told[0];
  const auto& [right, b] = told[1];
  for (std::size_t i = 0; i < std::min(a->operands.size(), b->operands.size()); ++i) {
    if (a->operands[i] == b->operands[i] && a->mesh == b->mesh && a->devices == b->devices) continue;
    std::string one = sharding_svg(a->operands[i], a->mesh, a->devices), other = sharding_svg(b->operands[i], b->mesh, b->devices);
    if (one.empty() || other.empty()) continue;
    fmt::print(out,
               "<h3>Operand {}</h3>\n<div class='sides'><div class='side'><b>{}</b>{}</div><div class='side'><b>{}</b>{}</div></div>\n", i,
               escaped(left), one, escaped(right), other);
  }
}

void write_diagnosis(const ReportData& data, const Diagnosis& diagnosis, std::ostream& out) {
  const bool is_error = diagnosis.severity == "error";
  fmt::print(out, "<h2>{}</h2>\n", escaped(diagnosis.code));
  if (data.verdict.find(diagnosis.message) == std::string::npos) fmt::print(out, "<p>{}</p>\n", escaped(diagnosis.message));
  if (!diagnosis.fields.empty())
    fmt::print(out, "<p>Differs in: <b>{}</b></p>\n", escaped(fmt::format("{}", fmt::join(diagnosis.fields, ", "))));
  write_sides(data, diagnosis, out);
  if (data.evidence && is_error) write_shardings(diagnosis, *data.evidence, out);
  if (!diagnosis.explain.empty()) fmt::print(out, "<h3>What it means, and what to try</h3>\n<p>{}</p>\n", with_code(diagnosis.explain));
  if (is_error)
    fmt::print(out, "<p class='quiet'>Detected {:.1f} ms after the evidence was complete.</p>\n", diagnosis.detected_after_ms());
  const auto details = details_told(diagnosis);
  if (details.empty()) return;
  fmt::print(out, "<h3>Details</h3>\n<table>\n");
  for (const auto& [name, value] : details)
    fmt::print(out, "<tr><td class='name'>{}<td><code>{}</code></tr>\n", escaped(name), escaped(value));
  fmt::print(out, "</table>\n");
}

// Who waits for whom, at the verdict.
void write_wait_graph(const ReportData& data, std::ostream& out) {
  if (!data.diagnosed || !data.evidence) return;
  if (std::string graph = wait_graph_svg(*data.evidence); !graph.empty())
    fmt::print(out, "<h2>Who waits for whom</h2>\n<div class='wide'>{}</div>\n", graph);
}

void write_sums(std::string_view heading, const std::vector<CollectiveSum>& sums, std::ostream& out) {
  if (sums.empty()) return;
  fmt::print(out,
             "<h2>{}</h2>\n<div class='wide'><table><tr><th>kind<th>axes<th class='n'>count<th class='n'>bytes<th class='n'>wire bytes<th "
             "class='n'>moved"
             "<th class='n'>total<th class='n'>slowest<th class='n'>never ended</tr>\n",
             heading);
  for (const auto& sum : sums)
    fmt::print(out,
               "<tr><td>{}<td>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td "
               "class='n'>{}</tr>\n",
               escaped(sum.kind), escaped(sum.axes), sum.count, bytes_text(sum.bytes), bytes_text(sum.wire_bytes),
               bytes_text(sum.moved_bytes), duration_text(sum.total_ns), duration_text(sum.slowest_ns), sum.unfinished);
  fmt::print(out, "</table></div>\n");
}

// Those of one host that ended alike are one row.
void write_processes(const ReportData& data, std::ostream& out) {
  struct Row {
    std::string host, end;
    std::vector<int> processes, pids;
  };
  std::vector<Row> rows;
  for (const ProcessRow& process : data.processes) {
    std::string end = end_text(data, process);
    auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.host == process.host && row.end == end; });
    if (same == rows.end()) same = rows.insert(rows.end(), {process.host, std::move(end), {}, {}});
    same->processes.push_back(process.process);
    same->pids.push_back(int(process.pid));
  }
  fmt::print(
      out,
      "<h2>Processes</h2>\n<div class='wide'><table><tr><th class='name'>process<th class='name'>pid<th class='name'>host<th>end</tr>\n");
  for (const Row& row : rows)
    fmt::print(out, "<tr><td class='name'>{}<td class='name'>{}<td class='name'>{}<td>{}</tr>\n", ranges_text(row.processes),
               ranges_text(row.pids), escaped(row.host), escaped(row.end));
  fmt::print(out, "</table></div>\n");
}

}  // namespace

void write_report_html(const ReportData& data, std::ostream& out) {
  fmt::print(out,
             "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
             "<title>{}</title><style>{}</style></head><body>\n<h1>{}</h1>\n<p class='verdict{}'>{}</p>\n",
             escaped(data.title), kStyle, escaped(data.title),
             data.diagnosed         ? " bad"
             : data.notices.empty() ? ""
                                    : " unsure",
             escaped(data.verdict));
  for (const auto& notice : data.notices) fmt::print(out, "<p class='notice'>{}</p>\n", escaped(notice));
  for (const auto& diagnosis : data.diagnoses) write_diagnosis(data, diagnosis, out);
  write_wait_graph(data, out);
  if (!data.deviations.empty()) fmt::print(out, "<h2>Otherwise than planned</h2>\n<ul>\n");
  for (const auto& deviation : data.deviations)
    fmt::print(out, "<li><code>{}</code>: {}\n", escaped(data.site_of(deviation).text()), escaped(deviation.message));
  if (!data.deviations.empty()) fmt::print(out, "</ul>\n");
  fmt::print(out, "<h2>Run</h2>\n<p><code>{}</code><br>{} processes, {} devices, {} programs, {} launches, {} arrays, {}</p>\n",
             escaped(data.command_line), data.processes.size(), data.devices, data.programs, data.launches, data.arrays,
             duration_text(data.duration_ns));
  write_processes(data, out);
  if (!data.epochs.empty()) fmt::print(out, "<h2>Epochs</h2>\n<ul>\n");
  for (const auto& epoch : data.epochs) fmt::print(out, "<li>{}\n", escaped(epoch_text(data, epoch)));
  if (!data.epochs.empty()) fmt::print(out, "</ul>\n");
  write_sums("Collectives", data.sums, out);
  write_sums("Transfers", data.transfers, out);
  if (!data.slowest.empty())
    fmt::print(out,
               "<h2>Slowest</h2>\n<div class='wide'><table><tr><th class='n'>time<th>collective<th>op<th>at<th class='n'>bytes<th class='n'>times<th>came "
               "last</tr>\n");
  for (const auto& slow : data.slowest)
    fmt::print(out, "<tr><td class='n'>{}<td>{} #{}<td>{}<td><code>{}</code><td class='n'>{}<td class='n'>{}<td>process {}, {} after the first</tr>\n",
               duration_text(slow.duration_ns), escaped(slow.kind), slow.seq, escaped(slow.op), escaped(slow.place), bytes_text(slow.bytes), slow.times,
               slow.last_process, duration_text(slow.spread_ns));
  if (!data.slowest.empty()) fmt::print(out, "</table></div>\n");
  fmt::print(out, "</body></html>\n");
}

}  // namespace shardlab::traces
