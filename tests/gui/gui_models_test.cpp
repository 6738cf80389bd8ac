// Item models under QAbstractItemModelTester, and their texts.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <QTemporaryDir>

#include "gui/models/prediction.h"
#include "gui/models/process_model.h"
#include "gui/models/table_def.h"
#include "gui/views/diagnosis_html.h"
#include "tests/gui/sample_traces.h"
#include "traces/trace_writer.h"

namespace shardlab::gui {
namespace {

std::vector<TracePtr> samples() {
  std::vector<TracePtr> all{nullptr};
  for (const auto& kind : sample::kinds()) all.push_back(kind.make());
  return all;
}

TEST(Tables, KeepTheRulesOfItemModels) {
  for (const TableDef* def : {&array_table(), &collective_table(), &diagnosis_table(), &prediction_table()}) {
    TraceTableModel model(*def);
    QSortFilterProxyModel proxy;
    proxy.setSourceModel(&model);
    proxy.setSortRole(TraceTableModel::kSortRole);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    QAbstractItemModelTester proxied(&proxy, QAbstractItemModelTester::FailureReportingMode::Fatal);
    for (const auto& trace : samples()) {
      model.set_trace(trace);
      for (int column = 0; column < model.columnCount(); ++column) {
        proxy.sort(column, Qt::DescendingOrder);
        EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
        EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
        for (int row = 0; row < model.rowCount(); ++row) EXPECT_TRUE(model.index(row, column).data().isValid());
      }
      proxy.setFilterFixedString(QStringLiteral("matmul"));
      proxy.setFilterFixedString({});
    }
  }
}

TEST(Tables, ShowWhatTheTraceHas) {
  TraceTableModel model(collective_table());
  model.set_trace(sample::deadlock());
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(1, 1).data().toString(), QStringLiteral("all-reduce"));
  EXPECT_EQ(model.index(1, 4).data().toString(), QStringLiteral("4 × 2"));
  EXPECT_EQ(model.index(2, 7).data().toString(), QStringLiteral("never ended"));
  EXPECT_EQ(model.index(2, 0).data(TraceTableModel::kToneRole).toInt(), int(RowTone::kError));
  TraceTableModel arrays(array_table());
  arrays.set_trace(sample::toy());
  EXPECT_EQ(arrays.index(0, 1).data().toString(), QStringLiteral("float32[8,16]"));
  EXPECT_EQ(arrays.index(0, 2).data().toString(), QStringLiteral("P('a', 'b')"));
  EXPECT_EQ(arrays.index(0, 5).data().toString(), QStringLiteral("toy.cpp:8"));
}

// Off the window's thread the same rows in the same order as Qt's own model finds on it.
TEST(Tables, FindAndSortRowsAsQtDoes) {
  for (const TableDef* def : {&array_table(), &collective_table(), &diagnosis_table(), &prediction_table()})
    for (const auto& trace : samples()) {
      if (!trace) continue;
      TraceTableModel all(*def), found(*def);
      QAbstractItemModelTester tester(&found, QAbstractItemModelTester::FailureReportingMode::Fatal);
      QSortFilterProxyModel proxy;
      proxy.setSourceModel(&all);
      proxy.setSortRole(TraceTableModel::kSortRole);
      proxy.setFilterKeyColumn(-1);
      proxy.setFilterCaseSensitivity(Qt::CaseInsensitive);
      all.set_trace(trace);
      for (const char* filter : {"", "ALL-", "p('", "nothing has this"})
        for (int column = -1; column < all.columnCount(); ++column)
          for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
            const QString text = QString::fromUtf8(filter);
            proxy.setFilterFixedString(text);
            proxy.sort(-1);  // equal ones as in the trace, not as they were sorted before
            proxy.sort(column, order);
            const RowsWanted wanted{.filter = text, .column = column, .order = order};
            found.set_rows(trace, find_rows(*def, *trace, wanted));
            ASSERT_EQ(found.rowCount(), proxy.rowCount()) << def->id << ": " << filter;
            for (int r = 0; r < found.rowCount(); ++r) {
              const int row = proxy.mapToSource(proxy.index(r, 0)).row();
              EXPECT_EQ(found.trace_row(r), row) << def->id << " by column " << column;
              EXPECT_EQ(found.row_of(row), r);
            }
          }
      EXPECT_EQ(found.row_of(-1), -1);
      found.set_trace(trace);
      EXPECT_EQ(found.rowCount(), all.rowCount());
    }
}

