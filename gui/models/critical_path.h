// The chain of steps that the length of a stretch of time hangs on, across devices: made shorter, each of them would end it earlier.
//
// Found backwards from what ended last: a collective hangs on the member that came last, a read of the host on the device that had the
// value last, a device that had nothing to do on its host, where that issued the next launch only then.
#pragma once

#include <QAbstractTableModel>
#include <QString>

#include <array>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class PathUse : std::uint8_t { kCompute, kTransfer, kWait, kHost, kNothing };
constexpr std::size_t kPathUses = 5;
QString path_use_name(PathUse use);  // "computing", "communicating", "waiting", "host", "nothing recorded"

// A piece of the path. Each begins where the one before it ends.
struct PathStep {
  int lane = 0;
  std::int64_t event = -1;  // in the lane; -1: between events
  int launch = -1;          // of a host's step: what it issued at its end
  Ns begin = 0, end = 0;
  PathUse use = PathUse::kNothing;
};

// Steps of one op at one place.
struct PathShare {
  std::string what;
  int site = -1;
  PathUse use = PathUse::kNothing;
  Ns time = 0;
  std::int64_t steps = 0;
  std::vector<int> processes;  // ascending
  std::size_t longest = 0;     // index of a step
};

struct CriticalPath {
  TimeRange range;                   // from the window's begin to what ended last in it
  std::vector<PathStep> steps;       // by time
  std::vector<PathShare> shares;     // the longest first
  std::array<Ns, kPathUses> uses{};  // by PathUse, in ns
  std::size_t changes = 0;           // from lane to lane
  std::vector<int> lanes() const;    // that it goes over, ascending
  QString what(const TraceData& trace, std::size_t step) const;
};

// Empty where nothing was recorded in the window, or it was stopped.
CriticalPath find_critical_path(const TraceData& trace, TimeRange window, const std::stop_token& stop = {});

// "1.2 ms: computing 45 %, communicating 20 %, host 35 %; 34 steps on 5 lanes"
QString path_summary(const CriticalPath& path);
QString path_text(const TraceData& trace, const CriticalPath& path);

// Its shares by op.
class PathModel : public QAbstractTableModel {
 public:
  enum Column { kWhat, kWhere, kUse, kTime, kShare, kSteps, kProcesses, kColumnCount };
  explicit PathModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set(TracePtr trace, std::vector<PathShare> shares, Ns length);
  const PathShare& at(int row) const { return shares_[std::size_t(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(shares_.size()); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(kColumnCount); }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  TracePtr trace_;
  std::vector<PathShare> shares_;
  Ns length_ = 0;
};

}  // namespace shardlab::gui
