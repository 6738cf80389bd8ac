#include "traces/recorder/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "runtime/base/text.h"

namespace shardlab::recorder {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Of what decides where the shards lie; whole words, since a big array has a hundred thousand of them.
std::uint64_t layout_hash(const comm::ArrayInfo& array) {
  std::uint64_t hash = hash_bytes(array.spec);
  for (const auto size : array.shape) hash = hash_word(hash, std::uint64_t(size));
  for (const auto size : array.mesh_shape) hash = hash_word(hash, std::uint64_t(size));
  for (const auto& axis : array.mesh_axes) hash = hash_bytes(axis, hash);
  for (const int device : array.devices) hash = hash_word(hash, std::uint64_t(device));
  for (const auto& shard : array.shards)
    for (const auto& [start, stop] : shard) hash = hash_word(hash_word(hash, std::uint64_t(start)), std::uint64_t(stop));
  return hash;
}

}  // namespace

std::size_t Recorder::WhereHash::operator()(const WhereKey& key) const {
  return std::size_t(
      hash_word(hash_word(std::uint64_t(key.line) << 32 | std::uint32_t(key.statement), reinterpret_cast<std::uintptr_t>(key.file)),
                reinterpret_cast<std::uintptr_t>(key.function)));
}

Recorder::WhereKey Recorder::key_of(Where where) { return {where.file, where.function, where.line, where.statement}; }

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)),
      ring_(RingFile::create(ring_path(options_.directory, options_.process, options_.incarnation), options_.ring_bytes, options_.process,
                             getpid())),
      reader_(ring_),
      part_file_(part_path(options_.directory, options_.process, options_.incarnation)),
      part_(part_file_, options_.process, getpid()) {
  ProcessRecord process{.process = options_.process,
                        .process_count = options_.process_count,
                        .pid = getpid(),
                        .host = host_name(),
                        .command_line = options_.command_line,
                        .version = SHARDLAB_VERSION,
                        .start_ns = now()};
  process.clock_domain = options_.clock ? "virtual time" : "CLOCK_MONOTONIC of " + process.host;
  put(process);
  writer_ = std::jthread([this](std::stop_token stop) { write_until_stopped(stop); });
}

Recorder::~Recorder() { close(); }

template <typename Record>
bool Recorder::put(const Record& record) noexcept {
  try {
    Encoder encoder;
    encoder(record);
    return ring_.write(std::uint32_t(Record::kType), encoder.bytes());
  } catch (const std::bad_alloc&) { return false; }
}

// A definition that found no room is told again at the next use; until then its users say 0, "unknown".
std::uint32_t Recorder::site(Where where) {
  if (!where.known()) return 0;
  std::lock_guard lock(known_mutex_);
  auto [found, added] = sites_.try_emplace(key_of(where), next_site_ + 1);
  if (!added) return found->second;
  if (!put(SiteRecord{next_site_ + 1, where.file, where.function, where.line, where.statement})) {
    sites_.erase(found);
    return 0;
  }
  return ++next_site_;
}

std::uint32_t Recorder::text(std::string_view text) {
  if (text.empty()) return 0;
  std::lock_guard lock(known_mutex_);
  if (const auto found = texts_.find(text); found != texts_.end()) return found->second;
  if (!put(TextRecord{next_text_ + 1, std::string(text)})) return 0;
  texts_.emplace(text, ++next_text_);
  return next_text_;
}

// An op outside jit is a cached program that every line calling it shares: what it does lies, as the program tells it, where
// its first launch lay. Such places are those of the launch at hand, told as 0.
std::uint32_t Recorder::program(const comm::Launch& launch) {
  const auto& info = launch.program;
  if (!info) return 0;
  const WhereKey here = key_of(launch.where);
  {
    std::lock_guard lock(known_mutex_);
    const auto found = programs_.find(info.get());
    // Another program may lie where a forgotten one lay.
    if (found != programs_.end() && !found->second.program.owner_before(info) && !info.owner_before(found->second.program))
      return found->second.id;
  }
  ProgramRecord record{.fingerprint = info->fingerprint,
                       .name = info->name,
                       .text = info->text,
                       .mesh = info->mesh,
                       .devices = info->devices,
                       .processes = info->processes,
                       .intermediate_bytes = {info->intermediate_bytes}};
  for (const auto& value : info->operands) record.operands.push_back({value.name, value.dtype, value.sharding, value.shape});
  for (const auto& value : info->results) record.results.push_back({value.name, value.dtype, value.sharding, value.shape});
  for (const auto& c : info->collectives)
    record.collectives.push_back({c.kind, c.groups, c.pairs, c.axes, c.dtype, c.shape, c.reduction, c.bytes, c.wire_bytes, c.op, c.cause,
                                  c.sharding_before, c.sharding_after, key_of(c.where) == here ? 0 : site(c.where)});
  std::lock_guard lock(known_mutex_);
  record.id = next_program_ + 1;
  if (!put(record)) return 0;
  programs_[info.get()] = {info, ++next_program_, here};
  return next_program_;
}

std::uint32_t Recorder::place_in(const comm::Launch& launch, Where where) {
  {
    std::lock_guard lock(known_mutex_);
    if (const auto found = programs_.find(launch.program.get()); found != programs_.end() && key_of(where) == found->second.first_launch)
      where = launch.where;
  }
  return site(where);
}

std::uint32_t Recorder::layout(const comm::ArrayInfo& array) {
  const std::uint64_t hash = layout_hash(array);
  std::lock_guard lock(known_mutex_);
  if (const auto found = layouts_.find(hash); found != layouts_.end()) return found->second;
  const LayoutRecord record{next_layout_ + 1, array.shape,     array.spec,    array.mesh_shape,
                            array.mesh_axes,  array.spec_axes, array.devices, array.shards};
  if (!put(record)) return 0;
  layouts_.emplace(hash, ++next_layout_);
  return next_layout_;
}

