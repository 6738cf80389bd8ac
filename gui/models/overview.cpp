#include "gui/models/overview.h"

#include <map>

#include "gui/models/format.h"
#include "gui/models/text_twin.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kStopEvery = 4096;

// The same for all devices in lockstep: they share a store of events.
Overview::Row row_of(const TraceData& trace, const Lane& lane, TimeRange range, const std::stop_token& stop) {
  Overview::Row row{.device = lane.device, .bins = std::vector<TimeSplit>(Overview::kBins)};
  const auto bin_of = [&](Ns time) {
    return std::clamp(int(double(time - range.begin) / double(range.length()) * Overview::kBins), 0, Overview::kBins - 1);
  };
  const Overview whole{.range = range};
  for_time_use(trace, lane, range, [&](std::size_t event, Ns begin, Ns end, TimeUse use) {
    row.total.of(use) += end - begin;
    for (int bin = bin_of(begin); bin <= bin_of(end); ++bin) {
      const TimeRange piece = whole.bin_range(bin);
      const Ns covered = std::min(end, piece.end) - std::max(begin, piece.begin);
      if (covered > 0) row.bins[std::size_t(bin)].of(use) += covered;
    }
    return event % kStopEvery != 0 || !stop.stop_requested();
  });
  return row;
}

}  // namespace

TimeRange Overview::bin_range(int bin) const {
  const auto at = [&](int edge) { return range.begin + Ns(double(range.length()) * edge / kBins); };
  return {at(bin), bin + 1 == kBins ? range.end : at(bin + 1)};
}

double Overview::share(std::size_t first_row, std::size_t last_row, int first_bin, int last_bin, TimeUse use) const {
  const Ns length = bin_range(last_bin - 1).end - bin_range(first_bin).begin;
  Ns used = 0;
  for (std::size_t r = first_row; r < last_row; ++r)
    for (int bin = first_bin; bin < last_bin; ++bin) used += rows[r].bins[std::size_t(bin)].of(use);
  return length > 0 ? double(used) / (double(length) * double(last_row - first_row)) : 0;
}

Overview make_overview(const TraceData& trace, const std::stop_token& stop) {
  Overview overview{.range = trace.range};
  if (!trace.range.empty()) {
    std::map<const LaneEvents*, std::size_t> known;
    for (std::size_t l = 0; l < trace.lanes.size(); ++l) {
      const Lane& lane = trace.lanes[l];
      if (lane.device < 0) continue;
      if (stop.stop_requested()) return overview;
      const auto [at, fresh] = known.try_emplace(lane.events.get(), overview.rows.size());
      overview.rows.push_back(fresh ? row_of(trace, lane, trace.range, stop) : Overview::Row(overview.rows[at->second]));
      overview.rows.back().device = lane.device;
      overview.rows.back().lane = int(l);
      overview.total.add(overview.rows.back().total);
    }
  }
  overview.findings = find_outstanding(trace, overview, stop);
  return overview;
}

QString percent_text(double share) {
  const double percent = 100 * share;
  return QStringLiteral("%1 %").arg(percent, 0, 'f', percent > 0 && percent < 0.95 ? 1 : 0);
}

QString split_text(const TimeSplit& split, Ns of) {
  const auto share = [of](Ns part) { return percent_text(of > 0 ? double(part) / double(of) : 0); };
  return QStringLiteral("computing %1, communicating %2, waiting for peers %3, nothing recorded %4")
      .arg(share(split.compute), share(split.transfer), share(split.wait), share(std::max<Ns>(of - split.sum(), 0)));
}

QString overview_text(const TraceData& trace, const Overview& overview) {
  constexpr int kColumns = 40, kRowsMax = 64;
  static const QString kLevels = QStringLiteral(" ▁▂▃▄▅▆▇█");
  const Verdict verdict = make_verdict(trace);
  QString text = verdict.sentence + QLatin1Char('\n') + verdict.context + QLatin1Char('\n');
  if (!overview.rows.empty()) text += QStringLiteral("devices: ") + split_text(overview.total, overview.device_time()) + QLatin1Char('\n');
  for (const Finding& finding : overview.findings) text += QStringLiteral("- ") + finding.text + QLatin1Char('\n');
  QList<QStringList> rows;
  for (std::size_t r = 0; r < overview.rows.size(); ++r) {
    const Overview::Row& row = overview.rows[r];
    QString computing;
    for (int column = 0; column < kColumns; ++column) {
      const int first = column * Overview::kBins / kColumns, last = (column + 1) * Overview::kBins / kColumns;
      const double share = overview.share(r, r + 1, first, last, TimeUse::kCompute);
      computing += share > 0 ? kLevels[std::clamp(int(share * 8 + 0.999), 1, 8)] : kLevels[0];
    }
    rows << QStringList{qstr(trace.lanes[std::size_t(row.lane)].name), QLatin1Char('|') + computing + QLatin1Char('|'),
                        split_text(row.total, overview.range.length())};
  }
  return text + (rows.isEmpty() ? QString() : padded_text({QStringLiteral("device"), QStringLiteral("computing")}, rows, kRowsMax));
}

OverviewModel::OverviewModel(TracePtr trace, Overview overview, QObject* parent)
    : QAbstractTableModel(parent), trace_(std::move(trace)), overview_(std::move(overview)) {}

QVariant OverviewModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || role != Qt::DisplayRole) return {};
  const Overview::Row& row = overview_.rows[std::size_t(index.row())];
  if (index.column() == 0) return qstr(trace_->lanes[std::size_t(row.lane)].name);
  const Ns parts[] = {row.total.compute, row.total.transfer, row.total.wait, overview_.range.length() - row.total.sum()};
  return percent_text(double(std::max<Ns>(parts[index.column() - 1], 0)) / double(std::max<Ns>(overview_.range.length(), 1)));
}

QVariant OverviewModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"Device", "Computing", "Communicating", "Waiting", "Nothing recorded"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= 5) return {};
  return QString::fromUtf8(kTitles[section]);
}

}  // namespace shardlab::gui
