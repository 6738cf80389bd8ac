// The report as one page: nothing is loaded, nothing runs.
#include <fmt/ostream.h>

#include <ostream>

#include "traces/report_data.h"

namespace shardlab::traces {
namespace {

constexpr std::string_view kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1c2530;background:#fff}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}
.verdict{padding:.8rem 1rem;border-left:.4rem solid #2e7d32;background:#eef7ee;font-size:1.1rem}
.verdict.bad{border-color:#b3261e;background:#fdecea}
.notice{padding:.4rem 1rem;border-left:.4rem solid #b26a00;background:#fff5e5}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:.8rem}
.side{border:1px solid #cfd6de;border-radius:.4rem;padding:.6rem .9rem}
.side.guilty{border-color:#b3261e}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #e3e8ee}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
code{font:13px ui-monospace,monospace}
@media(prefers-color-scheme:dark){body{background:#14181d;color:#dde3ea}.verdict{background:#16301a}.verdict.bad{background:#3a1715}
.notice{background:#33260f}.side,th,td{border-color:#333b45}}
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void write_side(const Diagnosis& diagnosis, const Participant& side, std::ostream& out) {
  const bool guilty = std::find(diagnosis.processes.begin(), diagnosis.processes.end(), side.process) != diagnosis.processes.end();
  fmt::print(out, "<div class='side{}'><b>process {}</b>{}<br>", guilty ? " guilty" : "", side.process,
             guilty && !diagnosis.tie ? " (the minority, or the one that stopped)" : "");
  const auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) fmt::print(out, "{}: <code>{}</code><br>", name, escaped(value));
  };
  line("at", side.where);
  if (side.statement >= 0) line("statement", std::to_string(side.statement));
  line("op", side.op);
  line("kind", side.kind);
  if (side.seq >= 0) line("seq", std::to_string(side.seq));
  line("type", side.dtype + side.shape);
  line("sharding", side.sharding);
  line("mesh", side.mesh);
  line("state", side.state);
  fmt::print(out, "</div>\n");
}

void write_diagnosis(const Diagnosis& diagnosis, std::ostream& out) {
  fmt::print(out, "<h2>{}</h2>\n<p>{}</p>\n<p>{}</p>\n<div class='sides'>\n", escaped(diagnosis.code), escaped(diagnosis.message),
             escaped(diagnosis.explain));
  for (const auto& side : diagnosis.participants) write_side(diagnosis, side, out);
  fmt::print(out, "</div>\n<p>Detected {:.1f} ms after the evidence was complete.</p>\n", diagnosis.detected_after_ms());
  for (const auto& [name, value] : diagnosis.details) fmt::print(out, "<p>{}: <code>{}</code></p>\n", escaped(name), escaped(value));
}

void write_sums(std::string_view heading, const std::vector<CollectiveSum>& sums, std::ostream& out) {
  if (sums.empty()) return;
  fmt::print(out,
             "<h2>{}</h2>\n<table><tr><th>kind<th>axes<th class='n'>count<th class='n'>bytes<th class='n'>wire bytes<th class='n'>moved"
             "<th class='n'>total<th class='n'>slowest<th class='n'>never ended</tr>\n",
             heading);
  for (const auto& sum : sums)
    fmt::print(out,
               "<tr><td>{}<td>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td class='n'>{}<td "
               "class='n'>{}</tr>\n",
               escaped(sum.kind), escaped(sum.axes), sum.count, bytes_text(sum.bytes), bytes_text(sum.wire_bytes),
               bytes_text(sum.moved_bytes), duration_text(sum.total_ns), duration_text(sum.slowest_ns), sum.unfinished);
  fmt::print(out, "</table>\n");
}

}  // namespace

void write_report_html(const ReportData& data, std::ostream& out) {
  fmt::print(out,
             "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
             "<title>{}</title><style>{}</style></head><body>\n<h1>{}</h1>\n<p class='verdict{}'>{}</p>\n",
             escaped(data.title), kStyle, escaped(data.title), data.diagnosed ? " bad" : "", escaped(data.verdict));
  for (const auto& notice : data.notices) fmt::print(out, "<p class='notice'>{}</p>\n", escaped(notice));
  for (const auto& diagnosis : data.diagnoses) write_diagnosis(diagnosis, out);
  fmt::print(out, "<h2>Run</h2>\n<p><code>{}</code><br>{} processes, {} devices, {} programs, {} launches, {} arrays, {}</p>\n",
             escaped(data.command_line), data.processes.size(), data.devices, data.programs, data.launches, data.arrays,
             duration_text(data.duration_ns));
  fmt::print(out, "<h2>Processes</h2>\n<table><tr><th class='n'>process<th class='n'>pid<th>host<th>end</tr>\n");
  for (const auto& process : data.processes)
    fmt::print(out, "<tr><td class='n'>{}<td class='n'>{}<td>{}<td>{}</tr>\n", process.process, process.pid, escaped(process.host),
               escaped(end_text(process)));
  fmt::print(out, "</table>\n");
  write_sums("Collectives", data.sums, out);
  write_sums("Transfers", data.transfers, out);
  if (!data.slowest.empty())
    fmt::print(out, "<h2>Slowest</h2>\n<table><tr><th class='n'>time<th>collective<th>op<th>at<th class='n'>bytes<th>came last</tr>\n");
  for (const auto& slow : data.slowest)
    fmt::print(out, "<tr><td class='n'>{}<td>{} #{}<td>{}<td><code>{}</code><td class='n'>{}<td>process {}, {} after the first</tr>\n",
               duration_text(slow.duration_ns), escaped(slow.kind), slow.seq, escaped(slow.op), escaped(slow.place), bytes_text(slow.bytes),
               slow.last_process, duration_text(slow.spread_ns));
  if (!data.slowest.empty()) fmt::print(out, "</table>\n");
  fmt::print(out, "</body></html>\n");
}

}  // namespace shardlab::traces
