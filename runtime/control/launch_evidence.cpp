#include "runtime/control/launch_evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/number_list.h"
#include "runtime/base/text.h"

namespace shardlab::control {
namespace {

std::string type_text(const std::string& dtype, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", dtype, fmt::join(shape, ","));
}

std::vector<std::string> value_texts(const std::vector<comm::ValueInfo>& values) {
  std::vector<std::string> texts;
  for (const comm::ValueInfo& value : values)
    texts.push_back(value.sharding.empty() ? type_text(value.dtype, value.shape)
                                           : fmt::format("{} {}", type_text(value.dtype, value.shape), value.sharding));
  return texts;
}

std::string pairs_text(const std::vector<std::pair<comm::Ordinal, comm::Ordinal>>& pairs) {
  std::vector<std::string> texts;
  for (auto [from, to] : pairs) texts.push_back(fmt::format("[{},{}]", from, to));
  return fmt::format("[{}]", fmt::join(texts, ","));
}

}  // namespace

std::uint64_t device_group(const std::vector<comm::Ordinal>& devices) {
  return hash_bytes({reinterpret_cast<const char*>(devices.data()), devices.size() * sizeof(comm::Ordinal)});
}

std::uint64_t group_of(const comm::ProgramInfo& program) {
  return device_group(program.devices) + (program.channel && program.channel->receives ? 1 : 0);
}

ProgramEvidence program_evidence(const comm::ProgramInfo& program) {
  ProgramEvidence evidence{.fingerprint = program.fingerprint,
                           .group = group_of(program),
                           .name = program.name,
                           .text = program.text,
                           .mesh = program.mesh,
                           .devices = program.devices,
                           .processes = program.processes,
                           .operands = value_texts(program.operands),
                           .results = value_texts(program.results)};
  if (program.channel) {
    evidence.channel = fmt::format("{} to {}, tag {}", program.channel->from, program.channel->to, program.channel->tag);
    evidence.message = program.channel->type;
    evidence.receives = program.channel->receives;
    evidence.buffered = program.channel->buffered;
    evidence.from = program.channel->from;
    evidence.to = program.channel->to;
  }
  for (const comm::CollectiveInfo& collective : program.collectives) {
    evidence.collectives.push_back(
        {.kind = collective.kind,
         .dtype = collective.dtype,
         .shape = fmt::format("({}{})", fmt::join(collective.shape, ", "), collective.shape.size() == 1 ? "," : ""),
         .reduction = collective.reduction,
         .op = collective.op,
         .groups = lists_text(collective.groups),
         .pairs = pairs_text(collective.pairs),
         .bytes = collective.bytes,
         .where = collective.where.text(),
         .axes = fmt::format("{}", fmt::join(collective.axes, ", "))});
  }
  return evidence;
}

CallEvidence call_evidence(const comm::Launch& launch) {
  return {.launch = launch.number,
          .seq = launch.seq,
          .fingerprint = launch.program->fingerprint,
          .group = group_of(*launch.program),
          .op = launch.program->name,
          .where = launch.where.text(),
          .statement = launch.where.statement,
          .issued_ns = launch.issued_ns,
          .matched = false,
          .value_hash = launch.value ? launch.value->hash : 0,
          .value_head = launch.value ? launch.value->head : std::vector<std::string>()};
}

std::uint64_t local_fingerprint(const comm::ProgramInfo& program) {
  std::string text = program.name;
  if (program.text.find('\n') != std::string::npos) {
    for (std::string_view line : split(program.text, '\n')) {
      bool names_devices = line.find("devices") != line.npos || line.find("esh") != line.npos;
      if (!names_devices) text += fmt::format("\n{}", line);
    }
  } else {
    for (const auto& values : {program.operands, program.results})
      for (const comm::ValueInfo& value : values) text += fmt::format("\n{}", type_text(value.dtype, value.shape));
  }
  return hash_bytes(text);
}

}  // namespace shardlab::control
