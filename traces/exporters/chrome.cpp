// The JSON trace of chrome://tracing ("Trace Event Format"): complete events, one thread a device, flows between the members of
// collectives, counters. Times are microseconds with the nanoseconds behind the point; ids are text, since viewers read numbers as doubles.
#include <fmt/format.h>

#include <map>
#include <string>

#include "traces/exporters/export.h"
#include "traces/exporters/out_file.h"
#include "traces/exporters/source.h"
#include "traces/exporters/text.h"

namespace shardlab::exporters {
namespace {

constexpr std::string_view kCategoryNames[] = {"compute", "collective", "host read", "launch", "other"};  // by EventKind

std::string micros(Ns ns) { return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000); }

// The host's thread is 0.
int thread_of(int device) { return device + 1; }

class ChromeWriter {
 public:
  ChromeWriter(Source& source, const std::string& path, Exported& exported) : source_(source), exported_(exported), file_(path) {}

  void write() {
    file_.put("{\"displayTimeUnit\":\"ns\",\"metadata\":{\"tool\":\"shardlab\",\"title\":" + json_text(source_.reader().meta("title")) +
              ",\"clock\":" + json_text(source_.reader().meta("clock_domain")) + "},\"traceEvents\":[\n");
    for (const auto& process : source_.processes()) describe(process);
    for (const Lane& lane : source_.lanes()) write_lane(lane);
    write_flows();
    write_counters();
    write_verdict();
    file_.put("\n]}\n");
    file_.finish();
    exported_.files = {file_.path()};
    exported_.bytes = file_.bytes();
  }

 private:
  // `fields` go behind what every event has.
  void put(char phase, int process, int thread, std::string_view fields) {
    file_.put(fmt::format("{}{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},{}}}", first_ ? "" : ",\n", phase, process, thread, fields));
    first_ = false;
  }
  void name(std::string_view what, int process, int thread, std::string_view text) {
    put('M', process, thread, fmt::format("\"name\":\"{}_name\",\"args\":{{\"name\":{}}}", what, json_text(text)));
  }
  void order(std::string_view what, int process, int thread, int index) {
    put('M', process, thread, fmt::format("\"name\":\"{}_sort_index\",\"args\":{{\"sort_index\":{}}}", what, index));
  }

  void describe(const traces::ProcessRow& process) {
    name("process", process.process, 0, fmt::format("process {} {}", process.process, process.host));
    order("process", process.process, 0, process.process);
    put('M', process.process, 0, fmt::format("\"name\":\"process_labels\",\"args\":{{\"labels\":\"pid {}\"}}", process.pid));
  }

  void write_lane(const Lane& lane) {
    name("thread", lane.process, thread_of(lane.device), lane.name);
    order("thread", lane.process, thread_of(lane.device), thread_of(lane.device));
    source_.for_each_event(lane, [&](const Event& each) {
      ++exported_.events;
      const bool open = !each.moment && each.end == kNoTime;
      std::string fields =
          fmt::format("\"name\":{},\"cat\":\"{}\",\"ts\":{}", word(each.name), kCategoryNames[std::size_t(each.kind)], micros(each.begin));
      if (each.moment)
        fields += ",\"s\":\"t\"";
      else if (!open)
        fields += ",\"dur\":" + micros(each.end - each.begin);
      put(each.moment ? 'i' : open ? 'B' : 'X', lane.process, thread_of(lane.device), fields + arguments(each, open));
    });
  }

  std::string arguments(const Event& each, bool open) {
    std::string text;
    const auto add = [&](std::string_view key, const auto& value) {
      text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", key, value);
    };
    if (const auto& site = source_.reader().site(each.site); site.known()) add("call_site", json_text(site.text()));
    if (each.launch >= 0) add("launch", each.launch);
    if (open) add("never_ended", true);
    if (each.cut) add("cut_short", true);
    if (each.flags & traces::kErrorFlag) add("failed", true);
    if (each.flags & traces::kWaited) add("waited", true);
    if (const CollectiveFacts* what = each.collective) {
      add("collective", fmt::format("\"{}\"", what->id));
      if (what->op != 0) add("op", word(what->op));
      if (what->axes != 0) add("mesh_axes", word(what->axes));
      add("seq", what->seq);
      add("bytes", what->what.bytes);
      add("wire_bytes", what->what.wire_bytes);
    }
    return text.empty() ? text : ",\"args\":{" + text + "}";
  }

  // Words repeat: each is escaped once.
  const std::string& word(Id string) {
    const auto [found, added] = words_.try_emplace(string);
    if (added) found->second = json_text(source_.text(string));
    return found->second;
  }

  // An arrow enters and leaves the slice that is there at its time.
  void write_flows() {
    source_.for_each_flow([&](const std::vector<FlowPoint>& points) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        const char phase = i == 0 ? 's' : i + 1 == points.size() ? 'f' : 't';
        put(phase, points[i].process, thread_of(points[i].device),
            fmt::format("\"name\":\"collective\",\"cat\":\"collective\",\"id\":\"{}\",\"ts\":{}{}", points[i].collective,
                        micros(points[i].time), phase == 's' ? "" : ",\"bp\":\"e\""));
      }
    });
  }

  void write_counters() {
    std::map<int, const Lane*> lane_of;
    for (const Lane& lane : source_.lanes())
      if (lane.device >= 0) lane_of[lane.device] = &lane;
    source_.for_each_memory([&](int device, Ns time, std::int64_t bytes) {
      const auto lane = lane_of.find(device);
      if (lane == lane_of.end()) return;
      put('C', lane->second->process, 0,
          fmt::format("\"name\":{},\"ts\":{},\"args\":{{\"bytes\":{}}}", json_text("memory of " + lane->second->name), micros(time),
                      bytes));
    });
    source_.for_each_in_flight([&](Ns time, std::int64_t bytes) {
      put('C', 0, 0, fmt::format("\"name\":\"bytes in flight\",\"ts\":{},\"args\":{{\"bytes\":{}}}", micros(time), bytes));
    });
  }

  void write_verdict() {
    for (const auto& diagnosis : source_.reader().diagnoses())
      put('i', diagnosis.processes.empty() ? 0 : diagnosis.processes.front(), 0,
          fmt::format("\"name\":{},\"cat\":\"diagnosis\",\"s\":\"g\",\"ts\":{}", json_text(diagnosis.code + ": " + diagnosis.message),
                      micros(diagnosis.detected_ns)));
  }

  Source& source_;
  Exported& exported_;
  OutFile file_;
  std::map<Id, std::string> words_;
  bool first_ = true;
};

void write_chrome(Source& source, const std::string& path, Exported& exported) { ChromeWriter(source, path, exported).write(); }

}  // namespace

constinit const ExportFormatDef kChrome{"chrome", "Chrome JSON",
                                        "for chrome://tracing and what reads its JSON; large traces want perfetto: viewers hold all of it",
                                        ".json", write_chrome};

}  // namespace shardlab::exporters
