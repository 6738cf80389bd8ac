// Reading trace files: what is in the file is in the window, what is missing is said.
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTemporaryDir>

#include <fstream>

#include "gui/models/load_job.h"
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
