#include "traces/recorder/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "traces/recorder/collect.h"
#include "traces/recorder/living.h"
#include "traces/recorder/merge_rows.h"
#include "traces/recorder/part.h"

namespace shardlab::recorder {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSmallTraceRecords = 20'000;

struct Loaded {
  std::vector<ProcessTrace> processes;
  std::vector<traces::ImportLogRow> log;
};

void load_process(const MergeOptions& options, int process, int incarnation, std::int64_t first_launch, Loaded& loaded) {
  const std::string part = part_path(options.directory, process, incarnation), ring = ring_path(options.directory, process, incarnation);
  const auto problem = [&](const std::string& file, const std::string& message) {
    // Of a process that has only begun nothing is missing yet.
    loaded.log.push_back({process, fs::path(file).filename().string(), options.running ? "info" : "error", message});
  };
  const auto drain = [&] {
    if (!fs::exists(ring)) return;
    try {
      const DrainResult drained = drain_ring_into_part(ring, part);
      if (drained.records > 0) loaded.log.push_back({process, fs::path(ring).filename().string(), "info", drained.text()});
    } catch (const IoError& error) {
      problem(ring, fmt::format("what process {} left in its ring could not be taken: {}", process, error.what()));
    }
  };
  ProcessTrace trace;
  trace.process = trace.info.process = process;
  const auto read = [&] {
    if (!fs::exists(part))
      return problem(part, fmt::format("process {} left no records: it ended before it recorded anything, or its file was lost", process));
    try {
      trace = read_part(part, process, first_launch);
    } catch (const IoError& error) { problem(part, fmt::format("the records of process {} are missing: {}", process, error.what())); }
  };
  if (!options.running) drain();
  read();
  if (options.running && is_gone(trace, ring)) {
    drain();
    read();
    trace.gone = !trace.closed;  // it may have ended in order meanwhile
    if (trace.gone)
      loaded.log.push_back({process, fs::path(part).filename().string(), "error",
                            fmt::format("process {} is gone without an end, and who started it did not say how it ended", process)});
  }
  for (const auto& text : trace.problems) problem(part, fmt::format("records of process {} are missing: {}", process, text));
  loaded.processes.push_back(std::move(trace));
}

// One after the other, each with the launches of its own.
void load_incarnations(const MergeOptions& options, int process, Loaded& loaded) {
  const int count = std::max(recorded_incarnations(options.directory, process), 1);
  std::int64_t next_launch = 0;
  for (int incarnation = 0; incarnation < count; ++incarnation) {
    load_process(options, process, incarnation, next_launch, loaded);
    loaded.processes.back().incarnation = incarnation;
    next_launch = std::max(next_launch, loaded.processes.back().next_launch);
  }
}

}  // namespace

MergeResult merge_parts(const MergeOptions& options) {
  std::set<int> indices = processes_in(options.directory);
  for (const auto& end : options.ends) indices.insert(end.process);
  for (const auto& process : options.evidence.processes) indices.insert(process.process);
  Loaded loaded;
  for (const int process : indices) load_incarnations(options, process, loaded);

  std::int64_t records = 0;
  for (const auto& process : loaded.processes) records += process.records;
  traces::TraceWriter writer(options.out, records < kSmallTraceRecords ? traces::kSmallPages : traces::kLargePages);
  const Definitions definitions(writer, loaded.processes);
  Joined joined = join(loaded.processes, definitions);
  Tracks tracks;
  ArrayIds array_ids;
  RowWriter rows(writer, options, loaded.processes, definitions, joined, tracks, array_ids, loaded.log);
  rows.write_all();
  writer.finish();

  MergeResult result{.processes = std::int64_t(indices.size()), .collectives = std::int64_t(joined.calls.size()), .records = records};
  for (const auto& call : joined.calls) result.unmatched += joined.launches[call.launch].state != traces::MatchState::kMatched;
  for (const auto& row : loaded.log)
    if (row.severity == "error") result.problems.push_back(fmt::format("{}: {}.", row.source, row.message));
  return result;
}

}  // namespace shardlab::recorder
