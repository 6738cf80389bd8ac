// Reading trace files: what is in the file is in the window, what is missing is said.
#include <gtest/gtest.h>

#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <fstream>

#include "gui/models/load_job.h"
#include "gui/models/memory_limit.h"
#include "gui/models/trace_loader.h"
#include "gui/models/verdict.h"
#include "runtime/base/error.h"
#include "tests/traces/sample_trace.h"
#include "traces/trace_reader.h"
#include "traces/trace_writer.h"

namespace shardlab::gui {
namespace {

class LoaderTest : public testing::Test {
 protected:
  std::string make(const std::string& name, std::int64_t collectives = 0) {
    const std::string path = folder_.filePath(QString::fromStdString(name + ".db")).toStdString();
    traces::sample::SampleOptions options;
    if (collectives > 0) options.collectives = collectives;
    traces::sample::write_sample_trace(name, path, options);
    return path;
  }
  QTemporaryDir folder_;
};

TEST_F(LoaderTest, GivesWhatTheReaderGives) {
  for (const char* name : {"toy", "deadlock", "killed", "empty", "devices512"}) {
    const std::string path = make(name);
    const TracePtr trace = load_trace({.path = path});
    traces::TraceReader reader(path);
    EXPECT_EQ(trace->processes.size(), reader.processes().size()) << name;
    EXPECT_EQ(trace->devices.size(), reader.devices().size()) << name;
    EXPECT_EQ(trace->arrays.size(), reader.arrays().size()) << name;
    EXPECT_EQ(trace->collectives.size(), reader.collectives().size()) << name;
    EXPECT_EQ(trace->diagnoses.size(), reader.diagnoses().size()) << name;
    // A lane for each device, with as many events as the trace counts for it.
    for (const auto& track : reader.tracks()) {
      if (track.kind != traces::TrackKind::kDevice) continue;
      std::int64_t events = 0;
      for (const auto& lane : trace->lanes)
        if (lane.device == track.device) events += std::int64_t(lane.events->size());
      EXPECT_EQ(events, track.event_count) << name << ", device " << track.device;
    }
  }
}

TEST_F(LoaderTest, LinksTheDiagnosisToItsCollectiveAndFlagsItsEvents) {
  const TracePtr trace = load_trace({.path = make("deadlock")});
  ASSERT_EQ(trace->diagnoses.size(), 1U);
  std::size_t failed = 0;
  for (const auto& call : trace->collectives) failed += call.failed;
  EXPECT_GE(failed, 1U);
  std::uint8_t flags = 0;
  for (const auto& lane : trace->lanes) flags |= lane.events->summary().flags;
  EXPECT_TRUE(flags & kFlagError);
  EXPECT_EQ(make_verdict(*trace).level, VerdictLevel::kError);
}

TEST_F(LoaderTest, ShowsWhatIsLeftOfATornFileAndSaysSo) {
  const TracePtr trace = load_trace({.path = make("torn")});
  EXPECT_TRUE(trace->torn());
  EXPECT_FALSE(trace->processes.empty());
  EXPECT_NE(make_verdict(*trace).level, VerdictLevel::kGood);
}

// Between the processes' end and the verdict on them: what the run found is not in what they wrote.
TEST_F(LoaderTest, OfARunThatIsFollowedItsEndIsNoVerdict) {
  TraceData trace = *load_trace({.path = make("toy")});
  ASSERT_EQ(make_verdict(trace).level, VerdictLevel::kGood);
  trace.live = true;
  EXPECT_EQ(make_verdict(trace).level, VerdictLevel::kNote);
  EXPECT_TRUE(make_verdict(trace).sentence.contains(QStringLiteral("the run's verdict has not come")));
  ASSERT_FALSE(trace.collectives.empty());
  trace.collectives[0].open = true;
  EXPECT_EQ(make_verdict(trace).level, VerdictLevel::kWarning);
  EXPECT_TRUE(make_verdict(trace).sentence.endsWith(QStringLiteral("; 1 collective never ended.")));
}

TEST_F(LoaderTest, OfATraceThatTakesTooMuchMemoryTheLastPartIsOpened) {
  QTemporaryDir settings;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
  const std::string path = make("large", 4000);
  EXPECT_GT(memory_limit(), std::int64_t(1) << 28) << "half of the machine's";
  const TracePtr whole = load_trace({.path = path});
  EXPECT_FALSE(whole->torn());
  traces::TraceReader reader(path);
  const MemoryNeed need = memory_need(reader);
  EXPECT_GT(need.rows, 16'000 * 29);
  set_memory_limit(double(need.arrays + need.rows / 4) / double(1 << 30));
  const TracePtr part = load_trace({.path = path});
  set_memory_limit(0);
  ASSERT_EQ(part->notices.size(), 1U);
  EXPECT_TRUE(part->torn());
  EXPECT_TRUE(part->notices[0].text.starts_with("All of this trace would take about ")) << part->notices[0].text;
  EXPECT_EQ(part->range.end, whole->range.end);
  const Ns from = whole->range.end - whole->range.length() / 4;
  EXPECT_LE(std::abs(part->range.begin - from), whole->range.length() / 100);
  const auto quarter = [](std::size_t is, std::size_t all) { return is > all / 5 && is < all * 3 / 10; };
  EXPECT_TRUE(quarter(part->collectives.size(), whole->collectives.size())) << part->collectives.size();
  EXPECT_TRUE(quarter(part->launches.size(), whole->launches.size())) << part->launches.size();
  ASSERT_EQ(part->lanes.size(), whole->lanes.size());
  for (std::size_t i = 0; i < part->lanes.size(); ++i) {
    const LaneEvents &few = *part->lanes[i].events, &all = *whole->lanes[i].events;
    EXPECT_TRUE(quarter(few.size(), all.size())) << few.size();
    for (std::size_t e = 1; e <= few.size(); ++e) {
      const std::size_t a = few.size() - e, b = all.size() - e;
      ASSERT_EQ(few.begin[a], all.begin[b]);
      ASSERT_EQ(part->labels[few.label[a]].name, whole->labels[all.label[b]].name);
      ASSERT_EQ(few.collective[a] < 0, all.collective[b] < 0);
      if (few.collective[a] < 0) continue;
      ASSERT_EQ(part->collectives[std::size_t(few.collective[a])].seq, whole->collectives[std::size_t(all.collective[b])].seq);
    }
  }
  for (const auto& prediction : part->predictions) EXPECT_TRUE(prediction.as_planned);
}

// All of its members have issued it, and none can go on to it.
TEST_F(LoaderTest, WhatWaitsInACircleIsNotToldAsMatched) {
  const std::string path = folder_.filePath(QStringLiteral("circle.db")).toStdString();
  traces::TraceWriter writer(path);
  const traces::Id program = writer.add(traces::ProgramRow{.name = "send", .devices = {0, 1}, .processes = {0, 1}});
  for (const traces::Id diagnosis : {1, 0})
    writer.add(traces::CollectiveRow{.program = program,
                                     .launch = 1 - diagnosis,
                                     .what = {.kind = "transfer"},
                                     .state = traces::MatchState::kMatched,
                                     .diagnosis = diagnosis});
  writer.add(Diagnosis{.code = "deadlock", .severity = "error", .message = "m"});
  writer.finish();
  const TracePtr trace = load_trace({.path = path});
  ASSERT_EQ(trace->collectives.size(), 2U);
  EXPECT_EQ(trace->collectives[0].state, "in a circle");
  EXPECT_EQ(trace->collectives[1].state, "matched");
}

TEST_F(LoaderTest, DevicesInLockstepShareOneStore) {
  const TracePtr trace = load_trace({.path = make("devices512")});
  std::set<const LaneEvents*> stores;
  for (const auto& lane : trace->lanes) stores.insert(lane.events.get());
  EXPECT_LT(stores.size(), trace->lanes.size() / 8);
}

// Two stages of a pipeline in one process: what they compute at the same time lies on the lanes of their devices alone.
TEST_F(LoaderTest, StagesOfOneProcessHaveLanesOfTheirOwn) {
  const std::string path = folder_.filePath(QStringLiteral("stages.db")).toStdString();
  traces::TraceWriter writer(path);
  writer.add(traces::ProcessRow{.process = 0, .pid = 1, .host = "node0"});
  const traces::Id batch = writer.add_track({.kind = traces::TrackKind::kBatch, .process = 0, .name = "devices"});
  const std::vector<std::vector<int>> stages{{0, 1}, {2, 3}};
  for (int d = 0; d < 4; ++d) {
    writer.add(traces::DeviceRow{d, 0, d, "cpu", "CPU"});
    writer.add_track({.kind = traces::TrackKind::kDevice, .process = 0, .device = d, .batch_track = batch, .name = "CPU"});
  }
  for (std::int64_t launch = 0; launch < 6; ++launch) {
    const std::vector<int>& devices = stages[std::size_t(launch % 2)];
    traces::ProgramRow program{.fingerprint = std::uint64_t(launch), .name = "stage", .devices = devices, .processes = {0}};
    writer.add(traces::LaunchRow{.process = 0, .launch = launch, .program = writer.add(program)});
    writer.add(traces::EventRow{.track = batch,
                                .time_ns = 1000 * launch,
                                .duration_ns = 1900,
                                .name = launch % 2 == 0 ? "first" : "second",
                                .launch = launch,
                                .flags = traces::kBatched,
                                .devices = &devices});
  }
  writer.finish();
  const TracePtr trace = load_trace({.path = path});
  std::vector<int> lanes_of(4);
  for (const auto& lane : trace->lanes) {
    if (lane.device < 0) continue;
    ++lanes_of[std::size_t(lane.device)];
    ASSERT_EQ(lane.events->size(), 3U) << "device " << lane.device;
    EXPECT_EQ(lane.summary.count, 3);
    for (const auto label : lane.events->label)
      EXPECT_EQ(trace->labels[label].name, lane.device < 2 ? "first" : "second") << "device " << lane.device;
  }
  EXPECT_EQ(lanes_of, std::vector<int>(4, 1));
}

TEST_F(LoaderTest, SaysWhyAFileCannotBeOpened) {
  EXPECT_THROW(load_trace({.path = "/nowhere/at/all.db"}), IoError);
  const std::string path = folder_.filePath(QStringLiteral("text.db")).toStdString();
  std::ofstream(path) << "not a database, only text that goes on for a while";
  try {
    load_trace({.path = path});
    FAIL() << "text was taken for a trace";
  } catch (const IoError& problem) { EXPECT_NE(std::string(problem.what()).find("text.db"), std::string::npos) << problem.what(); }
}

TEST_F(LoaderTest, CanBeStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(load_trace({.path = make("toy"), .stop = stop.get_token()}), nullptr);
}

TEST_F(LoaderTest, AJobTellsOnlyItsNewestResult) {
  const std::string toy = make("toy"), deadlock = make("deadlock");
  LoadJob job;
  QSignalSpy finished(&job, &LoadJob::finished), failed(&job, &LoadJob::failed);
  job.start(deadlock);
  job.start(toy);
  ASSERT_TRUE(finished.wait(10'000));
  EXPECT_EQ(finished.count(), 1);
  EXPECT_EQ(finished[0][0].value<TracePtr>()->title, "toy.db");
  job.start("/nowhere.db");
  ASSERT_TRUE(failed.wait(10'000));
  EXPECT_TRUE(failed[0][0].toString().contains(QStringLiteral("nowhere.db")));
  EXPECT_FALSE(job.running());
}

}  // namespace
}  // namespace shardlab::gui
