#include "runtime/exec/transfer.h"

#include <fmt/format.h>

#include <set>

#include "runtime/base/number_list.h"
#include "runtime/base/sha256.h"
#include "runtime/exec/beside.h"
#include "runtime/exec/context.h"
#include "runtime/exec/program_info.h"

namespace shardlab {
namespace {

// Appends what is not among them yet.
void add_missing(const std::vector<int>& devices, std::vector<int>& known) {
  std::set<int> seen(known.begin(), known.end());
  for (int device : devices)
    if (seen.insert(device).second) known.push_back(device);
}

}  // namespace

std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from, const Sharding& to,
                                                   bool from_host) {
  return compile_transfer(context, type, from, to, from_host, TransferName());
}

std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from_sharding,
                                                   const Sharding& to_sharding, bool from_host, const TransferName& name) {
  auto result = std::make_shared<Executable>();
  Executable& executable = *result;
  Ownership ownership = ownership_of(context);
  Layout from{from_sharding.mesh().devices(), from_sharding.boxes(type.shape)};
  Layout to{to_sharding.mesh().devices(), to_sharding.boxes(type.shape)};
  for (int position = 0; position < to_sharding.mesh().size(); ++position)
    if (context.is_local(to.devices[std::size_t(position)])) executable.local.push_back(position);
  executable.backend = &context.backend_of(to_sharding.mesh());

  std::vector<spmd::Transfer> transfers;
  if (from_host)
    for (int position : executable.local) transfers.push_back({0, position, to.boxes[std::size_t(position)], 0});
  else
    transfers = transfers_between(from, to, ownership);

  auto info = std::make_shared<comm::ProgramInfo>();
  info->name = name.name;
  // However it is written: a spec's trailing entries may be left out.
  auto canonical = [&](const Sharding& sharding) {
    if (sharding.is_single_device()) return sharding.text();
    return fmt::format("{} of {}", describe_value(type, sharding.spec(type.rank()), sharding.mesh(), "").sharding, sharding.mesh().text());
  };
  std::string source = from_host ? "host" : canonical(from_sharding) + " " + list_text(from.devices);
  // The two sides of a send call it differently and issue the same.
  info->text = fmt::format("{} {}{}{} from {} to {} {}", name.kind == "transfer" ? name.name : name.kind, name.detail,
                           name.detail.empty() ? "" : " ", type.text(), source, canonical(to_sharding), list_text(to.devices));
  if (name.is_async) info->text += ", is_async";  // traces/checks/wording.cpp reads this
  info->fingerprint = sha256_prefix(info->text);
  info->mesh = to_sharding.mesh().text();
  info->devices = to.devices;
  if (!from_host) add_missing(from.devices, info->devices);
  info->processes = context.owners(info->devices);
  info->operands.push_back(describe_value(type, from_sharding.spec(type.rank()), from_sharding.mesh(), "x"));
  if (from_host) info->operands[0].sharding = "host";
  info->results.push_back(describe_value(type, to_sharding.spec(type.rank()), to_sharding.mesh(), "result"));

  comm::CollectiveInfo collective;
  collective.kind = name.kind;
  collective.op = name.kind == "transfer" ? name.name : name.kind;
  collective.dtype = name_of(type.dtype);
  collective.shape = to.boxes.empty() ? Shape{} : shape_of(to.boxes[0]);
  collective.bytes = element_count(collective.shape) * size_of(type.dtype);
  collective.sharding_before = info->operands[0].sharding;
  collective.sharding_after = info->results[0].sharding;
  collective.cause = name.detail.empty() ? name.name : name.detail;
  if (!from_host) {
    std::set<std::pair<int, int>> pairs;
    for (const auto& transfer : transfers) {
      int source_device = from.devices[std::size_t(transfer.source)], target_device = to.devices[std::size_t(transfer.target)];
      if (source_device == target_device) continue;
      std::pair<int, int> pair{source_device, target_device};
      if (pairs.insert(pair).second) collective.pairs.push_back(pair);
      if (name.kind == "transfer") collective.wire_bytes += element_count(transfer.box) * size_of(type.dtype);
    }
  }
  info->collectives.push_back(std::move(collective));
  if (!context.only_describes()) executable.transfer.emplace(from, to, std::move(transfers), type.dtype, ownership);
  executable.result_shardings.push_back(to_sharding);
  executable.info = std::move(info);
  if (!context.only_describes()) plan_beside(context, executable);
  return result;
}

}  // namespace shardlab
