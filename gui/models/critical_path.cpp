#include "gui/models/critical_path.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/models/time_use.h"

namespace shardlab::gui {
namespace {

constexpr const char* kUseNames[] = {"computing", "communicating", "waiting", "host", "nothing recorded"};

// Goes back in time, from lane to lane.
class Walk {
 public:
  Walk(const TraceData& trace, TimeRange window, const std::stop_token& stop) : trace_(trace), window_(window), stop_(stop) {
    for (std::size_t l = 0; l < trace.lanes.size(); ++l) {
      if (trace.lanes[l].device < 0)
        host_of_.try_emplace(trace.lanes[l].process, int(l));
      else
        lane_of_.try_emplace(trace.lanes[l].device, int(l));
    }
  }

  CriticalPath walk() {
    if (!begin_at_the_last()) return {};
    path_.range = {window_.begin, time_};
    for (std::size_t turn = 0; time_ > window_.begin; ++turn) {
      if (turn % 4096 == 0 && stop_.stop_requested()) return {};
      // Events without a length may send it round from lane to lane at one moment.
      ++turns_in_place_ > trace_.lanes.size() + 1 ? force() : step();
    }
    std::reverse(path_.steps.begin(), path_.steps.end());
    return std::move(path_);
  }

 private:
  const LaneEvents& events() const { return *trace_.lanes[std::size_t(lane_)].events; }

  // What ended last; of several, a device's rather than a host's.
  bool begin_at_the_last() {
    bool found = false, device = false;
    for (std::size_t l = 0; l < trace_.lanes.size(); ++l) {
      const LaneEvents& events = *trace_.lanes[l].events;
      const auto i = std::lower_bound(events.begin.begin(), events.begin.end(), window_.end) - events.begin.begin() - 1;
      if (i < 0) continue;
      const Ns end = std::min(events.end[std::size_t(i)], window_.end);
      const bool of_device = trace_.lanes[l].device >= 0;
      if (end <= window_.begin || (found && (end < time_ || (end == time_ && (device || !of_device))))) continue;
      found = true;
      time_ = end;
      device = of_device;
      lane_ = int(l);
    }
    return found;
  }

  // To `begin`, or the window's.
  void push(Ns begin, PathUse use, std::int64_t event = -1, int launch = -1) {
    begin = std::max(begin, window_.begin);
    if (begin >= time_) return;
    PathStep* later = path_.steps.empty() ? nullptr : &path_.steps.back();
    if (later && event < 0 && later->event < 0 && later->lane == lane_ && later->use == use && later->launch == launch)
      later->begin = begin;  // one pause, though something without a length lies in it
    else
      path_.steps.push_back({.lane = lane_, .event = event, .launch = launch, .begin = begin, .end = time_, .use = use});
    turns_in_place_ = 0;
    time_ = begin;
  }

  std::int64_t event_before() const {
    const auto& begin = events().begin;
    return std::lower_bound(begin.begin(), begin.end(), time_) - begin.begin() - 1;
  }

  void force() {
    const std::int64_t i = event_before();
    push(i < 0 ? window_.begin : events().begin[std::size_t(i)], PathUse::kWait, i);
  }

  void step() {
    const LaneEvents& here = events();
    const std::int64_t i = event_before();
    const Ns before = i < 0 ? window_.begin : here.end[std::size_t(i)];
    if (trace_.lanes[std::size_t(lane_)].device < 0) {
      if (i < 0) return follow_devices(window_.begin, -1);  // what the host did before is not known
      return before < time_ ? push(before, PathUse::kHost) : read(std::size_t(i));
    }
    if (before < time_ || i < 0) return between(before);
    if (here.collective[std::size_t(i)] >= 0) return collective(std::size_t(i));
    push(here.begin[std::size_t(i)], PathUse::kCompute, i);
  }

  // A device had nothing to do from `before` on. Its host is the reason where it issued the next launch only later.
  void between(Ns before) {
    const int launch = launch_at(trace_.lanes[std::size_t(lane_)].process, time_);
    if (launch < 0 || trace_.launches[std::size_t(launch)].issued <= before) return push(before, PathUse::kNothing);
    const auto host = host_of_.find(trace_.lanes[std::size_t(lane_)].process);
    Ns read_end = before;
    if (host != host_of_.end()) {
      const LaneEvents& events = *trace_.lanes[std::size_t(host->second)].events;
      const auto last = std::upper_bound(events.end.begin(), events.end.end(), time_) - events.end.begin() - 1;
      if (last >= 0) read_end = std::max(read_end, events.end[std::size_t(last)]);
    }
    push(read_end, PathUse::kHost, -1, launch);
    if (read_end > before) lane_ = host->second;
  }

