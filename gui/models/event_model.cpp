#include "gui/models/event_model.h"

#include <algorithm>

#include "gui/models/format.h"
#include "gui/models/launch_events.h"

namespace shardlab::gui {

std::vector<EventRef> find_events(const TraceData& trace, const Filter& filter, std::size_t limit, const std::stop_token& stop) {
  std::vector<EventRef> rows;
  std::vector<std::string> places;
  for (const auto& label : trace.labels) places.push_back(trace.site_text(label.site));
  std::vector<std::pair<int, TouchedLanes>> touched;
  for (const int array : filter.arrays()) touched.emplace_back(array, find_touched(trace, array, stop));
  std::vector<int> arrays;
  for (std::size_t l = 0; l < trace.lanes.size(); ++l) {
    const Lane& lane = trace.lanes[l];
    const LaneEvents& events = *lane.events;
    for (std::size_t i = 0; i < events.size() && rows.size() < limit; ++i) {
      if (i % 4096 == 0 && stop.stop_requested()) return rows;
      if (!filter.empty()) {
        const Label& label = trace.labels[events.label[i]];
        const int collective = events.collective[i];
        const Collective* call = collective >= 0 ? &trace.collectives[std::size_t(collective)] : nullptr;
        arrays.clear();
        for (const auto& [array, lanes] : touched)
          if (lanes.touched(int(l), std::int64_t(i))) arrays.push_back(array);
        const FilterRow row{.kind = call ? std::string_view(call->type->kind) : event_kind_name(events.kind[i]),
                            .name = label.name,
                            .op = call ? std::string_view(call->type->op) : std::string_view(label.name),
                            .place = places[events.label[i]],
                            .state = events.flags[i] & kFlagOpen ? std::string_view("open")
                                     : call                      ? std::string_view(call->state)
                                                                 : std::string_view(),
                            .process = lane.process,
                            .device = lane.device,
                            .collective = collective,
                            .seq = call ? call->seq : -1,
                            .arrays = arrays,
                            .duration = events.end[i] - events.begin[i],
                            .time = events.begin[i] - trace.range.begin,
                            .bytes = call ? call->type->bytes : -1};
        if (!filter.passes(row)) continue;
      }
      rows.push_back({std::uint32_t(l), std::uint32_t(i)});
    }
  }
  return rows;
}

namespace {

// The place of each text in the order of all of them: texts are compared once, rows by number.
std::vector<Ns> ranks(const std::vector<std::string>& texts) {
  std::vector<std::string> sorted = texts;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Ns> places;
  for (const auto& text : texts) places.push_back(std::lower_bound(sorted.begin(), sorted.end(), text) - sorted.begin());
  return places;
}

}  // namespace

void sort_events(const TraceData& trace, std::vector<EventRef>& rows, int column, Qt::SortOrder order) {
  std::vector<std::string> texts;
  if (column == EventModel::kKind)
    for (int kind = 0; kind <= int(EventKind::kOther); ++kind) texts.emplace_back(event_kind_name(EventKind(kind)));
  if (column == EventModel::kName)
    for (const auto& label : trace.labels) texts.push_back(label.name);
  if (column == EventModel::kWhere)
    for (const auto& label : trace.labels) texts.push_back(trace.site_text(label.site));
  const std::vector<Ns> rank = ranks(texts);
  const auto key = [&](const EventRef& ref) -> Ns {
    const LaneEvents& events = *trace.lanes[ref.lane].events;
    const std::size_t i = ref.event;
    switch (column) {
      case EventModel::kLane:
        return ref.lane;
      case EventModel::kKind:
        return rank[std::size_t(events.kind[i])];
      case EventModel::kBegins:
        return events.begin[i];
      case EventModel::kTook:
        return events.end[i] - events.begin[i];
      case EventModel::kCollective:
        return events.collective[i];
      default:
        return rank[events.label[i]];
    }
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const EventRef& a, const EventRef& b) { return order == Qt::AscendingOrder ? key(a) < key(b) : key(b) < key(a); });
}

void EventModel::set_rows(TracePtr trace, std::vector<EventRef> rows) {
  beginResetModel();
  trace_ = std::move(trace);
  rows_ = std::move(rows);
  endResetModel();
}

int EventModel::row_of(int lane, std::int64_t event) const {
  const auto it =
      std::find_if(rows_.begin(), rows_.end(), [&](const EventRef& ref) { return int(ref.lane) == lane && ref.event == event; });
  return it == rows_.end() ? -1 : int(it - rows_.begin());
}

int EventModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(rows_.size()); }
int EventModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumnCount); }

QString EventModel::text(const EventRef& ref, int column) const {
  const Lane& lane = trace_->lanes[ref.lane];
  const LaneEvents& events = *lane.events;
  const std::size_t i = ref.event;
  const int collective = events.collective[i];
  switch (column) {
    case kLane:
      return lane.device < 0 ? QStringLiteral("p%1 host").arg(lane.process)
                             : QStringLiteral("p%1 %2").arg(lane.process).arg(qstr(lane.name));
    case kKind:
      return qstr(event_kind_name(events.kind[i]));
    case kName:
      return qstr(trace_->labels[events.label[i]].name);
    case kBegins:
      return duration_text(events.begin[i] - trace_->range.begin);
    case kTook:
      return events.flags[i] & kFlagOpen ? QStringLiteral("never ended") : duration_text(events.end[i] - events.begin[i]);
    case kCollective:
      return collective < 0 ? QString() : QStringLiteral("#%1").arg(collective);
    default:
      return qstr(trace_->site_text(trace_->labels[events.label[i]].site));
  }
}

QVariant EventModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const EventRef& ref = rows_[std::size_t(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return text(ref, index.column());
    case Qt::TextAlignmentRole:
      return int((index.column() == kBegins || index.column() == kTook ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case kRefRole:
      return qulonglong(ref.lane) << 32 | ref.event;
    case kErrorRole:
      return bool(trace_->lanes[ref.lane].events->flags[ref.event] & kFlagError);
    default:
      return {};
  }
}

QVariant EventModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"Lane", "Kind", "Name", "Begins", "Took", "Collective", "Where"};
  static constexpr const char* kDocs[] = {"The device or the process's host thread",
                                          "What it is",
                                          "The op, the collective's kind, or what is read",
                                          "From the start of the trace",
                                          "How long it took",
                                          "The collective that it is part of",
                                          "The source line"};
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::DisplayRole) return QString::fromUtf8(kTitles[section]);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(kDocs[section]);
  return {};
}

void EventModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || !trace_) return;
  Q_EMIT layoutAboutToBeChanged();
  sort_events(*trace_, rows_, column, order);
  changePersistentIndexList(persistentIndexList(), QModelIndexList(persistentIndexList().size()));
  Q_EMIT layoutChanged();
}

QModelIndexList EventModel::match(const QModelIndex& start, int role, const QVariant& value, int hits, Qt::MatchFlags flags) const {
  constexpr std::size_t kMatchMax = 5000;
  return rows_.size() > kMatchMax ? QModelIndexList() : QAbstractTableModel::match(start, role, value, hits, flags);
}

}  // namespace shardlab::gui
