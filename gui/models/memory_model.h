// What devices hold, as tables: the devices with the most that each held in a stretch of time, and the arrays of one at one moment.
#pragma once

#include <QAbstractTableModel>

#include <span>
#include <vector>

#include "gui/models/memory.h"

namespace shardlab::gui {

// Which moment of a stretch of time is looked at.
enum class MemoryAt : std::uint8_t { kMost, kBegin, kEnd };
struct MemoryAtDef {
  MemoryAt at;
  const char* title;
  const char* doc;
};
std::span<const MemoryAtDef> all_memory_at();

// One device at one moment, and each device over the stretch.
struct MemoryPicture {
  struct Row {
    int process = 0;
    std::vector<int> devices;  // that hold the same at all times
    MemoryUse::Moment most;
  };
  std::vector<Row> devices;  // the fullest first
  MemoryUse::Moment moment;  // device -1: nothing is known, see `why`
  std::vector<HeldArray> held;
  TimeRange range;
  std::string why;
};

// `device`: -1 for the one that holds most at that moment.
MemoryPicture make_memory_picture(const TraceData& trace, TimeRange range, MemoryAt at, int device);

// "CPU 3 of process 1 holds 1.5 MiB in 12 arrays, at 12.3 ms".
QString memory_sentence(const TraceData& trace, const MemoryPicture& picture);

// "matmul at toy.cpp:31": what the array is kept for; "no launch": the program alone holds it; "" where the trace does not tell.
QString kept_for_text(const TraceData& trace, const HeldArray& held);

class DeviceMemoryModel : public QAbstractTableModel {
 public:
  enum Column { kDevices, kProcess, kMost, kWhen, kWithSteps, kColumnCount };

  explicit DeviceMemoryModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set(TracePtr trace, std::vector<MemoryPicture::Row> rows);
  const MemoryPicture::Row& at(int row) const { return rows_[std::size_t(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(rows_.size()); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(kColumnCount); }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  TracePtr trace_;
  std::vector<MemoryPicture::Row> rows_;
};

class HeldArrayModel : public QAbstractTableModel {
 public:
  enum Column { kName, kType, kSharding, kBytes, kShare, kPlace, kKeptFor, kSince, kUntil, kColumnCount };

  explicit HeldArrayModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void set(TracePtr trace, std::vector<HeldArray> held);
  const HeldArray& at(int row) const { return held_[std::size_t(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(held_.size()); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(kColumnCount); }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  TracePtr trace_;
  std::vector<HeldArray> held_;
  std::int64_t total_ = 0;
};

}  // namespace shardlab::gui