  // The host waited for a value until the last of its devices had it.
  void read(std::size_t event) { follow_devices(events().begin[event], std::int64_t(event)); }

  // To the device of the process that ended its work last after `begin`, or to `begin`; until then it was the host.
  void follow_devices(Ns begin, std::int64_t event) {
    Ns ready = begin;
    int from = -1;
    for (const auto& [device, lane] : lane_of_) {
      if (trace_.lanes[std::size_t(lane)].process != trace_.lanes[std::size_t(lane_)].process) continue;
      const auto& ends = trace_.lanes[std::size_t(lane)].events->end;
      const auto last = std::upper_bound(ends.begin(), ends.end(), time_) - ends.begin() - 1;
      if (last < 0 || ends[std::size_t(last)] <= ready) continue;
      ready = ends[std::size_t(last)];
      from = lane;
    }
    push(ready, PathUse::kHost, event);
    if (from >= 0) lane_ = from;
  }

  void collective(std::size_t event) {
    const Ns begin = events().begin[event];
    const Ns ready = wait_end(trace_, trace_.lanes[std::size_t(lane_)], event);
    if (ready < time_) push(ready, PathUse::kTransfer, std::int64_t(event));
    if (time_ <= begin || time_ <= window_.begin) return;
    const int last = ready == time_ ? lane_of_the_last(event, ready) : -1;
    if (last < 0) return push(begin, PathUse::kWait, std::int64_t(event));
    lane_ = last;
  }

  // Of the member that came last to a collective, at `time`; -1: it is not known, or is this one.
  int lane_of_the_last(std::size_t event, Ns time) const {
    const Collective& call = trace_.collectives[std::size_t(events().collective[event])];
    const auto& groups = *call.type->groups;
    const int group = groups.group_of(trace_.lanes[std::size_t(lane_)].device);
    int found = -1;
    for (const auto& member : call.members) {
      if (member.enter != time) continue;
      const Process* process = trace_.process(member.process);
      const std::vector<int> own{member.device};
      for (const int device : member.device >= 0 || !process ? own : process->devices) {
        const auto lane = lane_of_.find(device);
        if (lane == lane_of_.end() || lane->second == lane_) continue;
        if (groups.group_of(device) == group) return lane->second;
        if (found < 0) found = lane->second;
      }
    }
    return found;
  }

  // The launch of a process that runs at `time`: they run in the order of issue.
  int launch_at(int process, Ns time) const {
    const auto& launches = trace_.launches;
    const auto first =
        std::lower_bound(launches.begin(), launches.end(), process, [](const Launch& each, int p) { return each.process < p; });
    const auto last = std::upper_bound(first, launches.end(), process, [](int p, const Launch& each) { return p < each.process; });
    const auto after = std::upper_bound(first, last, time, [](Ns t, const Launch& each) { return t < each.started; });
    return after == first ? -1 : int(after - launches.begin()) - 1;
  }

