#include "tests/traces/exporters/export_samples.h"

#include <fstream>

#include "tests/traces/sample_trace.h"
#include "traces/trace_writer.h"

namespace shardlab::exporters::sample {

using namespace traces;

void write_odd_trace(const std::string& path) {
  TraceWriter writer(path);
  writer.meta("title", kOddName);
  writer.add(ProcessRow{.process = 0, .pid = 4000, .host = std::string(kOddName)});
  const Id host = writer.add_track({.kind = TrackKind::kHost, .process = 0, .name = "process 0 host"});
  const Id batch = writer.add_track({.kind = TrackKind::kBatch, .process = 0, .name = "process 0 devices"});
  for (int d = 0; d < 2; ++d) {
    writer.add(DeviceRow{d, 0, d, "cpu", "CPU"});
    writer.add_track({.kind = TrackKind::kDevice, .process = 0, .device = d, .batch_track = batch, .name = d == 0 ? "CPU 0" : "CPU 1"});
  }
  const Id site = writer.site({.file = "/home/user/toy.cpp", .function = "main", .line = 7});
  const CollectiveShape sum{
      .kind = "all-reduce", .groups = "[[0,1]]", .axes = "[\"i\"]", .bytes = 32, .wire_bytes = 64, .op = "sum", .site = site};
  const CollectiveShape permute{
      .kind = "collective-permute", .pairs = "[[0,1]]", .bytes = 16, .wire_bytes = 16, .op = "ppermute", .site = site};
  ProgramRow program{.name = "f", .devices = {0, 1}, .processes = {0}, .collectives = {sum}};
  program.text =
      "f(%0: float32[8]) {\n}\non Mesh('i': 2) {\n  s0 = parameter 0 : %0\n  s1 = sin(s0) : %1\n  s2 = cos(s0) : %2\n  s3 = neg(s1) : %3\n"
      "  s4 = all-reduce sum(s3, s2) over ('i') : %4\n  return s4\n}\n";
  const Id f = writer.add(program);
  program = {.name = "p", .devices = {0, 1}, .processes = {0}, .collectives = {permute}};
  program.text = "p\n";
  const Id p = writer.add(program);
  writer.add(LaunchRow{.launch = kLargeId, .program = f, .site = site, .issued_ns = 50, .started_ns = 100, .done_ns = 500});
  writer.add(LaunchRow{.launch = kLargeId + 1, .program = p, .site = site, .issued_ns = 60, .started_ns = 500, .done_ns = 700});
  const auto collective = [&](Id of, std::int64_t launch, const CollectiveShape& what, Ns begin, Ns end) {
    return writer.add(CollectiveRow{.program = of,
                                    .launch = launch,
                                    .what = what,
                                    .first_ns = begin,
                                    .last_ns = end,
                                    .members = {{.launch = launch, .start_ns = begin, .end_ns = end, .status = MemberStatus::kOk}}});
  };
  const Id first = collective(f, kLargeId, sum, 400, 500), second = collective(p, kLargeId + 1, permute, 600, 700);
  const auto event = [&](Id track, Ns time, Ns duration, EventKind kind, std::string_view name, Id of = 0, std::int64_t launch = -1) {
    writer.add(EventRow{.track = track,
                        .time_ns = time,
                        .duration_ns = duration,
                        .kind = kind,
                        .name = name,
                        .collective = of,
                        .launch = launch,
                        .site = site,
                        .flags = track == batch ? kBatched : 0});
  };
  event(host, 50, 0, EventKind::kLaunch, "f", 0, kLargeId);
  event(host, 100, 300, EventKind::kHostRead, "outer");
  event(host, 150, 100, EventKind::kHostRead, "inner");
  event(host, 350, 100, EventKind::kHostRead, "overlaps");
  event(host, 500, kNoTime, EventKind::kHostRead, kOddName);
  event(host, 600, 50, EventKind::kHostRead, "after");
  event(batch, 100, 100, EventKind::kCompute, "sin", 0, kLargeId);
  event(batch, 200, 100, EventKind::kCompute, "cos", 0, kLargeId);
  event(batch, 300, 100, EventKind::kCompute, "neg", 0, kLargeId);
  event(batch, 400, 100, EventKind::kCollective, "all-reduce", first, kLargeId);
  event(batch, 600, 100, EventKind::kCollective, "collective-permute", second, kLargeId + 1);
  event(batch, 700, 1600, EventKind::kCompute, "relu", 0, kLargeId + 2);
  LayoutRow layout{.shape = {32},
                   .spec = "P('i')",
                   .axes = {{"i"}},
                   .shards = {{.device = 0, .ranges = {{0, 16}}}, {.device = 1, .ranges = {{16, 32}}}}};
  const Id array =
      writer.add(ArrayRow{.name = kOddName, .dtype = "float32", .layout = writer.add(layout), .time_ns = 100, .processes = {0}});
  writer.add(ArrayHolderRow{array, 0, 100});
  writer.add(ArrayEndRow{array, 0, 900, false});
  writer.finish();
  Database change(path, OpenMode::kUpdate);
  for (const char* where : {"collectives SET id", "members SET collective", "events SET collective"})
    change.execute(fmt::format("UPDATE {0} = {1} WHERE {2} = {3}", where, kLargeId,
                               std::string_view(where).substr(std::string_view(where).rfind(' ') + 1), first));
}

std::string Folder::exported(std::string_view sample, const ExportFormatDef& format, Exported* told) {
  const std::string trace = path("trace.db");
  if (sample == "odd")
    write_odd_trace(trace);
  else
    traces::sample::write_sample_trace(sample, trace, {.collectives = 300});
  Exported exported = export_trace(trace, format, path("out") + std::string(format.ending));
  std::string first = exported.files.at(0);
  if (told) *told = std::move(exported);
  return first;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace shardlab::exporters::sample
