// What the values of a trace's arrays were, and the first array whose values differ between two traces.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/checksum.h"
#include "traces/trace_reader.h"

namespace shardlab::traces {

// The checksum of a whole array, put together of its parts.
struct WholeChecksum {
  Checksum checksum;
  bool known = false;             // every part was recorded
  std::vector<int> odd_replicas;  // devices whose replica of a part is not that of the lowest device that has it
};

// Which devices of a layout hold the same part. Takes any mesh to the same whole.
class LayoutParts {
 public:
  using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;  // [start, stop) per dimension
  void add(int device, const Ranges& ranges);
  // `rows`: of one array, by device.
  WholeChecksum whole(std::span<const ChecksumRow> rows) const;

 private:
  std::map<Ranges, int> parts_;  // but empty ones
  std::map<int, int> part_of_;   // by device
};

// An array as it is compared: what it is, and its values.
struct ArrayValues {
  Id array = 0;
  std::string name;  // the user's, else of what made it
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string place;  // "toy.cpp:31"
  int process = 0;    // the lowest that made it
  Ns made_ns = 0;     // on that process: when it issued the launch that makes it, or told of it where none does
  WholeChecksum values;
};

// Of the arrays whose values are known, in any order. Empty where the run was not asked for checksums.
std::vector<ArrayValues> array_values(TraceReader& reader);

// A pair of arrays, -1 where one side has none.
struct ValuePair {
  int left = -1, right = -1;  // indices
  Likeness likeness = Likeness::kDifferent;
  double distance = 0;  // relative_distance(): a pair of other dtypes or shapes has likeness kDifferent all the same
};

struct ValueComparison {
  std::vector<ValuePair> pairs;  // in the order of the program, of the lowest process first
  int first_difference = -1;     // index of the first pair that is neither equal nor rounding; -1: none
  int first_rounding = -1;
  std::int64_t equal = 0, rounding = 0, different = 0, unpaired = 0;
};

// Arrays are paired by what they are, name and shape: the longest common order, of each process's own arrays for themselves. Meshes,
// processes, devices, lines and element types may be others.
ValueComparison compare_values(std::span<const ArrayValues> left, std::span<const ArrayValues> right);

// "equal bit for bit", "rounding", "different".
std::string_view likeness_name(Likeness likeness);
// "#1f3a…: 32 numbers from -1 to 2.5, sum 3, norm 4.2, 1 NaN".
std::string checksum_text(const Checksum& checksum);
// How far the sides of a pair are apart: "differs in the last bits: about 3e-08 of its norm", "another array: …".
std::string distance_text(const ValuePair& pair, const ArrayValues& left, const ArrayValues& right);
// "float32[4,8] y at toy.cpp:31".
std::string title_of(const ArrayValues& array);

}  // namespace shardlab::traces
