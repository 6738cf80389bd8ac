// A trace that grows is read on from where the last load stopped, and is at every growth what a whole read of it is.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <QTemporaryDir>

#include <random>

#include "gui/models/load_job.h"
#include "gui/models/trace_loader.h"
#include "traces/trace_writer.h"

namespace shardlab::gui {
namespace {

using traces::Id;
using traces::kNoTime;

constexpr int kProcesses = 3, kLocal = 2;

// All that the window knows of a trace, with texts in place of what counts otherwise (labels, shared objects).
std::string told(const TraceData& trace) {
  std::string text = fmt::format("{} {}..{} running {}\n", trace.title, trace.range.begin, trace.range.end, trace.running);
  for (const auto& each : trace.arrays)
    text += fmt::format("array {} {} {} at {} {} p{} l{} {}\n", each.name, each.dtype, each.layout->spec, each.site, each.time,
                        each.process, each.launch, each.layout->shards.size());
  for (const auto& each : trace.collectives) {
    text += fmt::format("collective {} {} {} seq {} program {} call {} launch {} {} {} {} {} at {} groups {}\n", each.type->kind,
                        each.type->op, each.type->bytes, each.seq, each.program, each.call, each.launch, each.state, each.diagnosis,
                        each.failed, each.open, each.type->site, each.type->groups->lists);
    for (const auto& member : each.members)
      text += fmt::format("  p{} d{} {} {} {} at {} {}\n", member.process, member.device, member.enter, member.start, member.exit,
                          member.site, member.moved_bytes);
    text += fmt::format("  not begun {}\n", each.not_begun);
  }
  for (const auto& each : trace.launches)
    text += fmt::format("launch p{} {} seq {} program {} at {} {} {} {}\n", each.process, each.number, each.seq, each.program, each.site,
                        each.issued, each.started, each.done);
  for (const auto& each : trace.host_reads)
    text += fmt::format("read p{} {} {} {} at {}\n", each.process, each.begin, each.end, each.what, each.site);
  for (const auto& each : trace.wait_edges)
    text += fmt::format("wait p{} {} {} {} of {}\n", each.process, each.peer, each.begin, each.end, each.collective);
  for (const auto& each : trace.predictions)
    text += fmt::format("planned {} {} {} {} runs {} recorded {} {} {} {}\n", each.program, each.call, each.result, each.array, each.runs,
                        each.recorded, each.collective, each.moved_bytes, each.as_planned);
  for (const auto& lane : trace.lanes) {
    text += fmt::format("lane p{} d{} {} of {} {} busy {}\n", lane.process, lane.device, lane.name, lane.summary.count, lane.summary.last,
                        lane.events->summary().busy);
    for (std::size_t i = 0; i < lane.events->size(); ++i) {
      const Label& label = trace.labels[lane.events->label[i]];
      text += fmt::format("  {} {} {} at {} of {} kind {} flags {}\n", lane.events->begin[i], lane.events->end[i], label.name, label.site,
                          lane.events->collective[i], int(lane.events->kind[i]), lane.events->flags[i]);
    }
  }
  return text;
}

// Grows as a run does: launches settle in any order, what is not settled is written anew each time, with other times.
class Grower {
 public:
  Grower(std::string path, unsigned seed) : random_(seed), writer_(std::move(path), traces::kSmallPages, traces::Writing::kGrowing) {}

  void grow(int fresh) {
    writer_.resume();
    if (tracks_.empty()) write_tracks();
    for (int i = 0; i < fresh; ++i) open_.push_back(launches_++);
    std::shuffle(open_.begin(), open_.end(), random_);
    const auto settled = std::size_t(open_.empty() ? 0 : random_() % (open_.size() + 1));
    for (std::size_t i = 0; i < settled; ++i) write_launch(open_[i], true);
    open_.erase(open_.begin(), open_.begin() + std::ptrdiff_t(settled));
    writer_.begin_provisional();
    for (const int launch : open_)
      if (random_() % 4 != 0) write_launch(launch, random_() % 2 == 0);
    for (int p = 0; p < kProcesses; ++p) writer_.add(traces::ProcessRow{.process = p, .host = "here", .first_ns = 0, .last_ns = now_});
    for (int d = 0; d < kProcesses * kLocal; ++d)
      writer_.add(traces::DeviceRow{
          .ordinal = d, .process = d / kLocal, .local_index = d % kLocal, .kind = "cpu", .name = fmt::format("CPU {}", d)});
    writer_.meta("running", "1");
    writer_.publish();
    now_ += 1000;
  }

