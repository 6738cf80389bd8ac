#include "gui/models/call_site_model.h"

#include "gui/models/format.h"

namespace shardlab::gui {

void CallSiteModel::set(TracePtr trace, CallSites sites) {
  beginResetModel();
  trace_ = std::move(trace);
  sites_ = std::move(sites);
  rows_.assign(sites_.nodes.size(), 0);
  const auto number = [this](const std::vector<int>& list) {
    for (std::size_t row = 0; row < list.size(); ++row) rows_[std::size_t(list[row])] = int(row);
  };
  number(sites_.files);
  for (const auto& node : sites_.nodes) number(node.children);
  endResetModel();
}

QModelIndex CallSiteModel::index_of(int node) const {
  if (node < 0 || std::size_t(node) >= sites_.nodes.size()) return {};
  return createIndex(rows_[std::size_t(node)], 0, quintptr(node));
}

const std::vector<int>& CallSiteModel::children_of(const QModelIndex& parent) const {
  return parent.isValid() ? sites_.nodes[std::size_t(parent.internalId())].children : sites_.files;
}

QModelIndex CallSiteModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, quintptr(children_of(parent)[std::size_t(row)]));
}

QModelIndex CallSiteModel::parent(const QModelIndex& child) const {
  return child.isValid() ? index_of(sites_.nodes[std::size_t(child.internalId())].parent) : QModelIndex();
}

int CallSiteModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() && parent.column() != 0 ? 0 : int(children_of(parent).size());
}

int CallSiteModel::columnCount(const QModelIndex&) const { return kColumnCount; }

QVariant CallSiteModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const CallSite& node = sites_.nodes[std::size_t(index.internalId())];
  const double share = sites_.time > 0 ? double(node.time) / double(sites_.time) : 0;
  const int column = index.column();
  const bool words = column == kWhere || column == kProcesses || column == kAtEnd;
  const auto count = [](std::int64_t number) { return number > 0 ? QString::number(number) : QString(); };
  switch (role) {
    case kNodeRole:
      return int(index.internalId());
    case kShareRole:
      return share;
    case kClassRole:
      return node.rank_class;
    case Qt::TextAlignmentRole:
      return int((words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
      return tooltip(node, column);
    case kSortRole: {
      const qlonglong numbers[] = {rows_[std::size_t(index.internalId())],
                                   qlonglong(node.processes.size()),
                                   node.time,
                                   node.time,
                                   node.wait,
                                   node.calls,
                                   node.events,
                                   node.wire_bytes,
                                   qlonglong(node.at_end.size())};
      return numbers[column];
    }
    case Qt::DisplayRole:
      break;
    default:
      return {};
  }
  switch (column) {
    case kWhere:
      return qstr(node.name);
    case kTime:
      return node.events > 0 ? duration_text(node.time) : QString();
    case kShare:
      return node.events > 0 ? QStringLiteral("%1 %").arg(100 * share, 0, 'f', 1) : QString();
    case kWait:
      return node.wait > 0 ? duration_text(node.wait) : QString();
    case kCalls:
      return count(node.calls);
    case kEvents:
      return count(node.events);
    case kBytes:
      return node.wire_bytes > 0 ? bytes_text(node.wire_bytes) : QString();
    case kProcesses:
      return set_text(node.processes, 40);
    default:
      return set_text(node.at_end, 40);
  }
}

QString CallSiteModel::tooltip(const CallSite& node, int column) const {
  if (column == kProcesses) return set_text(node.processes, 400);
  if (column == kAtEnd) return set_text(node.at_end, 400);
  const Site* site = node.site < 0 || !trace_ ? nullptr : &trace_->sites[std::size_t(node.site)];
  return site ? qstr(site->path()) : qstr(node.name);
}

QVariant CallSiteModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"Where", "Processes", "Time", "Share", "Waited", "Calls", "Events", "Wire", "At the end"};
  static constexpr const char* kDocs[] = {"File, line and op",
                                          "That issued launches or have events there; equal sets have equal colours",
                                          "Of its events on all lanes",
                                          "Of the time of all events",
                                          "For peers, of that time",
                                          "Launches issued there, by all processes",
                                          "On all lanes",
                                          "Bytes of its collectives on the wire, by the ring model",
                                          "Processes that stood there when the run ended"};
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::DisplayRole) return QString::fromUtf8(kTitles[section]);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(kDocs[section]);
  return {};
}

}  // namespace shardlab::gui
