// Who sends how much to whom: bytes, calls, time and bandwidth between devices, processes or along a mesh axis, in a window of time.
#pragma once

#include <set>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class MatrixBy : std::uint8_t { kDevice, kProcess, kAxis };
enum class MatrixMetric : std::uint8_t { kBytes, kCount, kTime, kAlgbw, kBusbw };
struct MatrixMetricDef {
  MatrixMetric metric;
  const char* id;
  const char* title;
  const char* doc;
};
inline constexpr MatrixMetricDef kMatrixMetrics[] = {
    {MatrixMetric::kBytes, "bytes", "Bytes", "Bytes on the link, by the ring model that the planner counts with"},
    {MatrixMetric::kCount, "count", "Calls", "Collectives that use the link"},
    {MatrixMetric::kTime, "time", "Time", "Time in those collectives, without waiting for peers"},
    {MatrixMetric::kAlgbw, "algbw", "algbw", "Size of the data over time, as nccl-tests prints it"},
    {MatrixMetric::kBusbw, "busbw", "busbw", "algbw times what the algorithm must move a byte: comparable over kinds and sizes"},
};

struct MatrixCell {
  double bytes = 0;       // on the link
  double data_bytes = 0;  // of the collectives, as nccl-tests counts their size
  double bus_bytes = 0;   // the same, times the factor of the kind
  std::int64_t count = 0;
  Ns time = 0;
  double value(MatrixMetric metric) const;  // bandwidths in bytes a second
};

// A kind of collective along the same axes.
struct KindSum {
  std::string kind, axes;
  MatrixCell cell;
  std::int64_t unfinished = 0;
};

struct CommMatrix {
  std::vector<std::string> labels;                      // of rows and columns
  std::unordered_map<std::uint64_t, MatrixCell> cells;  // row << 32 | column; only those with traffic
  std::vector<KindSum> kinds;                           // most bytes first
  MatrixCell total;
  std::int64_t skipped = 0;  // collectives that never ended
  int steps = 0;             // of the whole trace: how often its programs ran, at most
  const MatrixCell* cell(std::size_t row, std::size_t column) const;
  double most(MatrixMetric metric) const;
};

struct MatrixOptions {
  MatrixBy by = MatrixBy::kDevice;
  int mesh = 0;                 // with kAxis
  int axis = 0;                 // of that mesh: its coordinates are the rows
  TimeRange window;             // collectives that meet it; empty: all
  std::string kind;             // empty: all
  std::string op;               // that needs them; empty: all
  std::vector<int> group = {};  // of devices: collectives in which it is one of the groups, and its links alone; empty: all
  int step = 0;                 // runs of programs: of each its n-th, from 1; 0: all
  std::stop_token stop;         // a stopped count returns what it has
};
CommMatrix make_comm_matrix(const TraceData& trace, const MatrixOptions& options);

// What there is to choose among, of the whole trace.
struct MatrixChoices {
  std::set<std::string> kinds, ops;
  std::vector<std::vector<int>> groups;  // that communicate, by their devices
};
MatrixChoices matrix_choices(const TraceData& trace);

// The links a collective uses with the share of its wire bytes that each carries, summing to 1: ring neighbours, all pairs for
// all-to-all, its own pairs for permutes and transfers.
struct Link {
  int source = 0, target = 0;
  double share = 0;
};
std::vector<Link> links_of(const CollectiveType& type);
// nccl-tests' size of a collective in bytes, and the factor from algbw to busbw.
double data_bytes(const CollectiveType& type);
double bus_factor(const CollectiveType& type);

}  // namespace shardlab::gui
