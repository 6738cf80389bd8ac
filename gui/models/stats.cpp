#include "gui/models/stats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

constexpr StatsByDef kBy[] = {
    {StatsBy::kKind, "kind", "Compute, each kind of collective, host reads, launches"},
    {StatsBy::kName, "name", "The op, the collective's kind, or what is read"},
    {StatsBy::kPlace, "source line", "Where it was called, and which processes did"},
    {StatsBy::kProcess, "process", "Whose devices and host thread did it"},
    {StatsBy::kGroup, "group", "Collectives by the axes and the groups of devices that they run over"},
};

// What a lane's events are grouped by; -1: left out.
class Grouping {
 public:
  Grouping(const TraceData& trace, StatsBy by) : trace_(trace), by_(by) {}

  int of(const Lane& lane, std::size_t event) {
    const LaneEvents& events = *lane.events;
    const int collective = events.collective[event];
    const CollectiveType* type = collective < 0 ? nullptr : trace_.collectives[std::size_t(collective)].type.get();
    switch (by_) {
      case StatsBy::kKind:
        return type ? index_of(type->kind) : index_of(std::string(event_kind_name(events.kind[event])));
      case StatsBy::kName:
        return by_label(events.label[event], [](const TraceData& trace, const Label& label) {
          static_cast<void>(trace);
          return label.name;
        });
      case StatsBy::kPlace:
        return by_label(events.label[event], [](const TraceData& trace, const Label& label) {
          const std::string place = trace.site_text(label.site);
          return place.empty() ? std::string("(no source line)") : place;
        });
      case StatsBy::kProcess:
        return index_of(fmt::format("process {}", lane.process));
      case StatsBy::kGroup:
        return type ? by_type(*type) : -1;
    }
    return -1;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  int index_of(const std::string& name) {
    const auto [it, fresh] = index_.try_emplace(name, int(names_.size()));
    if (fresh) names_.push_back(name);
    return it->second;
  }
  template <typename Name>
  int by_label(std::uint32_t label, Name name) {
    const auto [it, fresh] = of_label_.try_emplace(label, 0);
    if (fresh) it->second = index_of(name(trace_, trace_.labels[label]));
    return it->second;
  }
  int by_type(const CollectiveType& type) {
    const auto [it, fresh] = of_type_.try_emplace(&type, 0);
    if (!fresh) return it->second;
    const auto& lists = type.groups->lists;
    const std::string over = lists.empty() ? "no group" : fmt::format("{} × {} devices", lists.size(), lists[0].size());
    return it->second = index_of(type.axes.empty() ? fmt::format("{}, {}", type.kind, over)
                                                   : fmt::format("{} along {}, {}", type.kind, type.axes, over));
  }

  const TraceData& trace_;
  const StatsBy by_;
  std::unordered_map<std::string, int> index_;
  std::unordered_map<std::uint32_t, int> of_label_;
  std::unordered_map<const CollectiveType*, int> of_type_;
  std::vector<std::string> names_;
};

Ns nth(std::vector<Ns>& values, double share) {
  const auto at = values.begin() + std::ptrdiff_t(share * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

std::span<const StatsByDef> all_stats_by() { return kBy; }

int stats_bin(Ns length) {
  return length < 1 ? 0 : std::clamp(int(std::floor(std::log10(double(length)) * 4 + 1e-9)), 0, StatsRow::kBins - 1);
}
Ns stats_bin_begin(int bin) { return Ns(std::llround(std::pow(10, bin / 4.0))); }

std::vector<StatsRow> make_stats(const TraceData& trace, StatsBy by, TimeRange window, const std::stop_token& stop) {
  Grouping grouping(trace, by);
  std::vector<StatsRow> rows;
  std::vector<std::vector<Ns>> lengths;
  for (std::size_t l = 0; l < trace.lanes.size(); ++l) {
    const Lane& lane = trace.lanes[l];
    const LaneEvents& events = *lane.events;
    auto i = std::size_t(std::lower_bound(events.end.begin(), events.end.end(), window.begin) - events.end.begin());
    for (; i < events.size() && events.begin[i] <= window.end; ++i) {
      if (i % 4096 == 0 && stop.stop_requested()) return {};
      const int group = grouping.of(lane, i);
      if (group < 0) continue;
      if (std::size_t(group) == rows.size()) {
        rows.push_back({.name = grouping.names()[std::size_t(group)]});
        lengths.emplace_back();
      }
      StatsRow& row = rows[std::size_t(group)];
      const Ns length = events.end[i] - events.begin[i];
      ++row.count;
      row.open += bool(events.flags[i] & kFlagOpen);
      row.errors += bool(events.flags[i] & kFlagError);
      row.total += length;
      ++row.bins[std::size_t(stats_bin(length))];
      if (row.event < 0 || length > row.longest) {
        row.longest = length;
        row.lane = int(l);
        row.event = std::int64_t(i);
      }
      if (row.processes.empty() || row.processes.back() != lane.process) row.processes.push_back(lane.process);
      lengths[std::size_t(group)].push_back(length);
    }
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    StatsRow& row = rows[r];
    row.median = nth(lengths[r], 0.5);
    row.p95 = nth(lengths[r], 0.95);
    std::sort(row.processes.begin(), row.processes.end());
    row.processes.erase(std::unique(row.processes.begin(), row.processes.end()), row.processes.end());
  }
  std::stable_sort(rows.begin(), rows.end(), [](const StatsRow& a, const StatsRow& b) { return a.total > b.total; });
  return rows;
}

void StatsModel::set_rows(std::vector<StatsRow> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  total_ = 0;
  for (const auto& row : rows_) total_ += row.total;
  endResetModel();
}

QVariant StatsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const StatsRow& row = at(index.row());
  if (role == Qt::TextAlignmentRole)
    return int((index.column() == kName || index.column() == kProcesses ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
    case kName:
      return qstr(row.name);
    case kCount:
      return role == Qt::ToolTipRole && row.open > 0 ? QStringLiteral("%1, of which %2 never ended").arg(row.count).arg(row.open)
                                                     : QString::number(row.count);
    case kTotal:
      return duration_text(row.total);
    case kShare: {
      const double percent = total_ > 0 ? 100.0 * double(row.total) / double(total_) : 0;
      return QStringLiteral("%1 %").arg(percent, 0, 'f', percent == 0 || percent >= 99.95 ? 0 : 1);  // nothing and the whole need no tenths
    }
    case kMedian:
      return duration_text(row.median);
    case kP95:
      return duration_text(row.p95);
    case kLongest:
      return duration_text(row.longest);
    default:
      return set_text(row.processes, role == Qt::ToolTipRole ? 400 : 40);
  }
}

QVariant StatsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"What", "Count", "Total", "Share", "Median", "95 %", "Longest", "Processes"};
  static constexpr const char* kDocs[] = {"What the events have in common",
                                          "Events",
                                          "Their lengths summed up over all lanes",
                                          "Of the time of all rows",
                                          "Half of them are shorter",
                                          "Of them are shorter",
                                          "Choose the row to go to it",
                                          "That have such events"};
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::DisplayRole) return QString::fromUtf8(kTitles[section]);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(kDocs[section]);
  return {};
}

void StatsModel::sort(int column, Qt::SortOrder order) {
  if (column < 0) return;
  Q_EMIT layoutAboutToBeChanged();
  const auto key = [column](const StatsRow& row) {
    const std::int64_t keys[] = {0, row.count, row.total, row.total, row.median, row.p95, row.longest, std::int64_t(row.processes.size())};
    return keys[column];
  };
  std::stable_sort(rows_.begin(), rows_.end(), [&](const StatsRow& a, const StatsRow& b) {
    const StatsRow& x = order == Qt::AscendingOrder ? a : b;
    const StatsRow& y = order == Qt::AscendingOrder ? b : a;
    return column == kName ? x.name < y.name : key(x) < key(y);
  });
  changePersistentIndexList(persistentIndexList(), QModelIndexList(persistentIndexList().size()));
  Q_EMIT layoutChanged();
}

}  // namespace shardlab::gui
