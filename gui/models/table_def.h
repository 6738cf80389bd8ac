// The tables of the window: each one a definition object with its columns, all served by one item model.
#pragma once

#include <QAbstractTableModel>

#include <span>
#include <stop_token>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

struct ColumnDef {
  const char* title;
  const char* doc;
  QVariant (*value)(const TraceData&, int row);          // a string, or a number to sort by
  QString (*text)(const TraceData&, int row) = nullptr;  // as shown, where it is not the value itself
  int width_px = 100;
  bool right = false;
};

enum class RowTone : std::uint8_t { kPlain, kError, kWarning };

struct TableDef {
  const char* id;
  const char* title;
  std::span<const ColumnDef> columns;
  int (*rows)(const TraceData&);
  RowTone (*tone)(const TraceData&, int row);
  const char* nothing;                           // said where there is no row
  bool (*has_last)(const TraceData&) = nullptr;  // null: the last column is always there
};

const TableDef& array_table();
const TableDef& collective_table();
const TableDef& diagnosis_table();
const TableDef& prediction_table();

// Which rows of a table are shown, and in which order.
struct RowsWanted {
  QString filter;   // in the text of any column, whatever its case; empty: all
  int column = -1;  // sorted by its value, equal ones as in the trace; -1: as in the trace
  Qt::SortOrder order = Qt::AscendingOrder;
  bool all_as_they_are() const { return filter.isEmpty() && column < 0; }
};
// Rows of the trace. Runs on any thread; where `stop` asks for it, what is returned is of no use.
std::vector<int> find_rows(const TableDef& def, const TraceData& trace, const RowsWanted& wanted, const std::stop_token& stop = {});

// Rows of the trace through a TableDef. `kToneRole` gives the row's RowTone, `kSortRole` the bare value.
class TraceTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role { kSortRole = Qt::UserRole, kToneRole };

  explicit TraceTableModel(const TableDef& def, QObject* parent = nullptr);
  void set_trace(TracePtr trace);                         // all its rows, as they are
  void set_rows(TracePtr trace, std::vector<int> shown);  // these alone, in this order
  const TracePtr& trace() const { return trace_; }
  const TableDef& def() const { return def_; }
  int trace_row(int row) const { return all_ ? row : shown_[std::size_t(row)]; }
  int row_of(int trace_row) const;  // -1: it is not shown

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const TableDef& def_;
  TracePtr trace_;
  bool all_ = true;
  std::vector<int> shown_, row_of_;  // where not all are shown as they are: rows of the trace, and the reverse
};

}  // namespace shardlab::gui
