#include "runtime/exec/messages.h"

#include "runtime/base/text.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/message_program.h"
#include "runtime/exec/placement.h"

namespace shardlab {
namespace {

void check_peer(const Context& context, const MessageOptions& options, std::string_view what, Where where) {
  if (options.peer < 0 || options.peer >= context.process_count())
    throw_user_error("{} at {}: there is no process {}; the job has {}", what, where.text(), options.peer, context.process_count());
  if (options.peer == context.process_index())
    throw_user_error("{} at {}: process {} cannot be its own peer; use the value itself", what, where.text(), options.peer);
}

// The value on its owner's device, of which this process knows the place alone.
Array remote_value(const TensorType& type, int device) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = type;
  impl->sharding = Sharding::on_device(device);
  impl->committed = true;
  impl->shards.resize(1);
  return Array(std::move(impl));
}

}  // namespace

void send_to(const Operand& x, const MessageOptions& options, Where where) {
  Context& context = Context::current();
  check_peer(context, options, "send", where);
  Array array = x.is_array() ? x.array() : device_put(x, Sharding::on_device(context.default_device()));
  if (!array.sharding().is_single_device() || array.sharding().mesh().devices()[0] != context.default_device()) {
    Buffer whole = array.fetch_at(where, "send");
    array = array_from_host(array.type(), whole.bytes());
  }
  auto executable = message_program(context, {context.process_index(), options.peer, options.tag, false}, array.type());
  context.executor().submit(std::move(executable), {array}, true, where);
}

Array receive_from(const TensorType& type, const MessageOptions& options, Where where) {
  Context& context = Context::current();
  check_peer(context, options, "recv", where);
  auto executable = message_program(context, {options.peer, context.process_index(), options.tag, true}, type);
  Array source = remote_value(type, first_device_of(context, options.peer));
  return context.executor().submit(std::move(executable), {source}, false, where).at(0);
}

}  // namespace shardlab
