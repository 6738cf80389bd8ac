// Other time axes, bytes in flight, comparison of runs, and what is kept beside a trace.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QTemporaryDir>

#include "gui/app/view_state.h"
#include "gui/models/compare.h"
#include "gui/models/frame_log.h"
#include "gui/models/retime.h"
#include "gui/models/run_shift.h"
#include "gui/models/step_counter.h"
#include "gui/models/text_twin.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

TEST(FrameLog, KeepsTheLastAndCountsAll) {
  FrameLog log;
  EXPECT_EQ(log.percentile(0.95), 0);
  for (int i = 1; i <= 100; ++i) log.add(i);
  EXPECT_EQ(log.percentile(0.5), 50);
  EXPECT_EQ(log.percentile(0.95), 95);
  EXPECT_EQ(log.percentile(1), 100);
  EXPECT_EQ(log.percentile(0), 1);
  EXPECT_EQ(log.last(), 100);
  log.add(FrameLog::kBudget + 1);
  for (std::size_t i = 0; i < FrameLog::kKept; ++i) log.add(Ns(i));
  EXPECT_EQ(log.kept(), FrameLog::kKept);
  EXPECT_EQ(log.at(0), 0) << "the oldest that is kept";
  EXPECT_EQ(log.last(), Ns(FrameLog::kKept) - 1);
  EXPECT_EQ(log.percentile(1), Ns(FrameLog::kKept) - 1) << "the long one is forgotten,";
  EXPECT_EQ(log.longest(), FrameLog::kBudget + 1) << "but not that there was one";
  EXPECT_EQ(log.over_budget(), 1);
  EXPECT_EQ(log.count(), 341);
}

TEST(Retime, KeepsEveryRowAndTheOrderInEachLane) {
  for (const auto& kind : sample::kinds())
    for (const TimeAxis axis : {TimeAxis::kVirtual, TimeAxis::kLogical}) {
      SCOPED_TRACE(kind.name);
      const TracePtr trace = kind.make(), other = retime(*trace, axis);
      ASSERT_EQ(other->lanes.size(), trace->lanes.size());
      ASSERT_EQ(other->collectives.size(), trace->collectives.size());
      for (std::size_t l = 0; l < trace->lanes.size(); ++l) {
        const LaneEvents &before = *trace->lanes[l].events, &after = *other->lanes[l].events;
        ASSERT_EQ(before.size(), after.size());
        for (std::size_t i = 0; i < after.size(); ++i) {
          EXPECT_LE(after.begin[i], after.end[i]);
          if (i > 0) { EXPECT_GE(after.begin[i], after.end[i - 1]); }
          EXPECT_EQ(before.label[i], after.label[i]);
          EXPECT_EQ(before.flags[i] & kFlagError, after.flags[i] & kFlagError);
        }
      }
    }
}

TEST(Retime, MembersOfACollectiveEndTogetherAfterTheLastHasCome) {
  const TracePtr trace = sample::grid(4, 2, 2, 5);
  for (const TimeAxis axis : {TimeAxis::kVirtual, TimeAxis::kLogical}) {
    const TracePtr other = retime(*trace, axis);
    for (const auto& call : other->collectives) {
      Ns last = 0, end = -1;
      for (const auto& member : call.members) {
        last = std::max(last, member.enter);
        EXPECT_TRUE(end < 0 || end == member.exit);
        end = member.exit;
      }
      EXPECT_GE(end, last);
    }
  }
}

TEST(Retime, LogicalStepsCountEvents) {
  const TracePtr trace = sample::grid(2, 2, 4, 3), other = retime(*trace, TimeAxis::kLogical);
  for (const auto& lane : other->lanes)
    for (std::size_t i = 0; i < lane.events->size(); ++i) EXPECT_EQ(lane.events->begin[i], Ns(i) * kLogicalStep);
}

TEST(Retime, TimeSlicingDisappearsOnTheVirtualAxis) {
  // Two devices that took turns on one core: side by side when each has its own clock.
  TraceData data;
  data.labels.push_back({"op", -1});
  for (int d = 0; d < 2; ++d) {
    data.devices.push_back({.ordinal = d});
    Lane lane{.device = d, .name = "CPU"};
    LaneEvents& events = *lane.events;
    for (int i = 0; i < 3; ++i) {
      events.begin.push_back(i * 200 + d * 100);
      events.end.push_back(i * 200 + d * 100 + 100);
      events.label.push_back(0);
      events.collective.push_back(-1);
      events.kind.push_back(EventKind::kCompute);
    }
    data.lanes.push_back(lane);
  }
  finish(data);
  EXPECT_EQ(data.range.length(), 600);
  EXPECT_EQ(retime(data, TimeAxis::kVirtual)->range.length(), 300);
}

