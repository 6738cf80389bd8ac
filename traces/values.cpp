#include "traces/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace shardlab::traces {
namespace {

constexpr std::size_t kAlignMax = 1500;  // the table of an alignment grows with the square

std::string identity(const ArrayValues& array) { return fmt::format("{}[{}]", array.name, fmt::join(array.shape, ",")); }

// The longest common order of two lists (Wagner and Fischer 1974), with what lies between as gaps; in lockstep where they are long.
std::vector<ValuePair> paired(std::span<const ArrayValues> left, std::span<const int> a, std::span<const ArrayValues> right,
                              std::span<const int> b) {
  std::vector<std::string> x, y;
  for (const int i : a) x.push_back(identity(left[std::size_t(i)]));
  for (const int i : b) y.push_back(identity(right[std::size_t(i)]));
  std::vector<ValuePair> pairs;
  std::size_t i = 0, j = 0;
  const auto both = [&] { pairs.push_back({a[i++], b[j++]}); };
  while (i < x.size() && j < y.size() && x[i] == y[j]) both();
  const std::size_t first = i, rows = x.size() - first, columns = y.size() - first;
  const bool lockstep = rows > kAlignMax || columns > kAlignMax;
  std::vector<std::vector<std::uint16_t>> longest(lockstep ? 0 : rows + 1, std::vector<std::uint16_t>(columns + 1, 0));
  if (!lockstep)
    for (std::size_t r = rows; r-- > 0;)
      for (std::size_t c = columns; c-- > 0;)
        longest[r][c] =
            x[first + r] == y[first + c] ? std::uint16_t(longest[r + 1][c + 1] + 1) : std::max(longest[r + 1][c], longest[r][c + 1]);
  while (i < x.size() || j < y.size()) {
    if (i < x.size() && j < y.size() && (lockstep || x[i] == y[j]))
      both();
    else if (j == y.size() || (i < x.size() && longest[i + 1 - first][j - first] >= longest[i - first][j + 1 - first]))
      pairs.push_back({a[i++], -1});
    else
      pairs.push_back({-1, b[j++]});
  }
  return pairs;
}

std::map<int, std::vector<int>> by_process(std::span<const ArrayValues> arrays) {
  std::map<int, std::vector<int>> made;
  for (std::size_t i = 0; i < arrays.size(); ++i) made[arrays[i].process].push_back(int(i));
  // By the process's own time: each array of a trace has that of whichever process was first.
  for (auto& [process, own] : made)
    std::stable_sort(own.begin(), own.end(), [&](int a, int b) { return arrays[std::size_t(a)].made_ns < arrays[std::size_t(b)].made_ns; });
  return made;
}

void compare(ValuePair& pair, const ArrayValues& left, const ArrayValues& right) {
  pair.distance = left.shape == right.shape ? relative_distance(left.values.checksum, right.values.checksum) : INFINITY;
  pair.likeness = left.shape == right.shape && left.dtype == right.dtype
                      ? likeness(dtype_from_name(left.dtype).value_or(DType::kInt32), left.values.checksum, right.values.checksum)
                      : Likeness::kDifferent;
}

}  // namespace

void LayoutParts::add(int device, const Ranges& ranges) {
  if (std::any_of(ranges.begin(), ranges.end(), [](const auto& range) { return range.second <= range.first; })) return;
  part_of_[device] = parts_.try_emplace(ranges, int(parts_.size())).first->second;
}

WholeChecksum LayoutParts::whole(std::span<const ChecksumRow> rows) const {
  WholeChecksum whole;
  std::vector<const ChecksumRow*> of_part(parts_.size());
  for (const ChecksumRow& row : rows) {
    const auto part = part_of_.find(row.device);
    if (part == part_of_.end()) continue;
    const ChecksumRow*& known = of_part[std::size_t(part->second)];
    if (!known) {
      known = &row;
      whole.checksum.add(row.checksum);
    } else if (known->checksum.hash != row.checksum.hash) {
      whole.odd_replicas.push_back(row.device);
    }
  }
  whole.known = std::all_of(of_part.begin(), of_part.end(), [](const auto* row) { return row != nullptr; });
  return whole;
}

