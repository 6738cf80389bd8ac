// Processes with their devices, as a tree.
#pragma once

#include <QAbstractItemModel>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

class ProcessModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { kName, kState, kColumnCount };                       // a device's state is its share of busy time
  enum Role { kProcessRole = Qt::UserRole, kDeviceRole, kBadRole };  // index, ordinal (-1 for a process), ended badly

  explicit ProcessModel(QObject* parent = nullptr);
  void set_trace(TracePtr trace);
  // The row of a device (or, with device < 0, of a process); invalid where there is none.
  QModelIndex index_of(int process, int device) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const Process& process, int column) const;
  QString text(const Device& device, int column) const;
  TracePtr trace_;
};

}  // namespace shardlab::gui
