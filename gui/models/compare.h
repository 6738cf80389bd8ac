// Two runs beside each other: what they have in common, and the first thing in which they differ.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>

#include <stop_token>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// One quantity of both runs.
struct CompareFact {
  QString name, left, right;
  bool differs = false;
};

// A pair of collectives in the order of the program; -1 where one side has none.
struct ComparePair {
  int left = -1, right = -1;
  QStringList differences;  // "bytes: 64 B / 128 B"
};

struct Comparison {
  QString verdict;  // equal, or the first divergence; and the first array whose values differ
  std::vector<CompareFact> facts;
  std::vector<ComparePair> pairs;
  std::vector<int> pair_of_left;  // of each collective of the first run
  int first_divergence = -1;      // index into pairs
  // Arrays with their values, and how they compare; empty where a run was not asked for checksums.
  std::vector<traces::ArrayValues> left_values, right_values;
  traces::ValueComparison values;
};

// Collectives are aligned by what they are (kind, op, axes, shape): the longest common order within kAlignMax, in lockstep beyond.
// Where `stop` asks for it, what is returned is of no use.
Comparison compare_traces(const TraceData& left, const TraceData& right, const std::stop_token& stop = {});

// A side of a pair in a few words, "–" where it has none.
QString pair_name(const TraceData& trace, int collective);

// A comparison with the runs it is of; made off the window's thread, then immutable.
struct Compared {
  TracePtr left, right;
  Comparison comparison;
};

// The pairs as a table: what a row says is made when it is looked at. `kDiffersRole` tells whether its sides differ.
class ComparePairsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kNumber, kLeft, kRight, kDifferences, kColumnCount };
  static constexpr int kDiffersRole = Qt::UserRole;

  explicit ComparePairsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set(std::shared_ptr<const Compared> compared);  // null: none
  const Compared* compared() const { return compared_.get(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const Compared> compared_;
};

// The arrays whose values were recorded, as a table: how far each is from that of the second run.
class CompareValuesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kArray, kWhere, kLikeness, kDistance, kLeft, kRight, kColumnCount };
  static constexpr int kLikenessRole = Qt::UserRole;  // 0: equal, 1: rounding, 2: different or in one run only

  explicit CompareValuesModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set(std::shared_ptr<const Compared> compared);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const Compared> compared_;
};

}  // namespace shardlab::gui
