// The tables of the window: each one a definition object with its columns, all served by one item model.
#pragma once

#include <QAbstractTableModel>

#include <span>

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
  const char* nothing;  // said where there is no row
};

const TableDef& array_table();
const TableDef& collective_table();
const TableDef& diagnosis_table();
const TableDef& prediction_table();

// Rows of the trace through a TableDef. `kToneRole` gives the row's RowTone, `kSortRole` the bare value.
class TraceTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role { kSortRole = Qt::UserRole, kToneRole };

  explicit TraceTableModel(const TableDef& def, QObject* parent = nullptr);
  void set_trace(TracePtr trace);
  const TableDef& def() const { return def_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const TableDef& def_;
  TracePtr trace_;
};

}  // namespace shardlab::gui
