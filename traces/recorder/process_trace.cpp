#include "traces/recorder/process_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "traces/schema.h"

namespace shardlab::recorder {
namespace {

using traces::kNoTime;
using traces::MemberStatus;

constexpr std::uint32_t kIdMax = 1u << 26;
constexpr std::int32_t kCallMax = 1 << 20;
constexpr std::uint32_t kTakenMax = 1u << 24;

template <typename T>
const T* at(const std::vector<T>& values, std::uint32_t id) {
  return id < values.size() && values[id].id == id && id != 0 ? &values[id] : nullptr;
}

template <typename T>
void place(std::vector<T>& values, T value) {
  if (value.id > kIdMax) throw IoError(fmt::format("an id of {}", value.id));
  if (value.id >= values.size()) values.resize(value.id + 1);
  const auto id = value.id;
  values[id] = std::move(value);
}

// Puts one record where it belongs.
class Loader {
 public:
  explicit Loader(ProcessTrace& trace) : trace_(trace) {}

  void load(RecordType type, std::span<const std::byte> body) {
    switch (type) {
      case RecordType::kProcess:
        trace_.info = decode<ProcessRecord>(body);
        seen(trace_.info.start_ns);
        return;
      case RecordType::kDevices:
        trace_.devices = decode<DevicesRecord>(body).devices;
        return;
      case RecordType::kText: {
        auto text = decode<TextRecord>(body);
        if (text.id > kIdMax) throw IoError(fmt::format("an id of {}", text.id));
        if (text.id >= trace_.texts.size()) trace_.texts.resize(text.id + 1);
        trace_.texts[text.id] = std::move(text.text);
        return;
      }
      case RecordType::kSite:
        return place(trace_.sites, decode<SiteRecord>(body));
      case RecordType::kProgram:
        return place(trace_.programs, decode<ProgramRecord>(body));
      case RecordType::kLayout:
        return place(trace_.layouts, decode<LayoutRecord>(body));
      case RecordType::kModule:
        return place(trace_.modules, decode<ModuleRecord>(body));
      case RecordType::kStack:
        return place(trace_.stacks, decode<StackRecord>(body));
      case RecordType::kLaunchIssued:
        return issued(decode<LaunchIssuedRecord>(body));
      case RecordType::kLaunchTakes: {
        const auto record = decode<LaunchTakesRecord>(body);
        return take(record.launch, record.position, record.takes);
      }
      case RecordType::kLaunchStarted: {
        const auto record = decode<LaunchStartedRecord>(body);
        auto& launch = launch_at(record.launch, record.time_ns);
        launch.started_ns = record.time_ns;
        launch.status = MemberStatus::kOpen;
        return;
      }
      case RecordType::kLaunchDone: {
        const auto record = decode<LaunchDoneRecord>(body);
        auto& launch = launch_at(record.launch, record.time_ns);
        launch.done_ns = record.time_ns;
        launch.status = MemberStatus(record.status);
        return;
      }
      case RecordType::kCompute:
        trace_.computes.push_back(decode<ComputeRecord>(body));
        trace_.computes.back().launch += trace_.first_launch;
        seen(trace_.computes.back().begin_ns);
        seen(trace_.computes.back().end_ns);
        return;
      case RecordType::kCallStarted: {
        const auto record = decode<CallStartedRecord>(body);
        auto& call = call_at(record.launch, record.call, record.time_ns);
        call.start_ns = record.time_ns;
        call.status = MemberStatus::kOpen;
        return;
      }
      case RecordType::kCallWaiting: {
        auto record = decode<CallWaitingRecord>(body);
        auto& call = call_at(record.launch, record.call, record.time_ns);
        call.wait_ns = record.time_ns;
        call.peers = std::move(record.peers);
        return;
      }
      case RecordType::kCallDone: {
        const auto record = decode<CallDoneRecord>(body);
        auto& call = call_at(record.launch, record.call, record.time_ns);
        if (call.start_ns == kNoTime) call.start_ns = record.time_ns;
        call.end_ns = record.time_ns;
        call.status = MemberStatus(record.status);
        call.moved_bytes = record.moved_bytes;
        return;
      }
      case RecordType::kArray:
        add_array(decode<ArrayRecord>(body));
        return;
      case RecordType::kArrayEnd:
        return end_array(decode<ArrayEndRecord>(body));
      case RecordType::kChecksums:
        return add_checksums(decode<ChecksumsRecord>(body));
      case RecordType::kHostRead:
        trace_.host_reads.push_back(decode<HostReadRecord>(body));
        seen(trace_.host_reads.back().begin_ns);
        seen(trace_.host_reads.back().end_ns);
        return;
      case RecordType::kEpoch:
        trace_.epochs.push_back(decode<EpochRecord>(body));
        trace_.first_launch = trace_.next_launch;
        seen(trace_.epochs.back().time_ns);
        return;
      case RecordType::kClosed:
        trace_.closed = true;
        seen(decode<ClosedRecord>(body).time_ns);
        return;
    }
    throw IoError(fmt::format("a record of unknown type {}", std::uint32_t(type)));
  }

