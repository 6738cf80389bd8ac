#include "gui/models/process_model.h"

#include <algorithm>

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {
constexpr quintptr kTop = ~quintptr{0};  // internal id of process rows; of device rows: the process's row
}

ProcessModel::ProcessModel(QObject* parent) : QAbstractItemModel(parent) {}

void ProcessModel::set_trace(TracePtr trace) {
  beginResetModel();
  trace_ = std::move(trace);
  endResetModel();
}

QModelIndex ProcessModel::index_of(int process, int device) const {
  if (!trace_) return {};
  for (std::size_t p = 0; p < trace_->processes.size(); ++p) {
    const Process& row = trace_->processes[p];
    if (row.index != process) continue;
    const QModelIndex top = index(int(p), 0);
    for (std::size_t d = 0; device >= 0 && d < row.devices.size(); ++d)
      if (row.devices[d] == device) return index(int(d), 0, top);
    return top;
  }
  return {};
}

QModelIndex ProcessModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, parent.isValid() ? quintptr(parent.row()) : kTop);
}

QModelIndex ProcessModel::parent(const QModelIndex& child) const {
  if (!child.isValid() || child.internalId() == kTop) return {};
  return createIndex(int(child.internalId()), 0, kTop);
}

int ProcessModel::rowCount(const QModelIndex& parent) const {
  if (!trace_) return 0;
  if (!parent.isValid()) return int(trace_->processes.size());
  if (parent.internalId() != kTop || parent.column() != 0) return 0;
  return int(trace_->processes[std::size_t(parent.row())].devices.size());
}

int ProcessModel::columnCount(const QModelIndex&) const { return kColumnCount; }

QString ProcessModel::text(const Process& process, int column) const {
  if (column == kName) return QStringLiteral("Process %1").arg(process.index);
  const bool hosts =
      std::any_of(trace_->processes.begin(), trace_->processes.end(), [&](const Process& each) { return each.host != process.host; });
  return hosts ? qstr(process.state) + QStringLiteral(" · ") + qstr(process.host) : qstr(process.state);
}

QString ProcessModel::text(const Device& device, int column) const {
  if (column == kName) return qstr(device.name);
  if (trace_->range.empty()) return {};
  Ns busy = 0;
  for (const auto& lane : trace_->lanes)
    if (lane.device == device.ordinal) busy += lane.events->summary().busy;
  return QStringLiteral("%1 % in use").arg(100.0 * double(busy) / double(trace_->range.length()), 0, 'f', 0);
}

QVariant ProcessModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !trace_) return {};
  const bool top = index.internalId() == kTop;
  const Process& process = trace_->processes[top ? std::size_t(index.row()) : std::size_t(index.internalId())];
  const int ordinal = top ? -1 : process.devices[std::size_t(index.row())];
  switch (role) {
    case Qt::DisplayRole: {
      if (top) return text(process, index.column());
      const Device* device = trace_->device(ordinal);
      return device ? QVariant(text(*device, index.column())) : QVariant();
    }
    case Qt::ToolTipRole:
      if (!top) return {};
      return QStringLiteral("%1 · pid %2 · %3")
          .arg(qstr(process.host))
          .arg(process.pid)
          .arg(qstr(process.error.empty() ? process.state : process.error));
    case kProcessRole:
      return process.index;
    case kDeviceRole:
      return ordinal;
    case kBadRole:
      return top && process.ended_badly();
    default:
      return {};
  }
}

QVariant ProcessModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static constexpr const char* kTitles[] = {"Process", "State"};
  return QString::fromUtf8(kTitles[section]);
}

}  // namespace shardlab::gui
