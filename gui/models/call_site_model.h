// The tree of call sites as an item model.
#pragma once

#include <QAbstractItemModel>

#include "gui/models/call_sites.h"

namespace shardlab::gui {

class CallSiteModel : public QAbstractItemModel {
 public:
  enum Column { kWhere, kProcesses, kTime, kShare, kWait, kCalls, kEvents, kBytes, kAtEnd, kColumnCount };
  // The node's index, a double from 0 to 1, its class of processes, the bare value to sort by.
  enum Role { kNodeRole = Qt::UserRole, kShareRole, kClassRole, kSortRole };

  explicit CallSiteModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}
  void set(TracePtr trace, CallSites sites);
  const CallSites& sites() const { return sites_; }
  QModelIndex index_of(int node) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const std::vector<int>& children_of(const QModelIndex& parent) const;
  QString tooltip(const CallSite& node, int column) const;
  TracePtr trace_;
  CallSites sites_;
  std::vector<int> rows_;  // of each node among its parent's children
};

}  // namespace shardlab::gui
