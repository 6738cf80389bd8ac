#include "traces/recorder/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "traces/recorder/living.h"
#include "traces/recorder/part.h"

namespace shardlab::recorder {

namespace fs = std::filesystem;

struct Follower::Part {
  std::string file, ring;
  std::unique_ptr<PartReader> reader;      // null: there is no part yet
  std::set<std::int64_t> ended;            // launches that all their processes had ended at the last look
  std::vector<std::int64_t> ended_arrays;  // that launches which are to be written took
  bool begun = false;                      // read before
};

Follower::Follower(std::string directory, std::string out)
    : options_{.directory = std::move(directory), .out = std::move(out), .running = true} {}

Follower::~Follower() = default;

void Follower::begin(const std::map<int, int>& incarnations) {
  incarnations_ = incarnations;
  parts_.clear();
  processes_.clear();
  log_.clear();
  tracks_ = {};
  array_ids_.clear();
  for (const auto& [process, count] : incarnations) {
    for (int incarnation = 0; incarnation < count; ++incarnation) {
      parts_.push_back(std::make_unique<Part>());
      parts_.back()->file = part_path(options_.directory, process, incarnation);
      parts_.back()->ring = ring_path(options_.directory, process, incarnation);
      processes_.emplace_back();
      processes_.back().process = processes_.back().info.process = process;
      processes_.back().incarnation = incarnation;
    }
  }
  definitions_.reset();
  writer_.reset();
  writer_ = std::make_unique<traces::TraceWriter>(options_.out, traces::kSmallPages, traces::Writing::kGrowing);
  definitions_ = std::make_unique<Definitions>(*writer_, processes_);
}

// Whose launches count on from those of another incarnation waits until that one has written its last.
bool Follower::may_read(std::size_t index) {
  ProcessTrace& trace = processes_[index];
  if (parts_[index]->begun || trace.incarnation == 0) return true;
  const ProcessTrace& before = processes_[index - 1];
  if (!parts_[index - 1]->begun || (!before.closed && !before.gone)) return false;
  trace.first_launch = trace.next_launch = before.next_launch;
  return true;
}

// True where something was new.
bool Follower::read_part(std::size_t index) {
  if (!may_read(index)) return false;
  parts_[index]->begun = true;
  Part& part = *parts_[index];
  ProcessTrace& trace = processes_[index];
  const std::int64_t before = trace.records;
  const bool was_gone = trace.gone;
  const auto read_on = [&] {
    try {
      if (!part.reader && fs::exists(part.file)) part.reader = std::make_unique<PartReader>(part.file, trace.process);
      if (part.reader) part.reader->read(trace);
    } catch (const IoError&) {}  // it is only being made: the next look finds it whole
  };
  read_on();
  if (!trace.gone && is_gone(trace, part.ring)) {
    try {
      if (const DrainResult drained = drain_ring_into_part(part.ring, part.file); drained.records > 0)
        log_.push_back({trace.process, fs::path(part.ring).filename().string(), "info", drained.text()});
    } catch (const IoError& error) {
      log_.push_back({trace.process, fs::path(part.ring).filename().string(), "error",
                      fmt::format("what process {} left in its ring could not be taken: {}", trace.process, error.what())});
    }
    read_on();
    trace.gone = !trace.closed;  // it may have ended in order meanwhile
    if (trace.gone)
      log_.push_back({trace.process, fs::path(part.file).filename().string(), "error",
                      fmt::format("process {} is gone without an end, and who started it did not say how it ended", trace.process)});
  }
  for (const auto& text : trace.problems)
    log_.push_back({trace.process, fs::path(part.file).filename().string(), "info",
                    fmt::format("records of process {} are missing: {}", trace.process, text)});
  const bool problems = !trace.problems.empty();
  trace.problems.clear();
  return trace.records != before || trace.gone != was_gone || problems;
}

bool Follower::read() {
  bool grown = false;
  std::map<int, int> found;
  for (const int process : processes_in(options_.directory))
    found[process] = std::max(recorded_incarnations(options_.directory, process), 1);
  // Processes come at the very beginning, and seldom again: then all is begun anew, so that they stand in the order of their indices.
  if (!writer_ || found != incarnations_) {
    begin(found);
    grown = true;
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) grown |= read_part(p);
  return grown;
}

// Leaves in processes_ what is to be written for good, and gives what is not.
std::vector<Follower::Deeds> Follower::take_settled() {
  const Joined joined = join(processes_, *definitions_);
  std::vector<std::set<std::int64_t>> settled(processes_.size()), ended(processes_.size());
  for (const auto& launch : joined.launches) {
    const bool over = launch.state == traces::MatchState::kMatched &&
                      std::all_of(launch.issuers.begin(), launch.issuers.end(),
                                  [](const auto& issuer) { return issuer.second->done_ns != traces::kNoTime; });
    if (!over) continue;
    const bool was_over = std::all_of(launch.issuers.begin(), launch.issuers.end(),
                                      [&](const auto& issuer) { return parts_[issuer.first]->ended.contains(issuer.second->number); });
    for (const auto& [process, trace] : launch.issuers) (was_over ? settled : ended)[process].insert(trace->number);
  }
  std::vector<Deeds> rest(processes_.size());
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    ProcessTrace& trace = processes_[p];
    parts_[p]->ended = std::move(ended[p]);
    // An array waits for its launch; one of a launch that is written already goes at once, and what no launch made stays.
    for (auto array = trace.arrays.begin(); array != trace.arrays.end();) {
      const auto next = std::next(array);
      const std::int64_t launch = array->second.launch;
      if (launch < 0 || (trace.launches.contains(launch) && !settled[p].contains(launch)))
        rest[p].arrays.insert(trace.arrays.extract(array));
      else
        trace.arrays_taken.insert(array->first);
      array = next;
    }
    for (auto launch = trace.launches.begin(); launch != trace.launches.end();) {
      const auto next = std::next(launch);
      if (!settled[p].contains(launch->first)) rest[p].launches.insert(trace.launches.extract(launch));
      launch = next;
    }
    // What a launch took is written when both are.
    for (auto takes = trace.takes.begin(); takes != trace.takes.end();) {
      const auto next = std::next(takes);
      const bool over = !rest[p].launches.contains(takes->first) &&
                        std::none_of(takes->second.begin(), takes->second.end(),
                                     [&](const TakenRecord& taken) { return rest[p].arrays.contains(taken.array); });
      if (!over) rest[p].takes.insert(trace.takes.extract(takes));
      takes = next;
    }
  }
  return rest;
}

