// The filter language, the events it finds, and tables as CSV and JSON.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardItemModel>

#include <numeric>

#include "gui/models/event_model.h"
#include "gui/models/fold_set.h"
#include "gui/models/stats.h"
#include "gui/views/table_export.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

std::size_t count(const TraceData& trace, const char* text) {
  QString error;
  const Filter filter = Filter::parse(QString::fromUtf8(text), &error);
  EXPECT_TRUE(error.isEmpty()) << text << ": " << error.toStdString();
  return find_events(trace, filter, 1 << 30, {}).size();
}

TEST(Filter, FindsWhatALoopFinds) {
  const auto trace = sample::deadlock();
  std::size_t all = 0, compute = 0, on_two = 0, longer = 0, open = 0;
  for (const auto& lane : trace->lanes)
    for (std::size_t i = 0; i < lane.events->size(); ++i) {
      ++all;
      compute += lane.events->kind[i] == EventKind::kCompute;
      on_two += lane.device == 2;
      longer += lane.events->end[i] - lane.events->begin[i] > 20'000;
      open += (lane.events->flags[i] & kFlagOpen) != 0;
    }
  EXPECT_EQ(count(*trace, ""), all);
  EXPECT_EQ(count(*trace, "kind:compute"), compute);
  EXPECT_EQ(count(*trace, "-kind:compute"), all - compute);
  EXPECT_EQ(count(*trace, "dev:2"), on_two);
  EXPECT_EQ(count(*trace, "dur>20us"), longer);
  EXPECT_EQ(count(*trace, "dur>0.02ms"), longer);
  EXPECT_EQ(count(*trace, "state:open"), open);
  EXPECT_EQ(count(*trace, "dev:0-1,3 at:toy.cpp MATMUL"), count(*trace, "dev:0,1,3 at:toy matmul"));
  EXPECT_GT(count(*trace, "dev:0-1,3 matmul"), 0U);
  EXPECT_EQ(count(*trace, "nothinglikethis"), 0U);
}

TEST(Filter, SaysWhatIsWrong) {
  for (const auto& [text, wanted] :
       {std::pair("knd:compute", "did you mean 'kind'"), {"dur>fast", "dur>10us"}, {"dev:x", "dev:0-3"}, {"kind>3", "number"}}) {
    QString error;
    EXPECT_TRUE(Filter::parse(QString::fromUtf8(text), &error).empty());
    EXPECT_TRUE(error.contains(QString::fromUtf8(wanted))) << error.toStdString();
  }
}

