// Traces for the tests of exports, and their exports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/scratch_folder.h"
#include "traces/exporters/export.h"

namespace shardlab::exporters::sample {

constexpr std::int64_t kLargeId = 9'007'199'254'740'993;               // no double has it
constexpr std::string_view kOddName = "a \"b\"\\\n\x01\xff \xc3\xa9";  // quotes, control characters, a byte that is no UTF-8, an é
constexpr std::string_view kOddNameClean = "a \"b\"\\\n\x01\xef\xbf\xbd \xc3\xa9";

// One process with devices 0 and 1: a program of four steps, of which the third takes from the first alone and the fourth is a sum over
// both; a permute from 0 to 1; odd names; host reads that overlap; one that never ends; an array of 64 bytes a device from 100 to 900.
// Its first collective has the id kLargeId.
void write_odd_trace(const std::string& path);

struct Folder {
  ScratchFolder scratch{"exports"};
  std::string path(std::string_view name) const { return (scratch / std::filesystem::path(name)).string(); }
  // Of the trace that `write` makes; returns the path of its first file.
  std::string exported(std::string_view sample, const ExportFormatDef& format, Exported* told = nullptr);
};

std::string read_file(const std::string& path);

}  // namespace shardlab::exporters::sample