  const TraceData& trace_;
  const TimeRange window_;
  const std::stop_token& stop_;
  std::map<int, int> lane_of_, host_of_;  // by device and by process
  CriticalPath path_;
  int lane_ = 0;
  Ns time_ = 0;
  std::size_t turns_in_place_ = 0;  // since the last step back in time
};

int site_of(const TraceData& trace, const PathStep& step) {
  if (step.event >= 0) {
    const auto& labels = trace.lanes[std::size_t(step.lane)].events->label;
    return trace.labels[labels[std::size_t(step.event)]].site;
  }
  return step.launch >= 0 ? trace.launches[std::size_t(step.launch)].site : -1;
}

void sum_up(const TraceData& trace, CriticalPath& path) {
  std::map<std::tuple<PathUse, std::string, int>, std::size_t> known;
  for (std::size_t s = 0; s < path.steps.size(); ++s) {
    const PathStep& step = path.steps[s];
    const Ns length = step.end - step.begin;
    path.uses[std::size_t(step.use)] += length;
    path.changes += s > 0 && path.steps[s - 1].lane != step.lane;
    std::string what = path.what(trace, s).toStdString();
    const int site = site_of(trace, step);
    const auto [at, fresh] = known.try_emplace({step.use, what, site}, path.shares.size());
    if (fresh) path.shares.push_back({.what = std::move(what), .site = site, .use = step.use, .longest = s});
    PathShare& share = path.shares[at->second];
    share.time += length;
    ++share.steps;
    const int process = trace.lanes[std::size_t(step.lane)].process;
    const auto place = std::lower_bound(share.processes.begin(), share.processes.end(), process);
    if (place == share.processes.end() || *place != process) share.processes.insert(place, process);
    if (length > path.steps[share.longest].end - path.steps[share.longest].begin) share.longest = s;
  }
  std::stable_sort(path.shares.begin(), path.shares.end(), [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
}

QString share_text(Ns time, Ns length) {
  return QStringLiteral("%1 %").arg(length > 0 ? 100.0 * double(time) / double(length) : 0, 0, 'f', 1);
}

}  // namespace

QString path_use_name(PathUse use) { return QString::fromUtf8(kUseNames[std::size_t(use)]); }

std::vector<int> CriticalPath::lanes() const {
  std::set<int> all;
  for (const auto& step : steps) all.insert(step.lane);
  return {all.begin(), all.end()};
}

QString CriticalPath::what(const TraceData& trace, std::size_t index) const {
  const PathStep& step = steps[index];
  const LaneEvents& events = *trace.lanes[std::size_t(step.lane)].events;
  if (step.event >= 0) {
    const auto i = std::size_t(step.event);
    const QString name = qstr(trace.labels[events.label[i]].name);
    if (step.use == PathUse::kHost) return QStringLiteral("host: ") + name;
    const CollectiveType* type = events.collective[i] < 0 ? nullptr : trace.collectives[std::size_t(events.collective[i])].type.get();
    return type && !type->op.empty() && type->op != type->kind ? qstr(type->kind) + QStringLiteral(" of ") + qstr(type->op) : name;
  }
  if (step.use == PathUse::kNothing) return QStringLiteral("nothing recorded");
  const int program = step.launch < 0 ? -1 : trace.launches[std::size_t(step.launch)].program;
  return program < 0 ? QStringLiteral("host") : QStringLiteral("host, before ") + qstr(trace.programs[std::size_t(program)].name);
}

CriticalPath find_critical_path(const TraceData& trace, TimeRange window, const std::stop_token& stop) {
  if (window.empty() || trace.preview) return {};
  CriticalPath path = Walk(trace, window, stop).walk();
  sum_up(trace, path);
  return path;
}

QString path_summary(const CriticalPath& path) {
  if (path.steps.empty()) return QStringLiteral("Nothing was recorded in this stretch of time.");
  QStringList uses;
  for (std::size_t use = 0; use < kPathUses; ++use)
    if (path.uses[use] > 0) uses << path_use_name(PathUse(use)) + QLatin1Char(' ') + share_text(path.uses[use], path.range.length());
  return QStringLiteral("%1: %2; %3 on %4")
      .arg(duration_text(path.range.length()), uses.join(QStringLiteral(", ")),
           count_text(std::int64_t(path.steps.size()), "step", "steps"), count_text(std::int64_t(path.lanes().size()), "lane", "lanes"));
}

QString path_text(const TraceData& trace, const CriticalPath& path) {
  PathModel model;
  model.set(TracePtr(TracePtr(), &trace), path.shares, path.range.length());
  QString text = path_summary(path) + QLatin1Char('\n');
  if (path.steps.empty()) return text;
  text += model_text(model) + QLatin1Char('\n');
  QList<QStringList> rows;
  for (std::size_t s = 0; s < path.steps.size(); ++s) {
    const PathStep& step = path.steps[s];
    const Lane& lane = trace.lanes[std::size_t(step.lane)];
    rows << QStringList{duration_text(step.begin - trace.range.begin), duration_text(step.end - step.begin),
                        QStringLiteral("process %1, %2").arg(lane.process).arg(qstr(lane.name)), path.what(trace, s),
                        qstr(trace.site_text(site_of(trace, step)))};
  }
  return text +
         padded_text(
             {QStringLiteral("from"), QStringLiteral("took"), QStringLiteral("on"), QStringLiteral("what"), QStringLiteral("where")}, rows);
}

void PathModel::set(TracePtr trace, std::vector<PathShare> shares, Ns length) {
  beginResetModel();
  trace_ = std::move(trace);
  shares_ = std::move(shares);
  length_ = length;
  endResetModel();
}

QVariant PathModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const PathShare& share = at(index.row());
  const int column = index.column();
  if (role == Qt::TextAlignmentRole) return int((column >= kTime && column <= kSteps ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (column) {
    case kWhat:
      return qstr(share.what);
    case kWhere:
      return qstr(trace_->site_text(share.site));
    case kUse:
      return path_use_name(share.use);
    case kTime:
      return duration_text(share.time);
    case kShare:
      return share_text(share.time, length_);
    case kSteps:
      return QString::number(share.steps);
    default:
      return set_text(share.processes, role == Qt::ToolTipRole ? 400 : 40);
  }
}

QVariant PathModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"What", "Where", "Use", "Time", "Share", "Steps", "Processes"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= kColumnCount) return {};
  return QString::fromUtf8(kTitles[section]);
}

}  // namespace shardlab::gui