// A program of two planned collectives, run three times: one as planned, one with another number of bytes, one that nobody planned.
TEST(Prediction, ComparesThePlanWithTheRecord) {
  const auto type = [](const char* kind, std::int64_t bytes) {
    return std::make_shared<const CollectiveType>(CollectiveType{.kind = kind, .bytes = bytes, .wire_bytes = 2 * bytes});
  };
  auto trace = std::make_shared<TraceData>();
  trace->programs.push_back({.name = "f", .collectives = {type("all-reduce", 64), type("all-gather", 128)}});
  for (int process = 0; process < 2; ++process)
    for (int run = 0; run < 3; ++run)
      trace->launches.push_back({.process = process, .number = run, .seq = run, .program = 0, .started = 1, .done = 2});
  for (int run = 0; run < 3; ++run) {
    trace->collectives.push_back({.type = type("all-reduce", 64), .seq = run, .program = 0, .call = 0});
    trace->collectives.back().members = {{.process = 0, .moved_bytes = 5}, {.process = 1, .moved_bytes = 5}};
    trace->collectives.push_back({.type = type("all-gather", 256), .seq = run, .program = 0, .call = 1});
  }
  trace->collectives.push_back({.type = type("all-to-all", 8), .program = 0, .call = 2});
  trace->predictions = compare_with_plan(*trace);
  ASSERT_EQ(trace->predictions.size(), 3u);
  EXPECT_TRUE(trace->predictions[0].as_planned);
  EXPECT_EQ(trace->predictions[0].runs, 3) << "once a rank, however many processes issued it";
  EXPECT_EQ(trace->predictions[0].moved_bytes, 30);
  EXPECT_FALSE(trace->predictions[1].as_planned);
  EXPECT_FALSE(trace->predictions[2].as_planned);
  TraceTableModel model(prediction_table());
  model.set_trace(trace);
  const auto said = [&](int row) { return model.index(row, 4).data().toString(); };
  EXPECT_EQ(said(0), QStringLiteral("as planned"));
  EXPECT_TRUE(said(1).startsWith(QStringLiteral("256")) && said(1).contains(QStringLiteral("on a device"))) << said(1).toStdString();
  EXPECT_EQ(said(2), QStringLiteral("not planned"));
  EXPECT_EQ(model.index(1, 0).data(TraceTableModel::kToneRole).toInt(), int(RowTone::kWarning));
  // Of a collective whose program was lost there is no plan that it could be against.
  TraceData lost = *trace;
  for (auto& collective : lost.collectives) collective.program = -1;
  lost.programs.clear();
  lost.launches.clear();
  EXPECT_TRUE(compare_with_plan(lost).empty());
  // A run that was cut short lacks some, and is no surprise; one that ended and lacks some is.
  trace->collectives.resize(3);
  EXPECT_FALSE(compare_with_plan(*trace)[0].as_planned);
  trace->launches.back().done = kOpen;
  EXPECT_TRUE(compare_with_plan(*trace)[0].as_planned);
}

