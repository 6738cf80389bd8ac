// A run at a glance: how busy each device was when, what all of their time went to, and what stands out.
#pragma once

#include <QAbstractTableModel>
#include <QString>

#include <stop_token>
#include <vector>

#include "gui/models/time_use.h"
#include "gui/models/verdict.h"

namespace shardlab::gui {

// Something that a reader should know first. `link` is what trace_table.h's follow_link() takes, "event:LANE:INDEX", "view:ID" or empty.
struct Finding {
  VerdictLevel level = VerdictLevel::kNote;
  QString text;
  QString link;
};

struct Overview {
  static constexpr int kBins = 120;  // of the trace's range
  struct Row {
    int device = 0;  // ordinal
    int lane = 0;
    std::vector<TimeSplit> bins;
    TimeSplit total;
  };
  TimeRange range;
  std::vector<Row> rows;  // a device each, by ordinal of its lane
  TimeSplit total;        // of all devices
  std::vector<Finding> findings;

  TimeRange bin_range(int bin) const;
  Ns device_time() const { return range.length() * Ns(rows.size()); }
  // The share of [first, last) of its bins; several rows have the mean of them.
  double share(std::size_t first_row, std::size_t last_row, int first_bin, int last_bin, TimeUse use) const;
};

// What was left when it was stopped is not counted.
Overview make_overview(const TraceData& trace, const std::stop_token& stop = {});

// The findings alone, the gravest first: diagnoses, what never ended, whom the others waited for, what took longest, uneven work, what
// came otherwise than planned, what is missing.
std::vector<Finding> find_outstanding(const TraceData& trace, const Overview& overview, const std::stop_token& stop = {});

QString percent_text(double share);  // "41 %", "0.4 %", "0 %"
// "computing 41 %, communicating 12 %, waiting for peers 20 %, nothing recorded 27 %"
QString split_text(const TimeSplit& split, Ns of);
QString overview_text(const TraceData& trace, const Overview& overview);

// A row for each device, with what its time went to.
class OverviewModel : public QAbstractTableModel {
 public:
  OverviewModel(TracePtr trace, Overview overview, QObject* parent = nullptr);
  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(overview_.rows.size()); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 5; }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  TracePtr trace_;
  Overview overview_;
};

}  // namespace shardlab::gui
