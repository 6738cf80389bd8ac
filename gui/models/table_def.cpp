#include "gui/models/table_def.h"

#include <algorithm>
#include <numeric>

namespace shardlab::gui {

namespace {

bool passes(const TableDef& def, const TraceData& trace, int row, const QString& filter) {
  return std::any_of(def.columns.begin(), def.columns.end(), [&](const ColumnDef& column) {
    const QString text = column.text ? column.text(trace, row) : column.value(trace, row).toString();
    return text.contains(filter, Qt::CaseInsensitive);
  });
}

// By value: numbers by size, texts by their letters.
template <typename Key>
void sort_rows(std::vector<int>& rows, std::vector<Key> keys, Qt::SortOrder order) {
  std::vector<std::size_t> places(rows.size());
  std::iota(places.begin(), places.end(), std::size_t(0));
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return order == Qt::AscendingOrder ? keys[a] < keys[b] : keys[b] < keys[a]; });
  std::vector<int> sorted;
  sorted.reserve(rows.size());
  for (const std::size_t place : places) sorted.push_back(rows[place]);
  rows = std::move(sorted);
}

}  // namespace

std::vector<int> find_rows(const TableDef& def, const TraceData& trace, const RowsWanted& wanted, const std::stop_token& stop) {
  std::vector<int> rows;
  for (int row = 0, count = def.rows(trace); row < count && !stop.stop_requested(); ++row)
    if (wanted.filter.isEmpty() || passes(def, trace, row, wanted.filter)) rows.push_back(row);
  if (wanted.column < 0 || rows.empty() || stop.stop_requested()) return rows;
  const auto value = def.columns[std::size_t(wanted.column)].value;
  if (value(trace, rows[0]).typeId() == QMetaType::QString) {
    std::vector<QString> keys;
    for (const int row : rows) keys.push_back(value(trace, row).toString());
    sort_rows(rows, std::move(keys), wanted.order);
  } else {
    std::vector<qlonglong> keys;
    for (const int row : rows) keys.push_back(value(trace, row).toLongLong());
    sort_rows(rows, std::move(keys), wanted.order);
  }
  return rows;
}

TraceTableModel::TraceTableModel(const TableDef& def, QObject* parent) : QAbstractTableModel(parent), def_(def) {}

void TraceTableModel::set_trace(TracePtr trace) {
  beginResetModel();
  trace_ = std::move(trace);
  all_ = true;
  shown_.clear();
  row_of_.clear();
  endResetModel();
}

void TraceTableModel::set_rows(TracePtr trace, std::vector<int> shown) {
  beginResetModel();
  trace_ = std::move(trace);
  all_ = false;
  shown_ = std::move(shown);
  row_of_.assign(std::size_t(trace_ ? def_.rows(*trace_) : 0), -1);
  for (std::size_t r = 0; r < shown_.size(); ++r) row_of_[std::size_t(shown_[r])] = int(r);
  endResetModel();
}

int TraceTableModel::row_of(int trace_row) const {
  if (trace_row < 0 || !trace_ || trace_row >= def_.rows(*trace_)) return -1;
  return all_ ? trace_row : row_of_[std::size_t(trace_row)];
}

int TraceTableModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() || !trace_) return 0;
  return all_ ? def_.rows(*trace_) : int(shown_.size());
}

int TraceTableModel::columnCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  const bool has_last = !def_.has_last || (trace_ && def_.has_last(*trace_));
  return int(def_.columns.size()) - (has_last ? 0 : 1);
}

QVariant TraceTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !trace_) return {};
  const ColumnDef& column = def_.columns[std::size_t(index.column())];
  const int row = trace_row(index.row());
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return column.text ? QVariant(column.text(*trace_, row)) : column.value(*trace_, row);
    case Qt::TextAlignmentRole:
      return int((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case kSortRole:
      return column.value(*trace_, row);
    case kToneRole:
      return int(def_.tone(*trace_, row));
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
