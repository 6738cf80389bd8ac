#include "runtime/exec/choices.h"

#include <fmt/format.h>

#include <algorithm>

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
  if (!launch.program->spans_processes() || scope.is_per_device) return;
  // traces/checks/choices.h reads this.
  what_ = fmt::format("predicate of {} ({}step {}), run {} of {} [{:08x}]", region.node->op->name, scope.place,
                      index_of(executable, region), launch.seq, launch.program->name, std::uint32_t(set_of(*launch.program)));
}

void Choices::round(bool goes_on, const std::vector<std::vector<BufferRef>>& operands, int position) {
  if (what_.empty()) return;
  rounds_ += goes_on;
  std::string values;
  std::size_t told = 0;
  for (std::size_t i = 0; i < operands.size() && told < kValuesTold; ++i) {
    const TensorType& type = executable_.program.slots[std::size_t(region_.operands[i])].type;
    if (!type.shape.empty() || !operands[i].at(std::size_t(position))) continue;
    values += fmt::format("{}{}", told++ == 0 ? " with " : ", ",
                          numpy_text(type, executable_.backend->to_host(operands[i][std::size_t(position)])->data()));
  }
  tell(fmt::format("{}{}{}", rounds_, goes_on ? "+" : "", values));
}

void Choices::branch(int index) {
  if (!what_.empty()) tell(fmt::format("branch {}", index));
}

void Choices::tell(const std::string& value) const { control_.observed(what_, value, region_.node->where); }

}  // namespace shardlab
