// Item models under QAbstractItemModelTester, and their texts.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>

#include "gui/models/process_model.h"
#include "gui/models/table_def.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

std::vector<TracePtr> samples() {
  return {nullptr, sample::empty(), sample::toy(), sample::deadlock(), sample::grid(8, 8, 8, 3), sample::torn(), sample::long_names()};
}

TEST(Tables, KeepTheRulesOfItemModels) {
  for (const TableDef* def : {&array_table(), &collective_table(), &diagnosis_table()}) {
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
