#include "gui/models/table_def.h"

namespace shardlab::gui {

TraceTableModel::TraceTableModel(const TableDef& def, QObject* parent) : QAbstractTableModel(parent), def_(def) {}

void TraceTableModel::set_trace(TracePtr trace) {
  beginResetModel();
  trace_ = std::move(trace);
  endResetModel();
}

int TraceTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() || !trace_ ? 0 : def_.rows(*trace_); }

int TraceTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(def_.columns.size()); }

QVariant TraceTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !trace_) return {};
  const ColumnDef& column = def_.columns[std::size_t(index.column())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return column.text ? QVariant(column.text(*trace_, index.row())) : column.value(*trace_, index.row());
    case Qt::TextAlignmentRole:
      return int((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case kSortRole:
      return column.value(*trace_, index.row());
    case kToneRole:
      return int(def_.tone(*trace_, index.row()));
    default:
      return {};
  }
}

QVariant TraceTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const ColumnDef& column = def_.columns[std::size_t(section)];
  if (role == Qt::DisplayRole) return QString::fromUtf8(column.title);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(column.doc);
  if (role == Qt::TextAlignmentRole) return int((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace shardlab::gui
