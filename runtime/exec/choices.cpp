#include "runtime/exec/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/number_list.h"
#include "runtime/base/text.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

constexpr std::size_t kValuesTold = 3;

// Runs are counted by device set.
std::uint64_t set_of(const comm::ProgramInfo& program) {
  return hash_bytes({reinterpret_cast<const char*>(program.devices.data()), program.devices.size() * sizeof(comm::Ordinal)});
}

}  // namespace

std::ptrdiff_t index_of(const Executable& executable, const Executable::Region& region) {
  auto found = std::find_if(executable.steps.begin(), executable.steps.end(),
                            [&](const Executable::Step& step) { return std::get_if<Executable::Region>(&step) == &region; });
  return found - executable.steps.begin();
}

Choices::Choices(comm::Control& control, const comm::Launch& launch, const Executable& executable, const Executable::Region& region,
                 const Scope& scope)
    : control_(control), executable_(executable), region_(region) {
  if (!launch.program->spans_processes()) return;
  const Mesh& mesh = executable.program.mesh;
  for (const std::vector<int>& together : region.together) {
    Party party;
    std::set_intersection(together.begin(), together.end(), scope.active.begin(), scope.active.end(), std::back_inserter(party.members));
    if (party.members.empty()) continue;
    std::string devices;
    if (int(together.size()) < mesh.size()) {
      std::vector<int> ordinals;
      for (int position : together) ordinals.push_back(mesh.devices()[std::size_t(position)]);
      devices = fmt::format(" among devices {}", list_text(ordinals));
    }
    // traces/checks/choices.h reads this.
    party.what =
        fmt::format("predicate of {} ({}step {}{}), run {} of {} [{:08x}]", region.node->op->name, scope.place,
                    index_of(executable, region), devices, launch.seq, launch.program->name, std::uint32_t(set_of(*launch.program)));
    parties_.push_back(std::move(party));
  }
}

std::string Choices::values(const std::vector<std::vector<BufferRef>>& operands, int position) const {
  std::string text;
  std::size_t told = 0;
  for (std::size_t i = 0; i < operands.size() && told < kValuesTold; ++i) {
    const TensorType& type = executable_.program.slots[std::size_t(region_.operands[i])].type;
    if (!type.shape.empty() || !operands[i].at(std::size_t(position))) continue;
    text += fmt::format("{}{}", told++ == 0 ? " with " : ", ",
                        numpy_text(type, executable_.backend->to_host(operands[i][std::size_t(position)])->data()));
  }
  return text;
}

void Choices::round(const std::vector<int>& going, const std::vector<std::vector<BufferRef>>& operands) {
  for (Party& party : parties_) {
    if (party.ended) continue;
    auto first = std::find_first_of(party.members.begin(), party.members.end(), going.begin(), going.end());
    party.ended = first == party.members.end();
    party.rounds += !party.ended;
    control_.observed(
        party.what,
        fmt::format("{}{}{}", party.rounds, party.ended ? "" : "+", values(operands, party.ended ? party.members.front() : *first)),
        region_.node->where);
  }
}

void Choices::branch(const std::map<std::int32_t, std::vector<int>>& ways) {
  for (const Party& party : parties_)
    for (const auto& [index, positions] : ways)
      if (std::find_first_of(positions.begin(), positions.end(), party.members.begin(), party.members.end()) != positions.end()) {
        control_.observed(party.what, fmt::format("branch {}", index), region_.node->where);
        break;
      }
}

}  // namespace shardlab
