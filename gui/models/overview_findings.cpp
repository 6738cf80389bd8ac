// What stands out in a run, for the overview.
#include <map>
#include <numeric>

#include "gui/models/format.h"
#include "gui/models/overview.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kDiagnosesMax = 5;
// Shares of the devices' time from which a thing is worth a sentence.
constexpr Ns kWaitWarned = 100'000'000;  // and so long others must have waited for one until that is a warning
constexpr double kWaitShare = 0.05, kPlaceShare = 0.10, kUnevenFactor = 1.25;

class Findings {
 public:
  Findings(const TraceData& trace, const Overview& overview, const std::stop_token& stop)
      : trace_(trace), overview_(overview), stop_(stop), device_time_(double(std::max<Ns>(overview.device_time(), 1))) {}

  std::vector<Finding> find() {
    add_diagnoses();
    add_ends();
    add_waited_for();
    add_places();
    add_uneven();
    add_unplanned();
    for (const auto& notice : trace_.notices) add(notice.loss ? VerdictLevel::kWarning : VerdictLevel::kNote, qstr(notice.text), {});
    std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) { return a.level > b.level; });
    return std::move(found_);
  }

 private:
  void add(VerdictLevel level, const QString& text, const QString& link) { found_.push_back({level, text, link}); }

  void add_diagnoses() {
    const auto level = [](const Diagnosis& each) {
      return each.severity == "error" ? VerdictLevel::kError : each.severity == "warning" ? VerdictLevel::kWarning : VerdictLevel::kNote;
    };
    std::vector<std::size_t> order(trace_.diagnoses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return level(trace_.diagnoses[a]) > level(trace_.diagnoses[b]); });
    for (std::size_t i = 0; i < std::min(order.size(), kDiagnosesMax); ++i) {
      const Diagnosis& diagnosis = trace_.diagnoses[order[i]];
      // The first is the verdict, which stands above the findings.
      const QString message = i == 0 ? QString() : QStringLiteral(": ") + qstr(diagnosis.message);
      add(level(diagnosis), qstr(diagnosis.code) + message, QStringLiteral("diagnosis:%1").arg(order[i]));
    }
    if (order.size() > kDiagnosesMax)
      add(VerdictLevel::kNote, count_text(std::int64_t(order.size() - kDiagnosesMax), "more diagnosis", "more diagnoses"),
          QStringLiteral("view:diagnoses"));
  }

  // What never ended, and who did not end well, where no diagnosis says so.
  void add_ends() {
    if (!trace_.diagnoses.empty() || trace_.running) return;
    std::int64_t open = 0;
    std::size_t first = 0;
    for (std::size_t c = 0; c < trace_.collectives.size(); ++c)
      if (trace_.collectives[c].open && open++ == 0) first = c;
    if (open > 0) {
      const CollectiveType& type = *trace_.collectives[first].type;
      const QString one = qstr(type.kind) + at(type.site);
      add(VerdictLevel::kWarning,
          open == 1 ? QStringLiteral("%1 never ended").arg(one)
                    : QStringLiteral("%1 collectives never ended; the first is %2").arg(open).arg(one),
          QStringLiteral("collective:%1").arg(first));
    }
    std::vector<int> bad;
    for (const auto& process : trace_.processes)
      if (process.ended_badly()) bad.push_back(process.index);
    if (!bad.empty())
      add(VerdictLevel::kWarning,
          QStringLiteral("%1 %2 did not end well")
              .arg(bad.size() == 1 ? QStringLiteral("Process") : QStringLiteral("Processes"), set_text(bad, 60)),
          QStringLiteral("process:%1").arg(bad[0]));
  }

  // Who came last, by how long the others waited for it.
  void add_waited_for() {
    const bool by_process = trace_.processes.size() > 1;
    const std::size_t sides = by_process ? trace_.processes.size() : trace_.devices.size();
    if (sides < 2 || double(overview_.total.wait) < kWaitShare * device_time_) return;
    struct Blame {
      Ns waited = 0;   // by all devices together
      Ns longest = 0;  // by the one that waited longest, over all calls
      std::int64_t calls = 0;
    };
    std::map<int, Blame> blame;
    Ns all = 0;
    std::vector<std::pair<Ns, int>> came;  // when, and who
    for (const auto& call : trace_.collectives) {
      if (stop_.stop_requested()) return;
      came.clear();
      for (const auto& member : call.members) came.emplace_back(member.enter, by_process ? member.process : member.device);
      std::sort(came.begin(), came.end());
      int last_counted = -1;
      Ns longest = 0;
      for (const auto& member : call.members) {
        if (member.start == kOpen || member.start <= member.enter) continue;
        const auto last = std::lower_bound(came.begin(), came.end(), std::pair(member.start, 0));
        if (last == came.end() || last->first != member.start) continue;
        const Process* process = member.device < 0 ? trace_.process(member.process) : nullptr;
        const Ns waited = (member.start - member.enter) * Ns(process ? process->devices.size() : 1);
        Blame& it = blame[last->second];
        it.waited += waited;
        if (last_counted != last->second) {
          ++it.calls;
          longest = 0;
        }
        last_counted = last->second;
        it.longest += std::max<Ns>(0, member.start - member.enter - longest);
        longest = std::max(longest, member.start - member.enter);
        all += waited;
      }
    }
    const auto worst =
        std::max_element(blame.begin(), blame.end(), [](const auto& a, const auto& b) { return a.second.waited < b.second.waited; });
    if (worst == blame.end()) return;
    const double share = double(worst->second.waited) / double(std::max<Ns>(all, 1));
    if (share < std::max(0.4, 1.6 / double(sides))) return;
    const QString who = by_process ? QStringLiteral("process:%1").arg(worst->first) : QStringLiteral("device:%1").arg(worst->first);
    add(worst->second.longest < kWaitWarned ? VerdictLevel::kNote : VerdictLevel::kWarning,
        QStringLiteral("Most waiting was for %1: %2 of all of it, over %3 to which it came last, by up to %4 in all")
            .arg(QString(who).replace(QLatin1Char(':'), QLatin1Char(' ')), percent_text(share),
                 count_text(worst->second.calls, "collective", "collectives"), duration_text(worst->second.longest)),
        who);
  }

  // The lines and ops that took most of the devices' time: the collective and the computation.
  void add_places() {
    struct Place {
      TimeSplit split;
      std::int64_t events = 0;
      Ns longest = -1;
      std::size_t lane = 0, event = 0;
    };
    std::vector<Place> places(trace_.labels.size());
    for (const auto& row : overview_.rows) {
      if (stop_.stop_requested()) return;
      const auto l = std::size_t(row.lane);
      std::size_t last = std::size_t(-1);
      for_time_use(trace_, trace_.lanes[l], overview_.range, [&](std::size_t event, Ns begin, Ns end, TimeUse use) {
        Place& place = places[trace_.lanes[l].events->label[event]];
        place.split.of(use) += end - begin;
        if (event != last) ++place.events;
        last = event;
        const Ns length = trace_.lanes[l].events->end[event] - trace_.lanes[l].events->begin[event];
        if (length > place.longest) {
          place.longest = length;
          place.lane = l;
          place.event = event;
        }
        return event % 4096 != 0 || !stop_.stop_requested();
      });
    }
    for (const bool collective : {true, false}) {
      const auto time = [collective](const Place& each) { return collective ? each.split.transfer + each.split.wait : each.split.compute; };
      const auto top = std::max_element(places.begin(), places.end(), [&](const Place& a, const Place& b) { return time(a) < time(b); });
      if (top == places.end() || double(time(*top)) < kPlaceShare * device_time_) continue;
      const Label& label = trace_.labels[std::size_t(top - places.begin())];
      QString text = QStringLiteral("%1%2 took %3 of the devices' time in %4")
                         .arg(qstr(label.name), at(label.site), percent_text(double(time(*top)) / device_time_),
                              count_text(top->events, "event", "events"));
      if (collective) text += QStringLiteral(", %1 of it waiting").arg(percent_text(double(top->split.wait) / double(time(*top))));
      add(VerdictLevel::kNote, text, QStringLiteral("event:%1:%2").arg(top->lane).arg(top->event));
    }
  }

  void add_uneven() {
    if (overview_.rows.size() < 2) return;
    const auto most = std::max_element(overview_.rows.begin(), overview_.rows.end(),
                                       [](const auto& a, const auto& b) { return a.total.compute < b.total.compute; });
    const double mean = double(overview_.total.compute) / double(overview_.rows.size());
    if (mean < kPlaceShare * double(overview_.range.length()) || double(most->total.compute) < kUnevenFactor * mean) return;
    add(VerdictLevel::kNote,
        QStringLiteral("Uneven work: %1 computed %2, %3 times the mean of all devices")
            .arg(qstr(trace_.lanes[std::size_t(most->lane)].name), duration_text(most->total.compute))
            .arg(double(most->total.compute) / mean, 0, 'f', 1),
        QStringLiteral("device:%1").arg(most->device));
  }

  void add_unplanned() {
    const auto other =
        std::count_if(trace_.predictions.begin(), trace_.predictions.end(), [](const auto& each) { return !each.as_planned; });
    if (other > 0 && trace_.diagnoses.empty() && !trace_.torn())
      add(VerdictLevel::kNote,
          QStringLiteral("%1 of %2 came otherwise than planned")
              .arg(other)
              .arg(count_text(std::int64_t(trace_.predictions.size()), "planned thing", "planned collectives and results")),
          QStringLiteral("view:predicted"));
  }

  QString at(int site) const {
    const std::string place = trace_.site_text(site);
    return place.empty() ? QString() : QStringLiteral(" at ") + qstr(place);
  }

  const TraceData& trace_;
  const Overview& overview_;
  const std::stop_token& stop_;
  const double device_time_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> find_outstanding(const TraceData& trace, const Overview& overview, const std::stop_token& stop) {
  return Findings(trace, overview, stop).find();
}

}  // namespace shardlab::gui