std::vector<ArrayValues> array_values(TraceReader& reader) {
  const std::vector<ChecksumRow> rows = reader.checksums();
  if (rows.empty()) return {};
  std::map<Id, LayoutParts> parts;
  std::map<Id, std::vector<std::int64_t>> shapes;
  for (const LayoutRow& layout : reader.layouts()) {
    for (const ShardRow& shard : layout.shards) parts[layout.id].add(shard.device, shard.ranges);
    shapes[layout.id] = layout.shape;
  }
  std::map<std::pair<int, std::int64_t>, Ns> issued;
  for (const LaunchRow& launch : reader.launches()) issued[{launch.process, launch.launch}] = launch.issued_ns;
  std::vector<ArrayValues> values;
  auto row = rows.begin();
  for (const ArrayRow& array : reader.arrays()) {
    while (row != rows.end() && row->array < array.id) ++row;
    const auto first = row;
    while (row != rows.end() && row->array == array.id) ++row;
    ArrayValues each{.array = array.id,
                     .name = std::string(array.name),
                     .dtype = std::string(array.dtype),
                     .shape = shapes[array.layout],
                     .place = reader.site(array.site).text(),
                     .process = array.process,
                     .made_ns = issued.contains({array.process, array.launch}) ? issued[{array.process, array.launch}] : array.time_ns,
                     .values = parts[array.layout].whole({first, row})};
    if (each.values.known) values.push_back(std::move(each));
  }
  return values;
}

ValueComparison compare_values(std::span<const ArrayValues> left, std::span<const ArrayValues> right) {
  ValueComparison result;
  auto a = by_process(left), b = by_process(right);
  for (const auto& [process, mine] : a) {
    if (!b.contains(process)) continue;  // there is no such process: what it made alone has nothing to be held against
    for (ValuePair& pair : paired(left, mine, right, b[process])) result.pairs.push_back(pair);
  }
  for (std::size_t i = 0; i < result.pairs.size(); ++i) {
    ValuePair& pair = result.pairs[i];
    if (pair.left < 0 || pair.right < 0) {
      ++result.unpaired;
      continue;
    }
    compare(pair, left[std::size_t(pair.left)], right[std::size_t(pair.right)]);
    ++(pair.likeness == Likeness::kEqual ? result.equal : pair.likeness == Likeness::kRounding ? result.rounding : result.different);
    if (pair.likeness == Likeness::kDifferent && result.first_difference < 0) result.first_difference = int(i);
    if (pair.likeness == Likeness::kRounding && result.first_rounding < 0) result.first_rounding = int(i);
  }
  return result;
}

std::string_view likeness_name(Likeness likeness) {
  return likeness == Likeness::kEqual ? "equal bit for bit" : likeness == Likeness::kRounding ? "rounding" : "different";
}

std::string checksum_text(const Checksum& checksum) {
  std::string text = fmt::format("#{:016x}: {} number{}", checksum.hash, checksum.numbers, checksum.numbers == 1 ? "" : "s");
  if (checksum.any_finite())
    text += fmt::format(" from {:.9g} to {:.9g}, sum {:.9g}, norm {:.9g}", checksum.min, checksum.max, checksum.sum, checksum.norm());
  if (checksum.nans > 0) text += fmt::format(", {} NaN", checksum.nans);
  if (checksum.infinities > 0) text += fmt::format(", {} infinite", checksum.infinities);
  return text;
}

std::string distance_text(const ValuePair& pair, const ArrayValues& left, const ArrayValues& right) {
  if (left.shape != right.shape) return "another shape";
  const Checksum &a = left.values.checksum, &b = right.values.checksum;
  const std::string type = left.dtype == right.dtype ? "" : fmt::format("{} and {}, ", left.dtype, right.dtype);
  if (pair.likeness == Likeness::kEqual) return "equal bit for bit";
  if (a.nans != b.nans) return fmt::format("{}{} and {} NaN", type, a.nans, b.nans);
  if (a.infinities != b.infinities) return fmt::format("{}{} and {} infinite", type, a.infinities, b.infinities);
  const std::string apart = fmt::format("{}about {:.1e} of the norm apart", type, pair.distance);
  return pair.likeness == Likeness::kRounding ? "differs in the last bits: " + apart : apart;
}

std::string title_of(const ArrayValues& array) {
  return fmt::format("{}[{}]{}{} at {}", array.dtype, fmt::join(array.shape, ","), array.name.empty() ? "" : " ", array.name, array.place);
}

}  // namespace shardlab::traces
