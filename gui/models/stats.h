// Events summed by what they have in common: kind, name, source line, process, group of a collective; with the spread of their lengths.
#pragma once

#include <QAbstractTableModel>

#include <array>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class StatsBy : std::uint8_t { kKind, kName, kPlace, kProcess, kGroup };

struct StatsByDef {
  StatsBy by;
  const char* title;
  const char* doc;
};
std::span<const StatsByDef> all_stats_by();

// Events of one group. One that never ended counts to the end of the trace.
struct StatsRow {
  static constexpr int kBins = 40;  // four to a power of ten, from 1 ns on
  std::string name;
  std::int64_t count = 0, open = 0, errors = 0;
  Ns total = 0, median = 0, p95 = 0, longest = 0;
  std::vector<int> processes;  // that have such events, ascending
  int lane = -1;               // of the longest
  std::int64_t event = -1;
  std::array<std::int64_t, kBins> bins{};
};
int stats_bin(Ns length);
Ns stats_bin_begin(int bin);

// The longest in total first. Events that meet `window` count whole; what was left when it was stopped is not counted.
std::vector<StatsRow> make_stats(const TraceData& trace, StatsBy by, TimeRange window, const std::stop_token& stop = {});

class StatsModel : public QAbstractTableModel {
 public:
  enum Column { kName, kCount, kTotal, kShare, kMedian, kP95, kLongest, kProcesses, kColumnCount };

  explicit StatsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set_rows(std::vector<StatsRow> rows);
  const StatsRow& at(int row) const { return rows_[std::size_t(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows_.size()); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(kColumnCount); }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  std::vector<StatsRow> rows_;
  Ns total_ = 0;  // of all rows
};

}  // namespace shardlab::gui