std::uint32_t Recorder::module(const Module& module) {
  const auto [found, added] = modules_.try_emplace(module.base, next_module_ + 1);
  if (!added) return found->second;
  if (!put(ModuleRecord{next_module_ + 1, module.file(), module.build_id})) {
    modules_.erase(found);
    return 0;
  }
  return ++next_module_;
}

// Told once; a loop's launches say its number.
std::uint32_t Recorder::stack(const RecordedStack* stack) {
  if (stack == nullptr) return 0;
  std::lock_guard lock(known_mutex_);
  if (const auto found = stacks_.find(stack->id); found != stacks_.end()) return found->second;
  StackRecord record{.id = next_stack_ + 1, .calls = {}};
  const std::vector<Module> all = modules();
  for (const std::uintptr_t address : stack->addresses) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const Module& each) { return each.contains(address - 1); });
    if (at == all.end())
      record.calls.emplace_back(0, 0);
    else
      record.calls.emplace_back(module(*at), address - at->base);
  }
  if (!put(record)) return 0;
  stacks_.emplace(stack->id, ++next_stack_);
  return next_stack_;
}

void Recorder::describe_devices(const std::vector<DeviceRecord>& devices) { put(DevicesRecord{devices}); }

void Recorder::on_launch_issued(const comm::Launch& launch) {
  const auto takes_from = [&launch](std::size_t position) {
    std::vector<TakenRecord> takes(std::min(kTakenEach, launch.takes.size() - position));
    for (std::size_t i = 0; i < takes.size(); ++i) takes[i] = {launch.takes[position + i].array, launch.takes[position + i].donated};
    return takes;
  };
  put(LaunchIssuedRecord{
      launch.number, launch.seq, program(launch), site(launch.where), launch.issued_ns, {stack(launch.stack)}, {takes_from(0)}});
  for (std::size_t at = kTakenEach; at < launch.takes.size(); at += kTakenEach)
    put(LaunchTakesRecord{launch.number, std::uint32_t(at), takes_from(at)});
}

void Recorder::on_launch_started(const comm::Launch& launch, comm::Ns time) { put(LaunchStartedRecord{launch.number, time}); }

void Recorder::on_launch_done(const comm::Launch& launch, comm::Ns time, comm::CallStatus status) {
  put(LaunchDoneRecord{launch.number, time, std::uint8_t(status)});
}

void Recorder::on_compute(const comm::Launch& launch, std::string_view op, Where where, comm::Ns begin, comm::Ns end) {
  put(ComputeRecord{launch.number, text(op), place_in(launch, where), begin, end});
}

void Recorder::on_call_started(const comm::Launch& launch, int index, comm::Ns time) { put(CallStartedRecord{launch.number, index, time}); }

void Recorder::on_call_waiting(const comm::Launch& launch, int index, comm::Ns time, const std::vector<comm::ProcessIndex>& peers) {
  put(CallWaitingRecord{launch.number, index, time, peers});
}

void Recorder::on_call_done(const comm::Launch& launch, int index, comm::Ns time, comm::CallStatus status, std::int64_t moved_bytes) {
  put(CallDoneRecord{launch.number, index, time, std::uint8_t(status), moved_bytes});
}

void Recorder::on_array(const comm::ArrayInfo& array) {
  put(ArrayRecord{array.id,
                  array.launch,
                  text(array.name),
                  text(array.dtype),
                  layout(array),
                  site(array.where),
                  array.committed,
                  now(),
                  {array.result}});
}

void Recorder::on_array_end(std::int64_t id, bool donated) { put(ArrayEndRecord{id, donated, now()}); }

void Recorder::on_checksums(std::int64_t id, const std::vector<comm::PartChecksum>& parts) {
  ChecksumsRecord record{.id = id, .parts = {}};
  for (const auto& [device, sum] : parts)
    record.parts.push_back({device,
                            sum.hash,
                            sum.numbers,
                            sum.nans,
                            sum.infinities,
                            sum.min,
                            sum.max,
                            sum.sum,
                            sum.squares,
                            {sum.sketches.begin(), sum.sketches.end()}});
  put(record);
}

void Recorder::on_host_read(std::string_view what, Where where, comm::Ns begin, comm::Ns end) {
  put(HostReadRecord{text(what), site(where), begin, end});
}

void Recorder::drain_once() {
  try {
    while (part_.append(ring_, reader_, Writers::kAlive) > 0) {}
    failure_.clear();
  } catch (const std::exception& error) {
    // The records stay in the ring; when it is full they are counted as dropped. Tried again at the next turn.
    failure_ = error.what();
  }
}

void Recorder::write_until_stopped(std::stop_token stop) {
  std::unique_lock lock(wake_mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, std::chrono::milliseconds(options_.drain_ms), [] { return false; });
    drain_once();
  }
}

void Recorder::begin_epoch(std::int64_t epoch, const std::vector<int>& live) {
  put(EpochRecord{epoch, {live.begin(), live.end()}, comm::now_ns()});
}

std::string Recorder::close() {
  if (closed_) return failure_;
  closed_ = true;
  put(ClosedRecord{now()});
  writer_.request_stop();
  if (writer_.joinable()) writer_.join();
  drain_once();
  try {
    if (failure_.empty()) part_.set_meta("closed", "1");
  } catch (const std::exception& error) { failure_ = error.what(); }
  return failure_;
}

}  // namespace shardlab::recorder
