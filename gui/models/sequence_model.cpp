#include "gui/models/sequence_model.h"

#include <algorithm>

#include "gui/models/format.h"

namespace shardlab::gui {

void SequenceModel::set_trace(TracePtr trace) {
  CallSequence sequence = trace && !trace->preview ? make_call_sequence(*trace) : CallSequence{};
  set(std::move(trace), std::move(sequence));
}

void SequenceModel::set(TracePtr trace, CallSequence sequence) {
  beginResetModel();
  trace_ = std::move(trace);
  sequence_ = std::move(sequence);
  const auto other = [this](const SequenceColumn& column) { return devices_of(column) != devices_of(sequence_.columns.front()); };
  several_sets_ = std::any_of(sequence_.columns.begin(), sequence_.columns.end(), other);
  make_spans();
  endResetModel();
}

const std::vector<int>& SequenceModel::devices_of(const SequenceColumn& column) const {
  static const std::vector<int> kNone;
  return column.program < 0 ? kNone : trace_->programs[std::size_t(column.program)].devices;
}

void SequenceModel::make_spans() {
  spans_.clear();
  const int count = int(sequence_.columns.size());
  std::vector<bool> kept(std::size_t(count), false);
  for (int c = 0; c < count; ++c)
    if (sequence_.columns[std::size_t(c)].divergent)
      for (int k = std::max(c - kAround, 0); k <= std::min(c + kAround, count - 1); ++k) kept[std::size_t(k)] = true;
  // Without a divergence the ends tell how it began and how it stopped.
  for (const int c : {0, 1, 2, count - 3, count - 2, count - 1})
    if (c >= 0 && c < count) kept[std::size_t(c)] = true;
  for (int c = 0; c < count;) {
    int last = c + 1;
    while (!kept[std::size_t(c)] && last < count && !kept[std::size_t(last)]) ++last;
    if (last - c < kStretchLeast) last = c + 1;
    spans_.emplace_back(c, last);
    c = last;
  }
}

int SequenceModel::first_divergent_column() const {
  for (std::size_t s = 0; s < spans_.size(); ++s)
    if (spans_[s].first == sequence_.first_divergence) return int(s);
  return -1;
}

int SequenceModel::rowCount(const QModelIndex& parent) const { return parent.isValid() || spans_.empty() ? 0 : int(sequence_.rows.size()); }
int SequenceModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(spans_.size()); }

QVariant SequenceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto [first, last] = spans_[std::size_t(index.column())];
  const SequenceCell& cell = sequence_.rows[std::size_t(index.row())].cells[std::size_t(first)];
  const bool stretch = last - first > 1;
  const Launch* launch = cell.launch >= 0 ? &trace_->launches[std::size_t(cell.launch)] : nullptr;
  switch (role) {
    case Qt::DisplayRole:
      if (stretch) return QStringLiteral("%1 equal").arg(last - first);
      if (cell.match == CallMatch::kMissing) return QStringLiteral("never came");
      return launch ? qstr(program_name(*trace_, launch->program)) : QString();
    case kSiteRole:
      return launch && !stretch ? qstr(trace_->site_text(launch->site)) : QString();
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole:
      return stretch ? QStringLiteral("calls %1 to %2 are the same on all processes")
                           .arg(sequence_.columns[std::size_t(first)].seq)
                           .arg(sequence_.columns[std::size_t(last - 1)].seq)
                     : qstr(describe(*trace_, sequence_, std::size_t(index.row()), std::size_t(first)));
    case kMatchRole:
      return int(cell.match);
    case kLaunchRole:
      return stretch ? -1 : cell.launch;
    case kFirstRole:
      return first == sequence_.first_divergence;
    default:
      return {};
  }
}

QVariant SequenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (section < 0 || section >= (orientation == Qt::Horizontal ? columnCount() : rowCount())) return {};
  if (orientation == Qt::Vertical) {
    const auto& processes = sequence_.rows[std::size_t(section)].processes;
    if (role == Qt::DisplayRole)
      return (processes.size() == 1 ? QStringLiteral("process ") : QStringLiteral("processes ")) + set_text(processes, 20);
    if (role == Qt::ToolTipRole)
      return count_text(std::int64_t(processes.size()), "process made these calls", "processes made these calls");
    return {};
  }
  const auto [first, last] = spans_[std::size_t(section)];
  const SequenceColumn& column = sequence_.columns[std::size_t(first)];
  if (role == Qt::DisplayRole) {
    if (last - first > 1) return QStringLiteral("…");
    const QString call = (column.divergent ? QStringLiteral("≠ call %1") : QStringLiteral("call %1")).arg(column.seq);
    return several_sets_ ? QStringLiteral("%1 on %2").arg(call, set_text(devices_of(column), 12)) : call;
  }
  if (role == Qt::ToolTipRole)
    return QStringLiteral("Rank of the call among those on the same devices. Calls of one rank must be the same on all processes.");
  return {};
}

}  // namespace shardlab::gui
