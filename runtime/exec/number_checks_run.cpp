// The executor's part of jax_debug_nans and jax_debug_infs.
#include <fmt/format.h>

#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"

namespace shardlab {
namespace {

std::optional<NoNumber> no_number_of(const Executable& executable, int slot, const std::vector<BufferRef>& shards) {
  const DType dtype = executable.program.slots[std::size_t(slot)].type.dtype;
  return first_no_number(executable.checks, dtype, shards, executable.slot_boxes[std::size_t(slot)],
                         [&](const BufferRef& shard) { return executable.backend->to_host(shard); });
}

std::string element_text(const Executable& executable, int slot, const NoNumber& found) {
  return fmt::format("element {} of {}{}, on device {}", text_of(found.index), executable.program.is_manual ? "its part of " : "",
                     executable.program.slots[std::size_t(slot)].type.text(),
                     executable.program.mesh.devices()[std::size_t(found.position)]);
}

}  // namespace

void Executor::check_step(const Task& task, const Executable& executable, const Node* node, const std::vector<int>& results,
                          const Slots& slots) {
  if (!task.no_number || !task.no_number->empty()) return;
  for (int slot : results) {
    const auto found = no_number_of(executable, slot, slots[std::size_t(slot)]);
    if (!found) continue;
    // The program of an op outside of jit serves all lines that call it.
    const std::string& program = task.launch.program->name;
    const bool is_op = program == node->op->name || program == node->user_op;
    *task.no_number = fmt::format("invalid value ({}) encountered in {}: {} [{} at {}]", found->what, node->op->name,
                                  element_text(executable, slot, *found), node->op->name, (is_op ? task.launch.where : node->where).text());
    return;
  }
}

void Executor::check_results(const Task& task, const Executable& executable, const Slots& results) {
  if (!task.no_number) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const int slot = executable.program.results[i];
    const auto found = no_number_of(executable, slot, results[i]);
    if (!found) continue;
    if (!task.no_number->empty()) throw UserError(*task.no_number);
    throw_user_error("invalid value ({}) encountered in {}: {} of result {}", found->what, task.launch.program->name,
                     element_text(executable, slot, *found), i);
  }
}

}  // namespace shardlab