void Follower::write(bool settled) {
  Joined joined = join(processes_, *definitions_);
  std::vector<traces::ImportLogRow> log = log_;
  ArrayIds provisional;
  RowWriter rows(*writer_, options_, processes_, *definitions_, joined, tracks_, settled ? array_ids_ : provisional, log,
                 settled ? nullptr : &array_ids_);
  if (settled) rows.write_tracks();
  rows.write_deeds();
  if (!settled) rows.write_frame();
}

Follower::Look Follower::look() {
  if (!read()) return {};
  try {
    return bring_up_to_date();
  } catch (...) {
    writer_.reset();  // what stands in the file is not known: the next look begins anew
    throw;
  }
}

// Their ends, and what their values were, are written for good. A donated array has ended before the launch that took it.
void Follower::forget_ended_arrays(const std::vector<Deeds>& rest) {
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    ProcessTrace& trace = processes_[p];
    std::erase_if(trace.checksums, [&](const auto& told) { return array_ids_[p].contains(told.first); });
    std::unordered_set<std::int64_t> wanted;
    for (const auto& [launch, takes] : rest[p].takes)
      for (const TakenRecord& taken : takes) wanted.insert(taken.array);
    std::vector<std::int64_t>& ended = parts_[p]->ended_arrays;
    std::erase_if(trace.array_ends, [&](const auto& end) {
      if (!array_ids_[p].contains(end.first)) return false;
      trace.arrays_taken.erase(end.first);
      ended.push_back(end.first);
      return true;
    });
    std::erase_if(ended, [&](std::int64_t id) {
      if (wanted.contains(id)) return false;
      array_ids_[p].erase(id);
      return true;
    });
  }
}

Follower::Look Follower::bring_up_to_date() {
  const std::int64_t before = writer_->rows_written();
  writer_->resume();
  definitions_->update(processes_);
  std::vector<Deeds> rest = take_settled();
  write(true);
  forget_ended_arrays(rest);
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    processes_[p].launches = std::move(rest[p].launches);
    processes_[p].takes = std::move(rest[p].takes);
    processes_[p].arrays = std::move(rest[p].arrays);
    processes_[p].computes.clear();
    processes_[p].host_reads.clear();
  }
  writer_->begin_provisional();
  write(false);
  writer_->publish();
  return {.grown = true, .rows = writer_->rows_written() - before};
}

}  // namespace shardlab::recorder
