#include "runtime/exec/beside.h"

#include <algorithm>

#include "runtime/exec/context.h"

namespace shardlab {
namespace {

// Of the values of one run on this process's devices; kBesideElementsMin: so many or more.
std::int64_t elements_of(const Executable& executable) {
  std::int64_t elements = 0;
  for (const auto& boxes : executable.slot_boxes)
    for (int position : executable.local) elements += element_count(boxes[std::size_t(position)]);
  for (const Executable::Step& step : executable.steps) {
    const auto* region = std::get_if<Executable::Region>(&step);
    if (region == nullptr) continue;
    if (region->node->op->region == RegionKind::kWhile) return kBesideElementsMin;
    const std::int64_t rounds = region->node->op->region == RegionKind::kScan ? region->node->attrs.integer("length") : 1;
    for (const auto& body : region->bodies) elements += rounds * elements_of(*body);
  }
  return std::min(elements, kBesideElementsMin);
}

}  // namespace

void plan_beside(const Context& context, Executable& executable) {
  for (int device : executable.info->devices)
    if (context.is_local(device)) executable.devices.push_back(device);
  if (executable.devices.empty() || int(executable.devices.size()) >= context.local_count()) return;
  const std::int64_t elements = executable.transfer ? executable.transfer->elements_copied() : elements_of(executable);
  executable.runs_beside = !executable.calls_back && elements >= kBesideElementsMin;
}

}  // namespace shardlab
