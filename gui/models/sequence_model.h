// The call sequence as a table: a row a class of processes, a column a call; long equal stretches are one column.
#pragma once

#include <QAbstractTableModel>

#include "gui/models/call_sequence.h"

namespace shardlab::gui {

class SequenceModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role { kMatchRole = Qt::UserRole, kSiteRole, kLaunchRole, kFirstRole };  // CallMatch, place, launch index, is first divergence

  explicit SequenceModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set_trace(TracePtr trace);
  void set(TracePtr trace, CallSequence sequence);  // of that trace
  const CallSequence& sequence() const { return sequence_; }
  int first_divergent_column() const;  // of the model; -1: none
  // The calls of a column: [first, last).
  std::pair<int, int> calls_of(int column) const { return spans_[std::size_t(column)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  static constexpr int kAround = 3;        // equal calls kept on both sides of a divergence
  static constexpr int kStretchLeast = 4;  // shorter stretches stay as they are
  void make_spans();
  const std::vector<int>& devices_of(const SequenceColumn& column) const;

  TracePtr trace_;
  CallSequence sequence_;
  std::vector<std::pair<int, int>> spans_;
  bool several_sets_ = false;  // of devices, each with ranks of its own
};

}  // namespace shardlab::gui
