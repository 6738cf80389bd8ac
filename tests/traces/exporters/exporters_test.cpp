// What holds of every format, text and numbers, Chrome's JSON, and how much memory an export takes.
#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "tests/traces/exporters/export_samples.h"
#include "tests/traces/sample_trace.h"
#include "traces/exporters/source.h"
#include "traces/exporters/text.h"
#include "traces/exporters/wire_writer.h"
#include "traces/trace_writer.h"

namespace shardlab::exporters {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

TEST(ExportText, PutsAMarkInPlaceOfWhatIsNoUtf8) {
  EXPECT_EQ(clean_text("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  for (const char* wrong : {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_EQ(clean_text(wrong).substr(0, 3), "\xef\xbf\xbd") << int(static_cast<unsigned char>(wrong[0]));
  EXPECT_EQ(json_text("\"\\\n\x1f\x7f"), R"("\"\\\u000a\u001f\u007f")");
  EXPECT_EQ(json_text(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(ExportText, NumbersOfEverySizeReadBack) {
  std::string bytes;
  const std::uint64_t values[] = {0, 1, 127, 128, 16383, 16384, std::uint64_t(1) << 35, ~std::uint64_t(0)};
  for (const auto value : values) WireWriter(bytes).varint(value);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), int(bytes.size()));
  for (const auto value : values) {
    std::uint64_t read = 1;
    EXPECT_TRUE(in.ReadVarint64(&read));
    EXPECT_EQ(read, value);
  }
}

TEST(Export, EveryFormatOfEverySample) {
  for (const auto* format : all_export_formats())
    for (const auto sample : traces::sample::sample_names()) {
      if (sample == "devices512" && format == &kChakra) continue;  // 512 files tell no more than eight
      sample::Folder folder;
      Exported told;
      folder.exported(sample, *format, &told);
      std::int64_t bytes = 0;
      for (const auto& file : told.files) bytes += std::int64_t(std::filesystem::file_size(file));
      EXPECT_EQ(bytes, told.bytes) << format->name << " of " << sample;
      EXPECT_EQ(told.events == 0, sample == "empty") << format->name << " of " << sample;
      EXPECT_EQ(told.notices.empty(), sample != "torn" && sample != "killed") << format->name << " of " << sample;
    }
}

// Of two stages that one process runs at the same time each device tells its own.
TEST(Export, WhatALaunchComputesIsItsDevicesOwn) {
  sample::Folder folder;
  const std::string path = folder.path("stages.db");
  {
    traces::TraceWriter writer(path);
    writer.add(traces::ProcessRow{.process = 0, .pid = 1, .host = "node0"});
    const Id batch = writer.add_track({.kind = traces::TrackKind::kBatch, .process = 0, .name = "devices"});
    for (int d = 0; d < 2; ++d) {
      writer.add(traces::DeviceRow{d, 0, d, "cpu", "CPU"});
      writer.add_track({.kind = traces::TrackKind::kDevice, .process = 0, .device = d, .batch_track = batch, .name = "CPU"});
    }
    for (int launch = 0; launch < 4; ++launch) {
      const std::vector<int> devices{launch % 2};
      const Id program = writer.add(traces::ProgramRow{.fingerprint = std::uint64_t(launch), .devices = devices, .processes = {0}});
      writer.add(traces::LaunchRow{.process = 0, .launch = launch, .program = program});
      writer.add(traces::EventRow{
          .track = batch, .time_ns = 10 * launch, .duration_ns = 15, .launch = launch, .flags = traces::kBatched, .devices = &devices});
    }
    writer.finish();
  }
  Source source(path);
  for (const Lane& lane : source.lanes()) {
    std::vector<std::int64_t> launches;
    source.for_each_event(lane, [&](const Event& event) { launches.push_back(event.launch); });
    EXPECT_EQ(launches, (std::vector<std::int64_t>{lane.device, lane.device + 2})) << "device " << lane.device;
  }
}

TEST(Export, IsTheSameEachTime) {
  for (const auto* format : all_export_formats()) {
    sample::Folder one, two;
    EXPECT_EQ(sample::read_file(one.exported("odd", *format)), sample::read_file(two.exported("odd", *format))) << format->name;
  }
}

TEST(Export, SaysWhatItCannotDo) {
  try {
    export_format("perfeto");
    FAIL() << "no such format";
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("did you mean 'perfetto'?; known: perfetto, chrome, chakra")); }
  sample::Folder folder;
  folder.exported("toy", kChrome);
  EXPECT_THROW(export_trace(folder.path("none.db"), kChrome, folder.path("x.json")), IoError);
  EXPECT_THROW(export_trace(folder.path("trace.db"), kChrome, folder.path("no/such/folder.json")), IoError);
}

// The slices of each thread, and that they nest; flows by id.
TEST(Chrome, SlicesNestAndFlowsBind) {
  sample::Folder folder;
  const Json trace = Json::parse(sample::read_file(folder.exported("toy", kChrome)));
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  std::map<std::string, std::string> flows;
  std::map<std::pair<int, int>, std::string> threads;
  for (const Json& event : trace["traceEvents"]) {
    const std::pair<int, int> thread{event["pid"], event["tid"]};
    const std::string phase = event["ph"];
    if (phase == "M" && event["name"] == "thread_name") threads[thread] = event["args"]["name"];
    if (phase == "X") slices[thread].emplace_back(event["ts"], double(event["ts"]) + double(event["dur"]));
    if (phase != "s" && phase != "t" && phase != "f") continue;
    flows[event["id"]] += phase;
    bool within = false;
    for (const auto& [begin, end] : slices[thread]) within |= begin <= double(event["ts"]) && double(event["ts"]) <= end;
    EXPECT_TRUE(within) << event;
  }
  EXPECT_EQ(threads.size(), 12U);
  EXPECT_EQ((threads[{1, 3}]), "CPU 2");
  EXPECT_EQ(flows, (std::map<std::string, std::string>{{"1", "sttf"}})) << "four processes in one collective";
  for (const auto& [thread, times] : slices)
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i - 1].second, times[i].first + 1e-9);
}

TEST(Chrome, KeepsNanosecondsAndOddTextAndLargeIds) {
  sample::Folder folder;
  const std::string text = sample::read_file(folder.exported("odd", kChrome));
  const Json trace = Json::parse(text);  // throws for text that is no UTF-8
  EXPECT_EQ(trace["metadata"]["title"], sample::kOddNameClean);
  EXPECT_THAT(text, HasSubstr("\"ts\":0.350,\"dur\":0.050"));
  EXPECT_THAT(text, HasSubstr(fmt::format("\"collective\":\"{}\"", sample::kLargeId)));
  int open = 0;
  for (const Json& event : trace["traceEvents"]) open += event["ph"] == "B" && event["name"] == sample::kOddNameClean;
  EXPECT_EQ(open, 1);
}

// 62,500 collectives of two processes, and what comes before each, are a million slices over eight devices. All formats get them from the
// same source, one by one.
TEST(Export, OfAMillionEventsTakesLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  sample::Folder folder;
  traces::sample::write_sample_trace("large", folder.path("large.db"), {.collectives = 62'500});
  const char* programs = std::getenv("SHARDLAB_BIN_DIR");
  ASSERT_NE(programs, nullptr);
  // The limit is on memory of its own, without the pages of files; the events alone take 29 MB in the window.
  const std::string command = fmt::format("ulimit -d 24000; {}/shardlab export {} --out {} > {}", programs, folder.path("large.db"),
                                          folder.path("out.pftrace"), folder.path("said"));
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(sample::read_file(folder.path("said")), HasSubstr("1125002 events"));
}

}  // namespace
}  // namespace shardlab::exporters