 private:
  void write_tracks() {
    for (int p = 0; p < kProcesses; ++p) {
      tracks_.push_back(writer_.add_track({.kind = traces::TrackKind::kHost, .process = p, .name = "host"}));
      const Id batch = writer_.add_track({.kind = traces::TrackKind::kBatch, .process = p, .name = "devices"});
      tracks_.push_back(batch);
      for (int d = 0; d < kLocal; ++d)
        tracks_.push_back(writer_.add_track({.kind = traces::TrackKind::kDevice,
                                             .process = p,
                                             .device = p * kLocal + d,
                                             .batch_track = p == 0 ? 0 : batch,  // process 0's devices have events of their own
                                             .name = fmt::format("CPU {}", p * kLocal + d)}));
    }
  }
  Id track(int process, int which) const { return tracks_[std::size_t(process * (2 + kLocal) + which)]; }
  Ns about(int launch) { return launch * 300 + Ns(random_() % 900); }  // often out of order

  // A program, a layout, a string or a site may come for the first time in what is taken back.
  Id program(int kind) {
    traces::ProgramRow row{.name = fmt::format("f{}", kind), .devices = {0, 1, 2, 3, 4, 5}, .processes = {0, 1, 2}};
    row.values.push_back({.is_result = true, .name = "y", .dtype = "float32", .sharding = "P('a',)", .shape = {8}});
    row.collectives.push_back(what(kind));
    return writer_.add(row);
  }
  traces::CollectiveShape what(int kind) {
    return {.kind = "all-reduce",
            .groups = kind == 0 ? "[[0,1,2,3,4,5]]" : "[[0,2],[1,3]]",
            .axes = R"(["a"])",
            .dtype = "float32",
            .shape = "[8]",
            .bytes = 32 + kind,
            .wire_bytes = 64,
            .reduction = "sum",
            .op = "sum",
            .site = site(kind)};
  }
  Id site(int kind) { return writer_.site({.file = "toy.cpp", .function = "main", .line = 10 + kind}); }

  void write_launch(int launch, bool whole) {
    const int kind = launch % 2;
    const Id f = program(kind);
    const Ns begin = about(launch);
    Id collectives[2];
    for (int call = 0; call < 2; ++call) {
      traces::CollectiveRow row{.seq = launch,
                                .program = f,
                                .call = call,
                                .launch = launch,
                                .what = what(kind),
                                .state = whole ? traces::MatchState::kMatched : traces::MatchState::kPartial,
                                .first_ns = begin + Ns(random_() % 50),
                                .last_ns = begin + 200};
      for (int p = 0; p < (whole ? kProcesses : 1 + int(random_() % 2)); ++p)
        row.members.push_back({.process = p,
                               .launch = launch,
                               .site = site(kind),
                               .issued_ns = begin,
                               .start_ns = begin + p,
                               .wait_ns = kNoTime,
                               .end_ns = whole ? begin + 100 : kNoTime,
                               .moved_bytes = 8});
      collectives[call] = writer_.add(row);
      writer_.add(traces::WaitEdgeRow{.process = int(random_() % kProcesses),
                                      .peer = 1,
                                      .begin_ns = begin + call,
                                      .end_ns = begin + 50,
                                      .collective = collectives[call]});
    }
    for (int p = 0; p < kProcesses; ++p) {
      writer_.add(traces::LaunchRow{.process = p,
                                    .launch = launch,
                                    .seq = launch,
                                    .program = f,
                                    .site = site(kind),
                                    .issued_ns = begin,
                                    .started_ns = begin + 10,
                                    .done_ns = whole ? begin + 100 : kNoTime});
      for (int which = 0; which < (p == 0 ? 2 + kLocal : 2); ++which) {
        if (p == 0 && which == 1) continue;
        writer_.add(traces::EventRow{.track = track(p, which),
                                     .time_ns = begin + p,
                                     .duration_ns = whole ? Ns(random_() % 400) : kNoTime,
                                     .kind = which == 0 ? traces::EventKind::kLaunch : traces::EventKind::kCollective,
                                     .name = fmt::format("op {}", launch % 7),
                                     .collective = which == 0 ? 0 : collectives[random_() % 2],
                                     .launch = launch,
                                     .site = site(launch % 3),
                                     .flags = std::uint32_t(p > 0 && which == 1 ? traces::kBatched : 0)});
      }
    }
    traces::LayoutRow layout{.shape = {8}, .spec = kind == 0 ? "P('a',)" : "P()", .axes = {{}}};
    for (int d = 0; d < 2; ++d) layout.shards.push_back({.device = d, .ranges = {{4 * d, 4 * d + 4}}});
    writer_.add(traces::ArrayRow{.name = fmt::format("x{}", launch % 5),
                                 .dtype = "float32",
                                 .layout = writer_.add(layout),
                                 .process = 0,
                                 .launch = launch,
                                 .site = site(kind),
                                 .time_ns = begin + Ns(random_() % 100),
                                 .processes = {0, 1, 2}});
    writer_.add(traces::HostReadRow{
        .process = launch % kProcesses, .begin_ns = begin, .end_ns = whole ? begin + 5 : kNoTime, .what = "print", .site = site(kind)});
  }

