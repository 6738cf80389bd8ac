// What a load of a trace that grows keeps for the next one: rows by the file's ids, and what they became.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gui/models/collective_types.h"
#include "gui/models/trace_data.h"
#include "gui/models/trace_loader.h"
#include "traces/growth.h"
#include "traces/rows.h"

namespace shardlab::gui {

// Of a row that the window sorts by time.
struct RowKey {
  Ns time = 0;
  traces::Id id = 0;
};

// Event labels by the file's ids, in the order of the trace's labels.
struct LabelRows {
  std::unordered_map<std::uint64_t, std::uint32_t> index;  // name << 32 | site
  std::vector<std::pair<traces::Id, traces::Id>> rows;     // name, site
  std::uint64_t last_key = ~std::uint64_t{0};
  std::uint32_t last = 0;
  std::uint32_t of(traces::Id name, traces::Id site);
};

struct LastLoad::Parts {
  std::string path, made;
  std::int64_t publication = 0, rows_read = 0;
  TracePtr trace;
  std::map<traces::Id, std::shared_ptr<const ArrayLayout>> layouts;
  std::vector<RowKey> arrays, collectives;  // of the trace's, in their order
  std::vector<traces::LaunchArrayRow> launch_arrays;
  CollectiveTypes collective_types;
  // As the file has them: `collective` is an id of the file, open ends are open, nothing is flagged but what the file flags.
  std::map<traces::Id, LaneEvents> tracks;
  LabelRows labels;

  // The same file, and nothing was published between.
  bool precedes(const std::string& file, const traces::Growth& growth) const {
    return trace && path == file && made == growth.made && publication + 1 == growth.publication && trace->diagnoses.empty();
  }
};

// Appends to `rows` by time those that stand (ids below `from`) and the fresh ones, of one time first those that stand; returns the keys
// beside them. `fresh` and its keys come by id.
template <typename Row>
std::vector<RowKey> merge_by_time(const std::vector<Row>& old_rows, const std::vector<RowKey>& old_keys, traces::Id from,
                                  std::vector<Row> fresh, std::vector<RowKey> fresh_keys, std::vector<Row>& rows) {
  std::vector<RowKey> keys;
  std::vector<std::size_t> order(fresh.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return fresh_keys[a].time < fresh_keys[b].time; });
  rows.reserve(old_rows.size() + fresh.size());
  keys.reserve(old_rows.size() + fresh.size());
  std::size_t next = 0;
  const auto take_fresh_before = [&](Ns time) {
    for (; next < order.size() && fresh_keys[order[next]].time < time; ++next) {
      rows.push_back(std::move(fresh[order[next]]));
      keys.push_back(fresh_keys[order[next]]);
    }
  };
  for (std::size_t i = 0; i < old_rows.size(); ++i) {
    if (old_keys[i].id >= from) continue;
    take_fresh_before(old_keys[i].time);
    rows.push_back(old_rows[i]);
    keys.push_back(old_keys[i]);
  }
  take_fresh_before(kOpen);
  return keys;
}

// The same for rows of processes, which lie by process and then by `key`: of each process those below its least key stand.
template <typename Row, typename Key>
std::vector<Row> merge_by_process(const std::vector<Row>& old_rows, const traces::Growth& growth, std::string_view table,
                                  std::vector<Row> fresh, const Key& key) {
  std::vector<Row> rows;
  rows.reserve(old_rows.size() + fresh.size());
  for (const Row& row : old_rows)
    if (key(row) < growth.least(table, row.process)) rows.push_back(row);
  const auto stand = std::ptrdiff_t(rows.size());
  std::move(fresh.begin(), fresh.end(), std::back_inserter(rows));
  std::inplace_merge(rows.begin(), rows.begin() + stand, rows.end(), [](const Row& a, const Row& b) { return a.process < b.process; });
  return rows;
}

}  // namespace shardlab::gui
