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

class EventModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kLane, kKind, kName, kBegins, kTook, kCollective, kWhere, kColumnCount };
  enum Role { kRefRole = Qt::UserRole, kErrorRole };  // lane << 32 | event, is diagnosed

  explicit EventModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set_rows(TracePtr trace, std::vector<EventRef> rows);
  int row_of(int lane, std::int64_t event) const;  // -1: not among them
  EventRef at(int row) const { return rows_[std::size_t(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;  // stable; kBegins, kTook by number

 private:
  QString text(const EventRef& ref, int column) const;
  TracePtr trace_;
  std::vector<EventRef> rows_;
};

}  // namespace shardlab::gui