 private:
  void seen(Ns time) {
    trace_.first_ns = trace_.first_ns == kNoTime ? time : std::min(trace_.first_ns, time);
    trace_.last_ns = std::max(trace_.last_ns, time);
  }
  // A launch whose issue was dropped is known from what came later.
  LaunchTrace& launch_at(std::int64_t number, Ns time) {
    seen(time);
    number += trace_.first_launch;
    trace_.next_launch = std::max(trace_.next_launch, number + 1);
    auto [found, added] = trace_.launches.try_emplace(number);
    LaunchTrace& launch = found->second;
    if (added) launch.number = number, launch.issued_ns = time, launch.epoch = trace_.epochs.empty() ? 0 : trace_.epochs.back().epoch;
    return launch;
  }
  CallTrace& call_at(std::int64_t launch, std::int32_t call, Ns time) {
    if (call < 0 || call > kCallMax) throw IoError(fmt::format("a call with index {}", call));
    auto& calls = launch_at(launch, time).calls;
    if (std::size_t(call) >= calls.size()) calls.resize(std::size_t(call) + 1);
    return calls[std::size_t(call)];
  }
  void issued(const LaunchIssuedRecord& record) {
    auto& launch = launch_at(record.launch, record.time_ns);
    launch.seq = record.seq;
    launch.program = record.program;
    launch.site = record.site;
    launch.stack = record.stack.value;
    launch.issued_ns = record.time_ns;
    take(record.launch, 0, record.takes.value);
  }

  // Of what lies between two parts a record was lost: of those arrays nothing is known.
  void take(std::int64_t launch, std::uint32_t position, const std::vector<TakenRecord>& part) {
    if (part.empty()) return;
    if (position > kTakenMax) throw IoError(fmt::format("an operand with index {}", position));
    auto& takes = trace_.takes[launch + trace_.first_launch];
    takes.resize(std::max(takes.size(), position + part.size()));
    std::copy(part.begin(), part.end(), takes.begin() + position);
  }

  // An array that is told of again is named anew, unless it was taken out meanwhile.
  void add_array(ArrayRecord array) {
    seen(array.time_ns);
    if (array.launch >= 0) array.launch += trace_.first_launch;
    if (const auto found = trace_.arrays.find(array.id); found != trace_.arrays.end()) {
      found->second.name = array.name;
      return;
    }
    if (trace_.arrays_taken.contains(array.id)) return;
    const std::int64_t id = array.id;
    trace_.arrays.emplace(id, std::move(array));
  }

  bool knows_array(std::int64_t id) const { return trace_.arrays.contains(id) || trace_.arrays_taken.contains(id); }
  void add_checksums(ChecksumsRecord checksums) {
    if (knows_array(checksums.id)) trace_.checksums.try_emplace(checksums.id, std::move(checksums));
  }

  // What a process still held when it had left the job is not let go in it.
  void end_array(const ArrayEndRecord& end) {
    if (trace_.closed || !knows_array(end.id)) return;
    seen(end.time_ns);
    trace_.array_ends.emplace(end.id, end);
  }

  ProcessTrace& trace_;
};

}  // namespace

const ProgramRecord* ProcessTrace::program(std::uint32_t id) const { return at(programs, id); }
const SiteRecord* ProcessTrace::site(std::uint32_t id) const { return at(sites, id); }
const LayoutRecord* ProcessTrace::layout(std::uint32_t id) const { return at(layouts, id); }
std::string_view ProcessTrace::text(std::uint32_t id) const { return id < texts.size() ? std::string_view(texts[id]) : std::string_view(); }

// Not read-only: the WAL of a process that was killed has to be taken in.
PartReader::PartReader(const std::string& path, int process) : process_(process), database_(path, traces::OpenMode::kUpdate) {
  if (database_.integer("PRAGMA application_id") != traces::kPartApplicationId)
    throw IoError(fmt::format("{}: not one process's part of a trace", path));
  version_ = database_.integer("PRAGMA user_version");
  if (version_ > traces::kSchemaVersion)
    throw IoError(fmt::format("{}: written with trace schema {}, this program reads up to {}", path, version_, traces::kSchemaVersion));
}

void PartReader::read(ProcessTrace& trace) {
  Loader loader(trace);
  trace.records_array_ends = version_ >= 1;
  std::int64_t undecoded = 0;
  std::string why;
  try {
    traces::Statement row(database_, "SELECT type, body, position FROM records WHERE position > ? ORDER BY position");
    row.bind(position_);
    while (row.step()) {
      ++trace.records;
      position_ = row.integer(2);
      try {
        loader.load(RecordType(row.integer(0)), row.blob(1));
      } catch (const IoError& error) {
        if (undecoded++ == 0) why = error.what();
      }
    }
  } catch (const IoError& error) {
    trace.problems.push_back(fmt::format("reading stopped after {} records: {}", trace.records, error.what()));
  }
  if (undecoded > 0)
    trace.problems.push_back(fmt::format("{} of {} records could not be decoded, the first: {}", undecoded, trace.records, why));
  try {
    traces::Statement row(database_, "SELECT time_ns, count, bytes, reason, id FROM dropped WHERE id > ? ORDER BY id");
    row.bind(dropped_);
    while (row.step()) {
      trace.dropped.push_back(
          {process_, row.is_null(0) ? kNoTime : row.integer(0), row.integer(1), row.integer(2), std::string(row.text(3))});
      dropped_ = row.integer(4);
    }
  } catch (const IoError& error) {
    trace.problems.push_back(fmt::format("its list of dropped records could not be read: {}", error.what()));
  }
}

ProcessTrace read_part(const std::string& path, int process, std::int64_t first_launch) {
  ProcessTrace trace;
  trace.first_launch = trace.next_launch = first_launch;
  trace.process = trace.info.process = process;
  PartReader(path, process).read(trace);
  return trace;
}

}  // namespace shardlab::recorder
