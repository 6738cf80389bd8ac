// What one process of a scenario saw and holds at its end; how it travels to the command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/buffer.h"
#include "runtime/core/tensor_type.h"

namespace shardlab::scenarios {

// One collective or transfer of one launch.
struct SeenCollective {
  // The launch: equal on all processes that took part.
  std::uint64_t fingerprint = 0, device_set = 0;
  std::int64_t run = 0;         // in a loop: which of its runs, from 0
  std::int64_t launch_seq = 0;  // rank on the device set
  int index = 0;                // in the program

  std::string kind, op, array;
  int statement = -1;
  std::vector<std::vector<int>> groups;
  std::vector<std::pair<int, int>> pairs;
  std::vector<std::string> axes;
  std::int64_t bytes = 0, wire_bytes = 0;
  bool is_transfer = false;
};

// A box of an array that the process holds; replicas once, unless they differ.
struct Part {
  Box box;
  BufferRef data;
  int device = -1;  // whose it is
};

struct BoundArray {
  std::string name;
  TensorType type;
  bool committed = false;
  std::optional<std::vector<std::vector<std::string>>> spec;  // per dimension the axes; nothing: on a single device
  std::vector<std::pair<int, Box>> shards;                    // of all processes, by ordinal
  std::vector<Part> parts;
};

struct ProcessOutcome {
  int process = 0;
  std::vector<BoundArray> arrays;
  std::vector<SeenCollective> collectives;
  std::int64_t moved_bytes = 0;
  bool records_lost = false;
  std::optional<std::string> error;  // what the program ended in
  std::string diagnosis;             // the error was this verdict's
  std::string where, pointer;        // of the error: as text, and the statement's
  int statement = -1;
  bool internal = false;   // our own fault
  std::vector<int> fired;  // faults by number
};

// Writes DIR/outcome.K.json and .bin; the first appears whole or not at all.
void write_outcome(const ProcessOutcome& outcome, const std::filesystem::path& folder);
// Nothing where process `process` wrote none. IoError where it cannot be read.
std::optional<ProcessOutcome> read_outcome(const std::filesystem::path& folder, int process);

}  // namespace shardlab::scenarios