TEST(BytesInFlight, AreTheSumOfWhatOverlaps) {
  const TracePtr trace = sample::toy();
  const StepCounter& counter = *trace->bytes_in_flight;
  std::int64_t most = 0;
  for (Ns time = trace->range.begin; time < trace->range.end; time += 500) {
    std::int64_t sum = 0;
    for (const auto& call : trace->collectives)
      for (const auto& member : call.members)
        if ((member.start == kOpen ? member.enter : member.start) <= time && (member.exit == kOpen || time < member.exit))
          sum += call.type->bytes;
    EXPECT_EQ(counter.most_in(time, time + 1).value, sum) << time;
    most = std::max(most, sum);
  }
  EXPECT_GE(counter.most().value, most);
}

TEST(Compare, EqualRunsAreEqualAndTheFirstDifferenceIsFound) {
  const TracePtr toy = sample::toy();
  EXPECT_EQ(compare_traces(*toy, *sample::toy()).first_divergence, -1);
  TraceData changed = *toy;
  auto type = *changed.collectives[1].type;
  type.wire_bytes *= 2;
  changed.collectives[1].type = std::make_shared<CollectiveType>(type);
  Comparison comparison = compare_traces(*toy, changed);
  EXPECT_EQ(comparison.first_divergence, 1);
  EXPECT_TRUE(comparison.verdict.contains(QStringLiteral("wire"))) << comparison.verdict.toStdString();
  const QString text = compare_text(*toy, changed, comparison);
  EXPECT_TRUE(text.contains(comparison.verdict));
  const QStringList lines = text.split(QLatin1Char('\n')).filter(QStringLiteral("≠")).filter(QStringLiteral("all-reduce"));
  ASSERT_EQ(lines.size(), 1) << text.toStdString();
  EXPECT_TRUE(lines[0].contains(QStringLiteral("wire"))) << text.toStdString();
  // One more in the middle: what follows is still aligned.
  changed = *toy;
  changed.collectives.insert(changed.collectives.begin() + 1, changed.collectives[2]);
  comparison = compare_traces(*toy, changed);
  EXPECT_EQ(comparison.first_divergence, 1);
  EXPECT_EQ(comparison.pairs.back().left, int(toy->collectives.size()) - 1);
  EXPECT_EQ(comparison.pairs.back().right, int(changed.collectives.size()) - 1);
  EXPECT_EQ(compare_traces(*sample::empty(), *sample::empty()).first_divergence, -1);
}

// Every array of a trace has values: `hash` and twice the norm at `changed`.
TracePtr with_values(const TracePtr& trace, int changed, double factor) {
  auto made = std::make_shared<TraceData>(*trace);
  for (std::size_t i = 0; i < made->arrays.size(); ++i) {
    const bool other = int(i) == changed;
    const double by = other ? factor : 1;
    traces::WholeChecksum values{
        .checksum = {.hash = 100 + i + (other ? 1000 : 0), .numbers = 8, .min = -by, .max = by, .sum = 0, .squares = 4 * by * by},
        .known = true,
        .odd_replicas = {}};
    values.checksum.sketches = {by, by, by, by};
    made->arrays[i].values = std::make_shared<const traces::WholeChecksum>(std::move(values));
  }
  return made;
}

TEST(Compare, SaysWhichArrayDiffersFirst) {
  const TracePtr plain = sample::toy();
  ASSERT_GE(plain->arrays.size(), 2U);
  EXPECT_TRUE(compare_traces(*plain, *with_values(plain, -1, 1)).values.pairs.empty()) << "a run without checksums has nothing to say";
  const TracePtr one = with_values(plain, -1, 1);
  EXPECT_TRUE(compare_traces(*one, *one).verdict.contains(QStringLiteral("equal bit for bit")));
  const auto sentence = [&](double factor) { return compare_traces(*one, *with_values(plain, 1, factor)).verdict.toStdString(); };
  const std::string name = one->arrays[1].name;
  EXPECT_NE(sentence(1 + 1e-7).find("Values differ by rounding alone, first at"), std::string::npos) << sentence(1 + 1e-7);
  EXPECT_NE(sentence(2).find("Values first differ at"), std::string::npos) << sentence(2);
  EXPECT_NE(sentence(2).find(name), std::string::npos);

  const TracePtr other = with_values(plain, 1, 2);
  const auto compared = std::make_shared<const Compared>(Compared{one, other, compare_traces(*one, *other)});
  CompareValuesModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set(compared);
  ASSERT_EQ(model.rowCount(), int(one->arrays.size()));
  EXPECT_EQ(model.index(0, CompareValuesModel::kLikeness).data().toString(), QStringLiteral("equal bit for bit"));
  EXPECT_EQ(model.index(0, 0).data(CompareValuesModel::kLikenessRole).toInt(), int(Likeness::kEqual));
  EXPECT_EQ(model.index(1, 0).data(CompareValuesModel::kLikenessRole).toInt(), int(Likeness::kDifferent));
  EXPECT_TRUE(model.index(1, CompareValuesModel::kDistance).data().toString().contains(QStringLiteral("of the norm")));
  const QString text = compare_text(*one, *other, compared->comparison);
  EXPECT_TRUE(text.contains(QStringLiteral("different"))) << text.toStdString();
  EXPECT_TRUE(array_text(*one, 1).contains(QStringLiteral("8 numbers from -1 to 1")));
}