TEST(EventModel, KeepsTheRulesAndSorts) {
  const auto trace = sample::toy();
  EventModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_rows(trace, find_events(*trace, {}, 1 << 30, {}));
  for (int column = 0; column < model.columnCount(); ++column) {
    model.sort(column, Qt::DescendingOrder);
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
  }
  model.sort(EventModel::kTook, Qt::AscendingOrder);
  const auto length = [&](int row) {
    const EventRef ref = model.at(row);
    return trace->lanes[ref.lane].events->end[ref.event] - trace->lanes[ref.lane].events->begin[ref.event];
  };
  for (int row = 1; row < model.rowCount(); ++row) EXPECT_LE(length(row - 1), length(row));
  EXPECT_GE(model.row_of(int(model.at(3).lane), model.at(3).event), 0);
  model.set_rows(nullptr, {});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(TableExport, QuotesWhatNeedsQuotes) {
  QStandardItemModel model(1, 2);
  model.setHorizontalHeaderLabels({QStringLiteral("a,b"), QStringLiteral("c")});
  model.setItem(0, 0, new QStandardItem(QStringLiteral("say \"x\"\nthen")));
  model.setItem(0, 1, new QStandardItem(QStringLiteral("plain")));
  EXPECT_EQ(table_csv(model), "\"a,b\",c\r\n\"say \"\"x\"\"\nthen\",plain\r\n");
  const auto json = QJsonDocument::fromJson(table_json(model)).array();
  EXPECT_EQ(json[0].toObject()[QStringLiteral("c")].toString(), QStringLiteral("plain"));
}

// Folded ahead or while painting: the same items.
TEST(FoldSet, GivesWhatFoldingTheWindowGives) {
  TraceData data;
  data.lanes.resize(2);
  for (unsigned seed : {1U, 2U}) {
    *data.lanes[seed - 1].events = sample::random_lane(seed, 20'000, 3);
    data.lanes[seed - 1].device = int(seed);
  }
  data.labels.push_back({"op", -1});
  finish(data);
  const auto trace = std::make_shared<const TraceData>(std::move(data));
  const TimeRange whole = trace->range;
  for (const Ns level : {Ns{1}, Ns{64}, Ns{4096}}) {
    const FoldSet set(trace, {0, 1}, whole, level, {});
    EXPECT_TRUE(set.covers({whole.begin + 10, whole.end - 10}));
    for (const auto& lane : trace->lanes)
      for (int k = 0; k < 20; ++k) {
        const TimeRange window{whole.begin + k * 4096 * 3, whole.begin + k * 4096 * 3 + whole.length() / 7};
        std::vector<LaneItem> direct;
        fold_lane(*lane.events, window, level, direct);
        const auto made = set.items(lane, window);
        // The first of a window may be a part of a stretch that began before it.
        std::int64_t a = 0, b = 0;
        for (const auto& item : direct) a += item.begin >= window.begin + level ? item.count : 0;
        for (const auto& item : made) b += item.begin >= window.begin + level ? item.count : 0;
        EXPECT_NEAR(double(a), double(b), double(std::max<std::int64_t>(level / 8, 2)));
      }
  }
  EXPECT_EQ(FoldSet::level(100, 2), 256);
  EXPECT_EQ(FoldSet::level(0.001, 2), 1);
}

// By the texts that are shown, or by the numbers behind them; a search by typing only where it takes no time.
TEST(EventModel, SortsEveryColumnAndSearchesSmallTablesAlone) {
  const TracePtr trace = sample::deadlock();
  EventModel model;
  model.set_rows(trace, find_events(*trace, {}, 1 << 20, {}));
  for (const int column : {EventModel::kKind, EventModel::kName, EventModel::kWhere}) {
    model.sort(column, Qt::DescendingOrder);
    for (int row = 1; row < model.rowCount(); ++row)
      EXPECT_GE(model.index(row - 1, column).data().toString().toStdString(), model.index(row, column).data().toString().toStdString());
  }
  model.sort(EventModel::kBegins, Qt::AscendingOrder);
  const auto begin = [&](int row) { return trace->lanes[model.at(row).lane].events->begin[model.at(row).event]; };
  for (int row = 1; row < model.rowCount(); ++row) EXPECT_LE(begin(row - 1), begin(row));
  const auto typed = [](const EventModel& in) {
    return in.match(in.index(0, EventModel::kName), Qt::DisplayRole, QStringLiteral("matmul"), 1, Qt::MatchStartsWith);
  };
  EXPECT_EQ(typed(model).size(), 1);
  const TracePtr large = sample::grid(8, 8, 8, 60);
  model.set_rows(large, find_events(*large, {}, 1 << 20, {}));
  ASSERT_GT(model.rowCount(), 5000);
  EXPECT_TRUE(typed(model).empty());
}

TEST(Stats, SumsByKindPlaceProcessAndGroup) {
  const TracePtr trace = sample::toy();
  const auto rows_by = [&](StatsBy by) { return make_stats(*trace, by, trace->range); };
  std::int64_t events = 0;
  for (const auto& lane : trace->lanes) events += std::int64_t(lane.events->size());
  for (const auto& def : all_stats_by()) {
    std::int64_t counted = 0;
    for (const auto& row : rows_by(def.by)) {
      counted += row.count;
      EXPECT_EQ(std::accumulate(row.bins.begin(), row.bins.end(), std::int64_t{0}), row.count) << def.title << " " << row.name;
      EXPECT_TRUE(row.median <= row.p95 && row.p95 <= row.longest && row.longest <= row.total) << def.title << " " << row.name;
      const LaneEvents& lane = *trace->lanes[std::size_t(row.lane)].events;
      EXPECT_EQ(lane.end[std::size_t(row.event)] - lane.begin[std::size_t(row.event)], row.longest) << def.title << " " << row.name;
    }
    EXPECT_TRUE(counted == events || def.by == StatsBy::kGroup) << def.title;
  }
  EXPECT_EQ(rows_by(StatsBy::kProcess).size(), trace->processes.size());
  std::int64_t members = 0;
  for (const auto& row : rows_by(StatsBy::kGroup)) members += row.count;
  EXPECT_GT(members, 0);
  EXPECT_LT(members, events) << "collectives alone have groups";
  EXPECT_EQ(rows_by(StatsBy::kPlace)[0].processes.size(), trace->processes.size()) << "all processes run the same lines";
  EXPECT_TRUE(make_stats(*trace, StatsBy::kKind, {trace->range.end + 10, trace->range.end + 20}).empty());
  for (const Ns length : {Ns{0}, Ns{1}, Ns{999}, Ns{1000}, Ns{1'000'000'000}}) {
    const int bin = stats_bin(length);
    EXPECT_TRUE(stats_bin_begin(bin) <= std::max<Ns>(length, 1) && length < stats_bin_begin(bin + 1)) << length;
  }
  StatsModel model;
  QAbstractItemModelTester tester(&model);
  model.set_rows(rows_by(StatsBy::kName));
  for (int c = 0; c < StatsModel::kColumnCount; ++c) model.sort(c, Qt::AscendingOrder);
  EXPECT_GE(model.at(model.rowCount() - 1).processes.size(), model.at(0).processes.size());
}

}  // namespace
}  // namespace shardlab::gui
