#include "runtime/exec/message_program.h"

#include <fmt/format.h>

#include "runtime/base/sha256.h"
#include "runtime/exec/context.h"
#include "runtime/exec/messages.h"
#include "runtime/exec/program_cache.h"

namespace shardlab {

int first_device_of(const Context& context, int process) {
  for (const Device& device : context.devices())
    if (device.process_index == process) return device.ordinal;
  throw_user_error("process {} has no device, so nothing can be sent from or to it", process);
}

std::shared_ptr<const Executable> message_program(Context& context, const MessageEnds& ends, const TensorType& type) {
  std::string text = fmt::format("message from {} to {}, tag {}: {}", ends.from, ends.to, ends.tag, type.text());
  std::string key = fmt::format("{} {}", ends.receives ? "recv" : "send", text);
  if (auto found = context.programs().find(key)) return found;
  Sharding from = Sharding::on_device(first_device_of(context, ends.from)), to = Sharding::on_device(first_device_of(context, ends.to));
  auto executable = std::make_shared<Executable>(*compile_transfer(context, type, from, to, false));
  auto info = std::make_shared<comm::ProgramInfo>(*executable->info);
  info->name = ends.receives ? "recv" : "send";
  info->text = std::move(text);
  info->fingerprint = sha256_prefix(info->text);
  info->devices = {from.mesh().devices()[0], to.mesh().devices()[0]};
  info->channel = comm::Channel{.from = ends.from,
                                .to = ends.to,
                                .tag = ends.tag,
                                .receives = ends.receives,
                                .buffered = type.bytes() <= kBufferedMessageBytes,
                                .type = type.text()};
  for (comm::CollectiveInfo& collective : info->collectives) {
    collective.op = info->name;
    collective.cause = info->name;
  }
  executable->info = std::move(info);
  context.programs().add(key, executable);
  return executable;
}

}  // namespace shardlab
