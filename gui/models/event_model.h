// All events as a table, by lane and time; a filter and an order are computed off the window's thread and set as a list of rows.
#pragma once

#include <QAbstractTableModel>

#include <stop_token>
#include <vector>

#include "gui/models/filter.h"

namespace shardlab::gui {

struct EventRef {
  std::uint32_t lane = 0, event = 0;
};

// The events that pass, by lane and time; at most `limit`.
std::vector<EventRef> find_events(const TraceData& trace, const Filter& filter, std::size_t limit, const std::stop_token& stop);

// Stable. `column` as in EventModel; text by its order, the rest by number. Runs on any thread.
void sort_events(const TraceData& trace, std::vector<EventRef>& rows, int column, Qt::SortOrder order);

class EventModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kLane, kKind, kName, kBegins, kTook, kCollective, kWhere, kColumnCount };
  enum Role { kRefRole = Qt::UserRole, kErrorRole };  // lane << 32 | event, is diagnosed

  explicit EventModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set_rows(TracePtr trace, std::vector<EventRef> rows);
  int row_of(int lane, std::int64_t event) const;  // -1: not among them
  EventRef at(int row) const { return rows_[std::size_t(row)]; }
  const std::vector<EventRef>& rows() const { return rows_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;
  // What is typed on the table is looked for where that is done in no time; else the filter is there for it.
  QModelIndexList match(const QModelIndex& start, int role, const QVariant& value, int hits, Qt::MatchFlags flags) const override;

 private:
  QString text(const EventRef& ref, int column) const;
  TracePtr trace_;
  std::vector<EventRef> rows_;
};

}  // namespace shardlab::gui