TEST(RunShift, AlignsAtWhatIsChosen) {
  EXPECT_EQ(parse_shift(QStringLiteral("3.2 ms")), Ns(3'200'000));
  EXPECT_EQ(parse_shift(QStringLiteral("-40us")), Ns(-40'000));
  EXPECT_EQ(parse_shift(QStringLiteral(" +7 ")), Ns(7));
  for (const char* wrong : {"", "ms", "3 m", "1e3s", "999999999999 s", "3 ms later"})
    EXPECT_FALSE(parse_shift(QString::fromUtf8(wrong))) << wrong;

  const TracePtr toy = sample::toy();
  auto later = std::make_shared<TraceData>(*toy);
  later->range = {toy->range.begin - 500, toy->range.end};  // the second run began 500 ns before its first event
  SelectionState first, second;
  EXPECT_FALSE(aligned_here(*toy, first, *later, second)) << "nothing is chosen";
  first.collective = second.collective = 0;
  const auto shift = aligned_here(*toy, first, *later, second);
  ASSERT_TRUE(shift);
  EXPECT_EQ(shift->between(*toy, *later), 0) << "the same moment of both clocks";
  EXPECT_EQ(shift->offset, -500);
  EXPECT_TRUE(shift->text().contains(QStringLiteral("earlier"))) << shift->text().toStdString();
  EXPECT_EQ(RunShift().text(), QStringLiteral("aligned at start"));
  EXPECT_EQ(RunShift().between(*toy, *later), -500);
}

TEST(Compare, PairsAreATableThatFindsBothSides) {
  const auto toy = std::make_shared<TraceData>(*sample::toy());
  const auto changed = std::make_shared<TraceData>(*toy);
  changed->collectives.insert(changed->collectives.begin() + 1, changed->collectives[2]);
  ComparePairsModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_EQ(model.rowCount(), 0);
  model.set(std::make_shared<const Compared>(Compared{toy, changed, compare_traces(*toy, *changed)}));
  const Comparison& comparison = model.compared()->comparison;
  ASSERT_EQ(model.rowCount(), int(changed->collectives.size()));
  EXPECT_EQ(model.index(1, ComparePairsModel::kLeft).data().toString(), QStringLiteral("–"));
  EXPECT_EQ(model.index(1, ComparePairsModel::kDifferences).data().toString(), QStringLiteral("only in the second"));
  EXPECT_TRUE(model.index(1, 0).data(ComparePairsModel::kDiffersRole).toBool());
  EXPECT_FALSE(model.index(2, 0).data(ComparePairsModel::kDiffersRole).toBool());
  for (int left = 0; left < int(toy->collectives.size()); ++left)
    EXPECT_EQ(comparison.pairs[std::size_t(comparison.pair_of_left[std::size_t(left)])].left, left);
}

TEST(ViewState, ComesBackAsItWas) {
  QTemporaryDir folder;
  const QString trace = folder.filePath(QStringLiteral("run.db"));
  const ViewState state{.perspective = QStringLiteral("hang"),
                        .theme = QStringLiteral("dark"),
                        .window = {1'234'567'890'123'456'789, 1'234'567'890'123'999'999},
                        .marks = {{5, QStringLiteral("here")}},
                        .bookmarks = {{3, {7, 9}}},
                        .pinned = {{1, -1}},
                        .hidden = {{0, 4}},
                        .docks = QByteArray("\x00\x01", 2)};
  ASSERT_TRUE(write_state(trace, state));
  EXPECT_TRUE(read_state(trace) == state) << "times keep all their digits";
  EXPECT_TRUE(state_from_json("nothing like it") == ViewState{});
  EXPECT_FALSE(write_state(QStringLiteral("/nowhere/run.db"), state));
}

}  // namespace
}  // namespace shardlab::gui