// A real file: both sides' statements stand in the page, in the words of the document.
TEST(Diagnoses, ShowTheTextOfScenarioStatementsOfBothSides) {
  QTemporaryDir folder;
  const std::string path = folder.filePath(QStringLiteral("t.db")).toStdString();
  {
    traces::TraceWriter writer(path, traces::kSmallPages);
    writer.meta("scenario", R"({"program": [{"op": "matmul", "args": ["x", "w"]}, {"op": "matmul", "args": ["w", "x"]}]})");
    writer.finish();
  }
  TraceData trace;
  trace.path = path;
  Diagnosis diagnosis{.code = "order-mismatch", .severity = "error", .message = "m", .processes = {1}};
  for (int p = 0; p < 2; ++p) {
    const std::string n = std::to_string(p);
    diagnosis.participants.push_back({.process = p, .op = "matmul", .where = "statement " + n + " (/program/" + n + ")", .statement = p});
  }
  trace.diagnoses.push_back(diagnosis);
  const QString page = diagnosis_html(trace, 0, light_theme());
  EXPECT_TRUE(page.contains(QStringLiteral("matmul(x, w)")) && page.contains(QStringLiteral("matmul(w, x)"))) << page.toStdString();
  trace.path = folder.filePath(QStringLiteral("gone.db")).toStdString();
  EXPECT_FALSE(diagnosis_html(trace, 0, light_theme()).contains(QStringLiteral("matmul(x, w)"))) << "a file that is gone is no error";
}

// A result is as planned where every array of it lies so; dimensions that nothing cuts may be left out of the text.
TEST(Prediction, ComparesShardingsOfResultsWithTheArraysThatWereMade) {
  const auto laid = [](const char* spec) { return std::make_shared<const ArrayLayout>(ArrayLayout{.shape = {4, 6}, .spec = spec}); };
  TraceData trace;
  trace.programs.push_back({.name = "f",
                            .results = {{"result 0", "float32", "P('a', None)", {4, 6}},
                                        {"result 1", "float32", "P(None, 'b')", {4, 6}},
                                        {"result 2", "int32", "P('a', None)", {4, 6}}}});
  for (int run = 0; run < 2; ++run) trace.launches.push_back({.number = run, .seq = run, .program = 0, .started = 1, .done = 2});
  for (int run = 0; run < 2; ++run) {
    trace.arrays.push_back({.dtype = "float32", .layout = laid("P('a',)"), .launch = run});
    trace.arrays.push_back({.dtype = "float32", .layout = laid(run == 0 ? "P(None, 'b')" : "P('b', None)"), .launch = run});
  }
  trace.arrays.push_back({.dtype = "int32", .layout = laid("P('b',)"), .launch = -1});  // of no launch
  trace.predictions = compare_with_plan(trace);
  ASSERT_EQ(trace.predictions.size(), 3u);
  EXPECT_TRUE(trace.predictions[0].as_planned);
  EXPECT_EQ(trace.predictions[0].recorded, 2);
  EXPECT_FALSE(trace.predictions[1].as_planned);
  EXPECT_EQ(trace.predictions[1].array, 3) << "the one that lies otherwise";
  EXPECT_TRUE(trace.predictions[2].as_planned) << "nothing was recorded that says otherwise";
  TraceTableModel model(prediction_table());
  model.set_trace(std::make_shared<const TraceData>(trace));
  EXPECT_EQ(model.index(0, 3).data().toString(), QStringLiteral("P('a', None)"));
  EXPECT_EQ(model.index(1, 4).data().toString(), QStringLiteral("recorded as P('b', None)"));
  EXPECT_EQ(model.index(2, 4).data().toString(), QStringLiteral("not recorded"));
  EXPECT_EQ(model.index(1, 0).data(TraceTableModel::kToneRole).toInt(), int(RowTone::kWarning));
}

TEST(ProcessModel, KeepsTheRulesOfItemModelsAndFindsDevices) {
  ProcessModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (const auto& trace : samples()) model.set_trace(trace);
  model.set_trace(sample::torn());
  ASSERT_EQ(model.rowCount(), 4);
  EXPECT_EQ(model.rowCount(model.index(0, 0)), 2);
  EXPECT_TRUE(model.index_of(3, -1).data(ProcessModel::kBadRole).toBool());
  EXPECT_EQ(model.index_of(2, 5).data().toString(), QStringLiteral("CPU 5"));
  EXPECT_EQ(model.index_of(2, 5).parent(), model.index_of(2, -1));
  EXPECT_FALSE(model.index_of(9, -1).isValid());
}

}  // namespace
}  // namespace shardlab::gui
