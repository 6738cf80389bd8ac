#include "traces/recorder/definitions.h"

#include <fmt/format.h>

namespace shardlab::recorder {
namespace {

template <typename Record>
std::string key_of(const Record& record) {
  Encoder encoder;
  encoder(record);
  const auto bytes = encoder.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

traces::Id at(const std::vector<traces::Id>& ids, std::uint32_t id) { return id < ids.size() ? ids[id] : 0; }

}  // namespace

Definitions::Definitions(traces::TraceWriter& writer, const std::vector<ProcessTrace>& processes)
    : writer_(writer), own_(processes.size()) {
  update(processes);
}

void Definitions::update(const std::vector<ProcessTrace>& processes) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    add_sites(processes[i], own_[i]);
    add_programs(processes[i], own_[i]);
    add_layouts(processes[i], own_[i]);
    frame_names_.want(processes[i], own_[i].stacks_done);
  }
  for (std::size_t i = 0; i < processes.size(); ++i) add_stacks(processes[i], own_[i]);
}

traces::Id Definitions::frame(std::size_t index, std::uint32_t stack) const { return at(own_[index].frames, stack); }
traces::Id Definitions::site(std::size_t index, std::uint32_t id) const { return at(own_[index].sites, id); }
traces::Id Definitions::layout(std::size_t index, std::uint32_t id) const { return at(own_[index].layouts, id); }

const UnifiedProgram& Definitions::program(std::size_t index, std::uint32_t id) const {
  static const UnifiedProgram& kLost = *new UnifiedProgram{.name = "(its record was lost)"};
  const auto& programs = own_[index].programs;
  return id < programs.size() && programs[id] ? *programs[id] : kLost;
}

void Definitions::add_sites(const ProcessTrace& process, OfProcess& own) {
  own.sites.resize(process.sites.size());
  for (const auto& site : process.sites) {
    if (site.id == 0 || own.sites[site.id] != 0) continue;
    traces::SiteRow row{.file = site.file, .line = int(site.line), .statement = site.statement};
    (site.statement >= 0 ? row.pointer : row.function) = site.function;
    own.sites[site.id] = writer_.site(row);
  }
}

void Definitions::add_programs(const ProcessTrace& process, OfProcess& own) {
  own.programs.resize(process.programs.size());
  for (const auto& record : process.programs)
    if (record.id != 0 && !own.programs[record.id]) own.programs[record.id] = add_program(record, own);
}

const UnifiedProgram* Definitions::add_program(const ProgramRecord& record, const OfProcess& own) {
  const std::string key = fmt::format("{:x} {} {}", record.fingerprint, traces::json_list(record.devices), record.text);
  auto [found, added] = programs_.try_emplace(key);
  UnifiedProgram& program = found->second;
  if (!added) return &program;
  program.fingerprint = record.fingerprint;
  program.name = record.name;
  program.devices = record.devices;
  program.processes = record.processes;
  program.device_set = device_sets_.try_emplace(record.devices, int(device_sets_.size())).first->second;
  const auto keep = [&](std::string text) -> std::string_view { return program.words.emplace_back(std::move(text)); };
  for (const auto& c : record.collectives)
    program.collectives.push_back({keep(c.kind), keep(c.groups.empty() ? "" : traces::json_list(c.groups)),
                                   keep(c.pairs.empty() ? "" : traces::json_list(c.pairs)), keep(traces::json_list(c.axes)), keep(c.dtype),
                                   keep(traces::json_list(c.shape)), c.bytes, c.wire_bytes, keep(c.reduction), keep(c.op), keep(c.cause),
                                   keep(c.sharding_before), keep(c.sharding_after), at(own.sites, c.site)});
  traces::ProgramRow row{.fingerprint = record.fingerprint,
                         .name = record.name,
                         .text = record.text,
                         .mesh = record.mesh,
                         .devices = record.devices,
                         .processes = record.processes,
                         .collectives = program.collectives,
                         .intermediate_bytes = record.intermediate_bytes.value};
  for (const auto& value : record.operands) row.values.push_back({false, value.name, value.dtype, value.sharding, value.shape});
  for (const auto& value : record.results) row.values.push_back({true, value.name, value.dtype, value.sharding, value.shape});
  program.id = writer_.add(row);
  return &program;
}

void Definitions::add_layouts(const ProcessTrace& process, OfProcess& own) {
  own.layouts.resize(process.layouts.size());
  for (const auto& record : process.layouts) {
    if (record.id == 0 || own.layouts[record.id] != 0) continue;
    LayoutRecord content = record;
    content.id = 0;
    auto [found, added] = layouts_.try_emplace(key_of(content));
    if (added) found->second = add_layout(record);
    own.layouts[record.id] = found->second;
  }
}

// From main down. What lies above main is the system's.
void Definitions::add_stacks(const ProcessTrace& process, OfProcess& own) {
  own.frames.resize(process.stacks.size());
  for (; own.stacks_done < process.stacks.size(); ++own.stacks_done) {
    std::vector<const CallPlace*> places;
    for (const auto& [module, offset] : process.stacks[own.stacks_done].calls) {
      for (const CallPlace& place : frame_names_.at(process, module, offset)) places.push_back(&place);
      if (!places.empty() && places.back()->function == "main") break;
    }
    traces::Id& frame = own.frames[own.stacks_done];
    for (auto place = places.rbegin(); place != places.rend(); ++place)
      frame = writer_.frame({.parent = frame, .function = (*place)->function, .file = (*place)->file, .line = (*place)->line});
  }
}

traces::Id Definitions::add_mesh(const LayoutRecord& record) {
  if (record.mesh_axes.empty()) return 0;
  traces::MeshRow row{.devices = record.devices};
  for (std::size_t i = 0; i < record.mesh_axes.size() && i < record.mesh_shape.size(); ++i) {
    row.axes.emplace_back(record.mesh_axes[i], record.mesh_shape[i]);
    row.text += fmt::format("{}{}={}", i == 0 ? "mesh(" : ", ", record.mesh_axes[i], record.mesh_shape[i]);
  }
  row.text += ")";
  auto [found, added] = meshes_.try_emplace(row.text + traces::json_list(row.devices));
  if (added) found->second = writer_.add(row);
  return found->second;
}

traces::Id Definitions::add_layout(const LayoutRecord& record) {
  traces::LayoutRow row{.mesh = add_mesh(record), .shape = record.shape, .spec = record.spec, .axes = record.spec_axes};
  row.axes.resize(record.shape.size());
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, int> holders;
  std::map<int, traces::ShardRow> by_device;
  for (std::size_t i = 0; i < record.devices.size() && i < record.shards.size(); ++i)
    by_device[record.devices[i]] = {record.devices[i], holders[record.shards[i]]++, record.shards[i]};
  for (auto& [device, shard] : by_device) row.shards.push_back(std::move(shard));
  return writer_.add(row);
}

}  // namespace shardlab::recorder