  std::mt19937 random_;
  traces::TraceWriter writer_;
  std::vector<Id> tracks_;
  std::vector<int> open_;
  int launches_ = 0;
  Ns now_ = 0;
};

class GrowthTest : public testing::TestWithParam<unsigned> {
 protected:
  QTemporaryDir folder_;
  std::string path_ = folder_.filePath(QStringLiteral("live.db")).toStdString();
};

TEST_P(GrowthTest, IsAtEveryGrowthWhatAWholeReadIs) {
  Grower grower(path_, GetParam());
  std::mt19937 random(GetParam());
  LastLoad last;
  for (int look = 0; look < 30; ++look) {
    grower.grow(int(random() % 6));
    if (random() % 8 == 0) continue;  // a look that nobody took: all is read again
    const TracePtr grown = load_trace({.path = path_, .last = &last});
    ASSERT_EQ(told(*grown), told(*load_trace({.path = path_}))) << "look " << look;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GrowthTest, testing::Range(1U, 13U));

TEST_F(GrowthTest, ReadsOnlyWhatIsNew) {
  Grower grower(path_, 5);
  LastLoad last;
  grower.grow(400);
  load_trace({.path = path_, .last = &last});
  EXPECT_GT(last.rows_read(), 4000);
  for (int look = 0; look < 20; ++look) {  // until what was open at first has settled
    grower.grow(0);
    load_trace({.path = path_, .last = &last});
  }
  grower.grow(3);
  const TracePtr trace = load_trace({.path = path_, .last = &last});
  EXPECT_GE(trace->launches.size(), 3 * 400U);
  EXPECT_LT(last.rows_read(), 400);
}

// Another file under that name, a load that was stopped, a trace that does not grow: all is read, nothing of before is left.
TEST_F(GrowthTest, NothingOfAnotherTraceIsTaken) {
  LastLoad last;
  {
    Grower grower(path_, 7);
    grower.grow(9);
    load_trace({.path = path_, .last = &last});
  }
  Grower grower(path_, 8);
  grower.grow(4);
  grower.grow(4);
  ASSERT_EQ(told(*load_trace({.path = path_, .last = &last})), told(*load_trace({.path = path_})));
  std::stop_source stop;
  stop.request_stop();
  grower.grow(4);
  EXPECT_FALSE(load_trace({.path = path_, .stop = stop.get_token(), .last = &last}));
  EXPECT_EQ(last.rows_read(), 0);
  ASSERT_EQ(told(*load_trace({.path = path_, .last = &last})), told(*load_trace({.path = path_})));
}

}  // namespace
}  // namespace shardlab::gui
